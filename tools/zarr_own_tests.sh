#!/usr/bin/env bash
# Runs zarr-python's own array tests with penstock's codec pipeline.
#   tools/zarr_own_tests.sh PYTHON [PYTEST-ARGUMENT...]
# PYTHON has penstock and zarr installed; the tests come from zarr's source distribution of the same version, and what
# they need (pytest-asyncio and others) is installed for PYTHON when it is missing.
set -euo pipefail
python=${1:?usage: tools/zarr_own_tests.sh PYTHON [PYTEST-ARGUMENT...]}
shift
case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/${python##*/} ;; esac  # from any folder
version=$("$python" -c 'import zarr; print(zarr.__version__)')
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$here/build/zarr-tests-$version
if [ ! -d "$work/tests" ]; then
  mkdir -p "$work"
  "$python" -m pip -q download --no-deps --no-binary zarr -d "$work" "zarr==$version"
  tar -xf "$work"/zarr-*.tar.gz -C "$work" --strip-components=1
fi
"$python" -m pip -q install "pytest>=9" pytest-asyncio pytest-xdist hypothesis numpydoc rich obstore fsspec tomlkit msgpack
rm -rf "$work/src"  # the installed zarr is tested, not this one

# Left out, and why:
#   test_shard_write_num_gets        counts calls of Store.get, which is called otherwise here
# (test_codecs/test_sharding*.py count and break single calls of zarr-python's sharding codec, and are not run.)
cd "$work"
ZARR_CODEC_PIPELINE__PATH=penstock.zarr.CodecPipeline exec "$python" -m pytest -q -p no:cacheprovider -n 2 -o addopts= \
  -W "ignore:penstock leaves this to zarr-python" --deselect tests/test_array.py::test_shard_write_num_gets \
  tests/test_array.py tests/test_indexing.py tests/test_v2.py tests/test_resize.py tests/test_group.py tests/test_properties.py \
  "$@"
