#!/usr/bin/env python3
"""Compares the machine code of the CUDA kernels with a stored baseline; needs no GPU.

    tools/sass_diff.py BUILD              compare the kernels compiled in BUILD; exit 1 when one got worse
    tools/sass_diff.py BUILD --update     make them the new baseline
    tools/sass_diff.py --fetch            install the disassembler (PyPI wheels) into .deps/cudatools

Counted for each kernel and architecture: instructions, registers, and local-memory accesses (spills).  Worse is: more
than 5 % more instructions or registers, any local-memory access that the baseline does not have, or a kernel that the
baseline does not know (or no longer exists).  Architectures that BUILD was not compiled for are left out.  The counts
belong to one compiler: see "nvcc" in the baseline.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASELINE = ROOT / "bench" / "sass_baseline.json"
TOOLS = ROOT / ".deps" / "cudatools"
WHEELS = ["nvidia-cuda-cuobjdump==13.5.37", "nvidia-cuda-nvdisasm==13.5.37"]
ALLOWED_GROWTH = 1.05

INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[0-9T]\s+)?([A-Z][A-Z0-9_.]*)")
USAGE = re.compile(r"Function (\S+):\s*\n\s*REG:(\d+) STACK:(\d+)")


def find_cuobjdump() -> str:
    """Path of cuobjdump, with nvdisasm beside it."""
    local = TOOLS / "nvidia" / "cu13" / "bin" / "cuobjdump"
    found = str(local) if local.exists() else shutil.which("cuobjdump")
    if not found:
        sys.exit("sass_diff: no cuobjdump; run tools/sass_diff.py --fetch, or install a CUDA toolkit")
    return found


def fetch() -> None:
    """Installs the pinned wheels."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    command += ["--only-binary=:all:", "--upgrade", "--target", str(TOOLS), *WHEELS]
    if subprocess.run(command, check=False).returncode:
        sys.exit("sass_diff: pip could not install " + " ".join(WHEELS))


def readable(symbols: list[str]) -> dict[str, str]:
    """Demangled names without what changes from build to build."""
    out = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True).stdout
    return {
        s: n.replace("(anonymous namespace)::", "").split("(", 1)[0].removeprefix("void ")
        for s, n in zip(symbols, out.splitlines(), strict=True)
    }


def disassemble(cuobjdump: str, option: str, objects: list[str]) -> list[str]:
    """The output of cuobjdump for each object."""
    env = dict(os.environ, PATH=f"{pathlib.Path(cuobjdump).parent}:{os.environ['PATH']}")
    outputs = []
    for path in objects:
        run = subprocess.run([cuobjdump, option, path], capture_output=True, text=True, env=env, check=False)
        if run.returncode:
            sys.exit(f"sass_diff: cuobjdump {option} {path} failed: {run.stderr.strip()}")
        outputs.append(run.stdout)
    return outputs


def compiled_objects(build: pathlib.Path) -> list[str]:
    """The objects that the build makes of .cu files: a folder also keeps those of files that are no more."""
    commands = json.loads((build / "compile_commands.json").read_text())
    return sorted(str(pathlib.Path(c["directory"], c["output"])) for c in commands if c["file"].endswith(".cu"))


