#!/usr/bin/env bash
# Builds the wheel: tools/build_wheel.sh [python] [output folder]
#   python         the interpreter to build with; default python3.  >= 3.12 gives the stable-ABI wheel (cp312-abi3).
#   output folder  default dist/
# Needs the system packages of `./run`, and pip with access to a package index.  CMAKE_ARGS is passed on:
#   CMAKE_ARGS="-DPENSTOCK_CUDA=ON -DPENSTOCK_FETCH_NVCC=ON" tools/build_wheel.sh python3.12
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
out=${2:-dist}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$0: $python is older than Python 3.11" >&2; exit 1; }
mkdir -p "$out"
"$python" -m pip wheel --no-deps --wheel-dir "$out" .
"$python" - "$out" <<'PY'
import pathlib, re, sys, zipfile
wheel = max(pathlib.Path(sys.argv[1]).glob("penstock-*.whl"), key=lambda p: p.stat().st_mtime)
names = zipfile.ZipFile(wheel).namelist()
abi3 = "-abi3-" in wheel.name
modules = [n for n in names if re.match(r"penstock/_core\..*so$", n)]
# A wheel tagged abi3 around a per-version module would import on one Python only.
assert len(modules) == 1 and modules[0].endswith(".abi3.so") == abi3, f"{wheel.name} holds {modules}"
assert abi3 == (sys.version_info >= (3, 12)), wheel.name
assert any(n.startswith("penstock/libpenstock.so") for n in names), "libpenstock is not in the wheel"
print(f"{wheel}  {wheel.stat().st_size / 2**20:.1f} MiB, {sum(n.endswith('.so') or '.so.' in n for n in names)} libraries")
PY
