#!/usr/bin/env bash
# Runs KvikIO's own Python tests with penstock in its place.
#   tools/kvikio_own_tests.sh PYTHON [CHECKOUT] [PYTEST-ARGUMENT...]
# PYTHON has penstock, NumPy, pytest and pytest-asyncio installed.  CHECKOUT is a clone of KvikIO's repository, with or
# without a work tree; without one (or "-") it is fetched by git.  The tests are those of commit 2e98113d and stay out of
# this repository.  Without CuPy a stand-in lets the tests be collected; those that use it are skipped and say so.
set -euo pipefail
python=${1:?usage: tools/kvikio_own_tests.sh PYTHON [CHECKOUT] [PYTEST-ARGUMENT...]}
shift
checkout=-
case ${1--} in -) shift || true ;; -*) ;; *) checkout=$(cd "$1" && pwd); shift ;; esac
case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/${python##*/} ;; esac  # from any folder
commit=2e98113d
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$here/build/kvikio-tests-$commit
if [ ! -d "$work/tests" ]; then
  if [ "$checkout" = - ]; then
    checkout=$here/build/kvikio.git
    [ -d "$checkout" ] || git clone -q --bare --filter=blob:none https://github.com/rapidsai/kvikio "$checkout"
  fi
  mkdir -p "$work"
  git -C "$checkout" archive "$commit" python/kvikio/tests python/kvikio/pyproject.toml | tar -x -C "$work" --strip-components=2
fi
rm -rf "$work/shim"
mkdir -p "$work/shim/kvikio"
# Also the processes that the tests start find penstock under KvikIO's name: this module puts it in its own place.
cat > "$work/shim/kvikio/__init__.py" <<'PY'
import importlib, sys
import penstock.compat.kvikio
del sys.modules["kvikio"]
penstock.compat.kvikio.install()
importlib.import_module("kvikio")
PY
"$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("cupy") is None)' || cat > "$work/shim/cupy.py" <<'PY'
"""Stands in for CuPy where there is none: whatever a test takes from it skips the test."""
class _Runtime:
    @staticmethod
    def getDeviceCount():
        return 0
class _Cuda:
    runtime = _Runtime
    def __getattr__(self, name):
        _skip()
cuda = _Cuda()
class float64:
    pass
class ndarray:
    pass
def _skip():
    import pytest
    pytest.skip("needs CuPy")
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    _skip()
PY
# Left out, and why:
#   test_bounce_buffer_free  demands the sizes of KvikIO's pool of host memory, which penstock does not have
cd "$work"
PYTHONPATH=$work/shim${PYTHONPATH:+:$PYTHONPATH} exec "$python" -m pytest -q -p no:cacheprovider -rs -o addopts= --deselect tests/test_basic_io.py::test_bounce_buffer_free \
  tests/test_basic_io.py tests/test_async_io.py tests/test_defaults.py tests/test_zarr_v3.py tests/test_zarr_missing.py "$@"