def count_kernels(build: str) -> dict[str, dict[str, int]]:
    """{"sm_90 penstock::kernel": {"instructions": n, "registers": n, "local": n}} of every .cu object of a build."""
    objects = compiled_objects(pathlib.Path(build))
    if not objects:
        sys.exit(f"sass_diff: {build} holds no compiled CUDA files; configure it with -DPENSTOCK_CUDA=ON")
    cuobjdump = find_cuobjdump()
    kernels: dict[tuple[str, str], dict[str, int]] = {}
    for text in disassemble(cuobjdump, "-sass", objects):
        arch, now = "", None
        for line in text.splitlines():
            if (found := re.match(r"\s*code for (sm_\w+)", line)) is not None:
                arch = found[1]
            elif (found := re.match(r"\s*Function : (\S+)", line)) is not None:
                now = kernels.setdefault((arch, found[1]), {"instructions": 0, "registers": 0, "local": 0})
            elif now is not None and (found := INSTRUCTION.match(line)) is not None and found[1] != "NOP":
                now["instructions"] += 1
                now["local"] += found[1].startswith(("LDL", "STL"))
    for text in disassemble(cuobjdump, "-res-usage", objects):
        for part in text.split("\narch = ")[1:]:
            arch = part.split(None, 1)[0]
            for symbol, registers, _ in USAGE.findall(part):
                kernels[(arch, symbol)]["registers"] = int(registers)
    names = readable(sorted({symbol for _, symbol in kernels}))
    return {f"{arch} {names[symbol]}": counts for (arch, symbol), counts in sorted(kernels.items())}


def nvcc_version(build: str) -> str:
    """Of the compiler that BUILD was configured with."""
    for path in pathlib.Path(build).glob("CMakeFiles/*/CMakeCUDACompiler.cmake"):
        if (found := re.search(r'CMAKE_CUDA_COMPILER_VERSION "([^"]+)"', path.read_text())) is not None:
            return found[1]
    sys.exit(f"sass_diff: {build} was configured without CUDA")


def verdict(old: dict[str, int] | None, new: dict[str, int] | None) -> str:
    """Why a kernel is worse than its baseline; empty when it is not."""
    if old is None:
        return "not in the baseline"
    if new is None:
        return "no longer compiled"
    if new["local"] > old["local"]:
        return "spills to local memory"
    grown = [what for what in ("instructions", "registers") if new[what] > old[what] * ALLOWED_GROWTH]
    return "more " + " and ".join(grown) if grown else ""


def compare(old: dict[str, dict[str, int]], new: dict[str, dict[str, int]]) -> int:
    """Prints the kernels that changed, the worse ones last; number of the worse ones."""
    changed = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    changed.sort(key=lambda name: bool(verdict(old.get(name), new.get(name))))
    worse = 0
    if changed:
        print(f"{'kernel':72} {'instructions':>18} {'registers':>12} {'local':>8}")
    for name in changed:
        before, after = old.get(name), new.get(name)
        cells = [
            f"{before[w] if before else '-'} -> {after[w] if after else '-'}"
            for w in ("instructions", "registers", "local")
        ]
        why = verdict(before, after)
        worse += bool(why)
        print(f"{name[:72]:72} {cells[0]:>18} {cells[1]:>12} {cells[2]:>8}  {why}")
    return worse


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", help="build folder")
    parser.add_argument("--update", action="store_true", help="write the baseline")
    parser.add_argument("--fetch", action="store_true", help="install the disassembler")
    parser.add_argument("--baseline", type=pathlib.Path, default=BASELINE)
    args = parser.parse_args()
    if args.fetch:
        fetch()
    if not args.build:
        return 0 if args.fetch else parser.error("which build folder?")
    new = {"nvcc": nvcc_version(args.build), "kernels": count_kernels(args.build)}
    if args.update:
        args.baseline.write_text(json.dumps(new, indent=1) + "\n")
        print(f"sass_diff: wrote {args.baseline} ({len(new['kernels'])} kernels)")
        return 0
    if not args.baseline.exists():
        sys.exit(f"sass_diff: no baseline {args.baseline}; write it with --update")
    old = json.loads(args.baseline.read_text())
    if old["nvcc"] != new["nvcc"]:
        print(f"not compared: the baseline is of nvcc {old['nvcc']}, this build of {new['nvcc']}")
        return 0
    compiled = {name.split(" ")[0] for name in new["kernels"]}
    known = {name: counts for name, counts in old["kernels"].items() if name.split(" ")[0] in compiled}
    worse = compare(known, new["kernels"])
    if not worse:
        print(f"{len(new['kernels'])} kernels, none worse than the baseline")
    if worse:
        print(f"sass_diff: {worse} kernels are worse; if that is meant, run with --update and say why in the commit")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
