#!/usr/bin/env python3
"""Checks the include rule: a stage of src/ includes only itself, the stages before it, and their public headers.
Of two rooms of a stage (its folders) only one includes the other.
The faces, cli/ and python/src/, include public headers and core/ only.

tools/check_includes.py [ROOT]        prints file:line and why for every breach; exit 1 if there is one
tools/check_includes.py --self-test   proves that each rule can fail
"""

import re
import sys
import tempfile
from pathlib import Path

# The data's journey.  oct and tracto are applications: they stand beside each other.
STAGES = ["core", "device", "exec", "io", "store", "codec", "format", "array", "ops", "copy", "oct", "tracto"]
APPLICATIONS = {"oct", "tracto"}

# The stage that a public header belongs to.
PUBLIC = {
    "api.hpp": "core",
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
    "device_memory.hpp": "device",
    "device.hpp": "device",
    "tensor.hpp": "device",
    "options.hpp": "exec",
    "io.hpp": "io",
    "fetch.hpp": "store",
    "store.hpp": "store",
    "uploads.hpp": "store",
    "fill.hpp": "format",
    "ngff.hpp": "format",
    "cog_options.hpp": "format",
    "raster_info.hpp": "format",
    "zarr.hpp": "format",
    "array.hpp": "array",
    "cog.hpp": "array",
    "raster.hpp": "array",
    "copy_changes.hpp": "array",
    "members.hpp": "array",
    "bound_operators.hpp": "ops",
    "ops.hpp": "ops",
    "copy.hpp": "copy",
    "pyramid.hpp": "copy",
    "oct.hpp": "oct",
    "tracto.hpp": "tracto",
    "tractogram.hpp": "tracto",
}

# What stands before the library: the command and the Python module.
FACES = ["cli", "python/src"]
# Where a face still needs the inside, and what of it; a line that is no longer needed is a breach too.
INSIDE = {
    "cli/look/doctor.cpp": {"codec/cost/costs.hpp", "codec/nvcomp/library.hpp"},  # which table, which nvCOMP is in use
    "cli/measure/codec_times.hpp": {
        "codec/codec.hpp",
        "codec/cost/table.hpp",
        "codec/device_chain.hpp",
    },  # times decoders
    "python/src/codecs.cpp": {"codec/batch/decode.hpp", "codec/batch/encode.hpp"},  # single codecs, for zarr-python
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


def face_breach(file: str, target: str, root: Path) -> str | None:
    """Why `file` (relative to root) of a face may not include `target`; None if it may."""
    if target.startswith("penstock/"):
        known = target.removeprefix("penstock/") in PUBLIC
        return None if known else f"{target}: no public header; add it to PUBLIC in tools/check_includes.py"
    if not (root / "src" / target).is_file() or target.startswith("core/") or ((root / file).parent / target).is_file():
        return None
    if target in INSIDE.get(file, ()):
        return None
    return f"{target}: the inside of the library; cli/ and python/ include penstock/*.hpp and core/ only"


def check_faces(root: Path) -> list[str]:
    """Breaches of cli/ and python/src/."""
    found = []
    for base in FACES:
        for path in sorted((root / base).rglob("*")):
            if path.suffix not in SOURCES or not path.is_file():
                continue
            file = path.relative_to(root).as_posix()
            unused = set(INSIDE.get(file, ()))
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if match is None or match[1] == "<":
                    continue
                unused.discard(match[2])
                why = face_breach(file, match[2], root)
                if why:
                    found.append(f"{file}:{number}: {why}")
            found += [f"{file}:1: {header}: not included; take it out of INSIDE" for header in sorted(unused)]
    return found


def check(root: Path) -> list[str]:
    """All breaches below root, as "file:line: why"."""
    found = check_faces(root)
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
    return found + mutual_rooms(root)


def mutual_rooms(root: Path) -> list[str]:
    """Pairs of folders of one stage that include each other, as "file:line: why" of the side with fewer includes.

    Files that stand in the stage itself are in no room: they are its table of contents and may include all."""
    uses: dict[tuple[str, str, str], list[str]] = {}  # (stage, room, room that it includes) -> where
    for file in sorted((root / "src").rglob("*")):
        parts = file.relative_to(root / "src").parts
        if file.suffix not in SOURCES or len(parts) < 3 or parts[0] not in STAGES:
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            target = match[2].split("/") if match and match[1] == '"' else []
            if len(target) < 3 or target[0] != parts[0] or target[1] == parts[1]:
                continue
            uses.setdefault((parts[0], parts[1], target[1]), []).append(f"{file.relative_to(root)}:{number}")
    found = []
    for stage, room, other in sorted(uses):
        here, there = uses[stage, room, other], uses.get((stage, other, room), [])
        if there and (len(here), room) <= (len(there), other):
            found += [f"{place}: {room}/ and {other}/ include each other ({there[0]})" for place in here]
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
    ("src/codec/lz4/a.cpp", '#include "codec/zstd/a.hpp"', "lz4/ and zstd/ include each other"),
    ("src/codec/gzip/a.cpp", '#include "codec/zstd/a.hpp"', ""),
    ("src/codec/a.cpp", '#include "codec/zstd/a.hpp"', ""),
    ("cli/look/a.cpp", '#include "penstock/error.hpp"', ""),
    ("cli/look/a.cpp", '#include "core/a.hpp"', ""),
    ("cli/look/a.cpp", '#include "codec/codec.hpp"', "the inside of the library"),
    ("cli/look/a.cpp", '#include "penstock/unknown.hpp"', "no public header"),
    ("python/src/a.cpp", '#include "device/cuda/backend.hpp"', "the inside of the library"),
    ("python/src/codecs.cpp", '#include "codec/batch/decode.hpp"\n#include "codec/batch/encode.hpp"', ""),
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
            (root / "src/codec/zstd").mkdir()
            (root / "src/codec/lz4").mkdir(exist_ok=True)
            (root / "src/codec/lz4/a.hpp").touch()
            (root / "src/codec/zstd/a.hpp").write_text('#include "codec/lz4/a.hpp"\n')
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
