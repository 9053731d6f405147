#!/usr/bin/env python3
"""Checks the include rule: a stage of src/ includes only itself, the stages before it, and their public headers.

tools/check_includes.py [ROOT]        prints file:line and why for every breach; exit 1 if there is one
tools/check_includes.py --self-test   proves that each rule can fail
"""

import re
import sys
import tempfile
from pathlib import Path

# The data's journey.  oct and tracto are applications: they stand beside each other.
STAGES = ["core", "device", "exec", "io", "store", "codec", "format", "array", "ops", "oct", "tracto"]
APPLICATIONS = {"oct", "tracto"}

# The stage that a public header belongs to.
PUBLIC = {
    "bytes.hpp": "core",
    "control.hpp": "core",
    "codec.hpp": "codec",
    "dataset.hpp": "core",
    "dtype.hpp": "core",
    "error.hpp": "core",
    "error_codes.def": "core",
    "region.hpp": "core",
    "report.hpp": "core",
    "store_options.hpp": "core",
    "device.hpp": "device",
    "tensor.hpp": "device",
    "options.hpp": "exec",
    "io.hpp": "io",
    "fetch.hpp": "store",
    "store.hpp": "store",
    "ngff.hpp": "format",
    "array.hpp": "array",
    "pyramid.hpp": "array",
    "copy.hpp": "array",
    "ops.hpp": "ops",
    "tracto.hpp": "tracto",
}

