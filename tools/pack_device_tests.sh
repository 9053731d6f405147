#!/usr/bin/env bash
# Packs the tests that need a GPU for a machine that has one and cannot build: no compiler, no network.
#   tools/pack_device_tests.sh WHEEL FOLDER [PYTHON-VERSION]
# WHEEL is of a build with CUDA, for the Python of that machine (3.12 unless said; tools/build_wheel.sh), and build/release
# is built (./run build).  FOLDER gets programs, tests, fuzz corpus and the Python packages that the tests import; CuPy and
# NumPy are that machine's own.  There: FOLDER/device_tests.sh, which says what it runs.
set -euo pipefail
usage="usage: tools/pack_device_tests.sh WHEEL FOLDER [PYTHON-VERSION]"
wheel=$(realpath "${1:?$usage}")
folder=$(realpath -m "${2:?$usage}")
version=${3:-3.12}
cd "$(dirname "$0")/.."
[ ! -e "$folder" ] || { echo "$0: $folder is there already: remove it, or name another folder" >&2; exit 1; }
[ -e build/release/bin/penstock ] || { echo "$0: build/release is not built: ./run build" >&2; exit 1; }
mkdir -p "$folder/lib" "$folder/wheels" "$folder/tree/fuzz"

cmake --install build/release --component tests --prefix "$folder" --strip >/dev/null
strip -o "$folder/bin/penstock_contract" build/release/tests/contract/penstock_contract
# What the programs load and that machine may lack: everything but the C library and the driver.
for program in "$folder"/bin/*; do ldd "$program"; done | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -Ev '/(libc|libm|libdl|librt|libpthread|libcuda)\.so' | xargs -r cp -Lt "$folder/lib"

cp -r tests bench tools pyproject.toml "$folder/tree/"
cp -r fuzz/seeds "$folder/tree/fuzz/"
rm -rf "$folder/tree/bench/results"
# KvikIO's tests, where tools/kvikio_own_tests.sh has fetched them.
for tests in build/kvikio-tests-*; do
  [ ! -d "$tests" ] || { mkdir -p "$folder/tree/build" && cp -r "$tests" "$folder/tree/build/"; }
done
mv "$folder/tree/tools/device_tests.sh" "$folder/"

cp "$wheel" "$folder/wheels/"
# The pins of tools/requirements; pip would judge by the Python of this machine which of two is meant.
other='python_version < "3.12"'
if [ "${version#3.}" -lt 12 ]; then other='python_version >= "3.12"'; fi
packages=$(grep -hE '^(pytest|pytest-asyncio|pytest-xdist|hypothesis|zarr|tifffile)==' tools/requirements/{demo,test}.txt |
  grep -vF "$other" | cut -d';' -f1 | sort -u)
# shellcheck disable=SC2086  # a list of words
.venv/bin/python -m pip download --quiet --disable-pip-version-check --only-binary :all: --python-version "$version" \
  --implementation cp --dest "$folder/wheels" $packages
# NumPy is that machine's, as CuPy is built for it.
rm -f "$folder"/wheels/numpy-*
du -sh "$folder"