# Vendors' headers, and the only folders that may include them.
VENDOR = [
    (
        re.compile(r"^(cuda(_\w+)?\.h|cuda_\w+\.hpp|cuda/.*|cub/.*|thrust/.*|cooperative_groups.*|nv\w+\.h)$"),
        "device/cuda/",
    ),
    (re.compile(r"^(webgpu|wgpu)(/.*)?\.h$"), "device/wgpu/"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".hpp", ".cpp", ".h", ".cc", ".cu", ".cuh", ".def"}


def breach(path: Path, stage: str | None, quote: str, target: str, root: Path) -> str | None:
    """Why `path` (relative to src/ or include/) of `stage` may not include `target`; None if it may."""
    for pattern, folder in VENDOR:
        if pattern.match(target) and not str(path).startswith(folder):
            return f"{target}: only src/{folder} may include it"
    if target.startswith("penstock/"):
        name = target.removeprefix("penstock/")
        if name not in PUBLIC:
            return f"{target}: a public header without a stage; add it to PUBLIC in tools/check_includes.py"
        included = PUBLIC[name]
    elif quote == "<":
        return None
    elif (root / "src" / target).is_file():
        included = target.split("/")[0]
        if stage is None:
            return f"{target}: a public header includes public headers only"
    elif (root / "src" / path).parent.joinpath(target).is_file():
        return f"{target}: write the path from src/"
    else:
        return f"{target}: no such file below src/ or include/"
    if target.endswith(".cuh") and path.suffix not in {".cu", ".cuh"}:
        return f"{target}: .cuh headers are for .cu files"
    backend = re.match(r"device/(cpu|cuda|wgpu)/.*\.hpp$", target)
    if backend and stage != "device" and path.suffix == ".cpp":
        return f"{target}: the inside of a backend; ask through penstock/device.hpp or device/backend.hpp"
    own = stage if stage is not None else PUBLIC.get(path.name)
    if own is None or included not in STAGES:
        return None if included in STAGES else f"{target}: {included} is no stage"
    if STAGES.index(included) > STAGES.index(own):
        return f"{target}: stage {own} comes before {included}"
    if own != included and {own, included} <= APPLICATIONS:
        return f"{target}: applications do not include each other"
    return None


def check(root: Path) -> list[str]:
    """All breaches below root, as "file:line: why"."""
    found = []
    for base in ("src", "include/penstock"):
        for file in sorted((root / base).rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            path = file.relative_to(root / base)
            stage = None
            if base == "src":
                stage = path.parts[0]
                if len(path.parts) < 2 or stage not in STAGES:
                    found.append(f"{file.relative_to(root)}:1: {stage} is no stage ({', '.join(STAGES)})")
                    continue
            elif path.name not in PUBLIC:
                found.append(
                    f"{file.relative_to(root)}:1: public header without a stage; add it to PUBLIC in check_includes.py"
                )
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                why = match and breach(path, stage, match[1], match[2], root)
                if why:
                    found.append(f"{file.relative_to(root)}:{number}: {why}")
    return found


# file -> text -> what the breach says ("" = none)
CASES = [
    ("src/core/a.cpp", '#include "penstock/error.hpp"', ""),
    ("src/core/a.cpp", '#include "core/a.hpp"', ""),
    ("src/core/a.cpp", '#include "codec/codec.hpp"', "stage core comes before codec"),
    ("src/core/a.cpp", '#  include "penstock/device.hpp"', "stage core comes before device"),
    ("src/core/a.cpp", '#include "a.hpp"', "write the path from src/"),
    ("src/core/a.cpp", '#include "nowhere.hpp"', "no such file"),
    ("src/core/a.cpp", "#include <zlib.h>", ""),
    ("src/core/a.cpp", "#include <cuda_runtime.h>", "only src/device/cuda/"),
    ("src/codec/lz4/cuda.cu", "#include <cuda_runtime.h>", "only src/device/cuda/"),
    ("src/codec/lz4/cuda.cu", '#include "device/cuda/team.cuh"', ""),
    ("src/codec/lz4/cpu.cpp", '#include "device/cuda/team.cuh"', "for .cu files"),
    ("src/device/cuda/a.cu", "#include <cuda_runtime.h>", ""),
    ("src/device/list.cpp", '#include "device/cuda/backend.hpp"', ""),
    ("src/codec/lz4/cpu.cpp", '#include "device/cuda/backend.hpp"', "the inside of a backend"),
    ("src/device/cuda/a.cu", "#include <cub/cub.cuh>", ""),
    ("src/device/cuda/a.cu", "#include <webgpu/webgpu.h>", "only src/device/wgpu/"),
    ("src/oct/a.cpp", '#include "tracto/a.hpp"', "oct comes before tracto"),
    ("src/tracto/b.cpp", '#include "oct/a.hpp"', "do not include each other"),
    ("src/array/a.cpp", '#include "penstock/unknown.hpp"', "without a stage"),
    ("src/lost/a.cpp", "", "lost is no stage"),
    ("include/penstock/region.hpp", '#include "penstock/error.hpp"', ""),
    ("include/penstock/region.hpp", '#include "penstock/store.hpp"', "stage core comes before store"),
    ("include/penstock/region.hpp", '#include "core/a.hpp"', "public headers only"),
    ("include/penstock/other.hpp", "", "without a stage"),
]


def self_test() -> int:
    for name, text, want in CASES:
        with tempfile.TemporaryDirectory() as tmp:
            root = Path(tmp)
            for existing in (
                "core/a.hpp",
                "codec/codec.hpp",
                "device/cuda/team.cuh",
                "device/cuda/backend.hpp",
                "oct/a.hpp",
                "tracto/a.hpp",
            ):
                (root / "src" / existing).parent.mkdir(parents=True, exist_ok=True)
                (root / "src" / existing).touch()
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("\n" + text + "\n")
            found = check(root)
            line = 2 if text else 1
            good = (
                found == []
                if not want
                else len(found) == 1 and found[0].startswith(f"{name}:{line}: ") and want in found[0]
            )
            if not good:
                print(f"self-test: {name} with {text!r}: wanted {want!r}, got {found}")
                return 1
    print(f"include rule: self-test, {len(CASES)} cases good")
    return 0


def main() -> int:
    if "--self-test" in sys.argv:
        return self_test()
    found = check(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    for line in found:
        print(line)
    if not found:
        print("include rule: kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
