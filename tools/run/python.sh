# shellcheck shell=bash
# ./run test, the Python package: the wheel as users get it, and its tests, both ways with other programs.

# wheel_step VENV NAME: builds the wheel for the Python of VENV into build/NAME and installs it there.
wheel_step() {
  local venv=$1 name=$2 start=$SECONDS
  rm -rf "build/$name"
  # Without isolation: a build environment of its own would be a new path each time, and everything compiled anew.
  PATH=$PWD/$venv/bin:$PATH PIP_NO_BUILD_ISOLATION=0 CMAKE_ARGS=-DPENSTOCK_CUDA=$cuda \
    logged "$name" tools/build_wheel.sh "$venv/bin/python" "build/$name" ||
    die "the Python wheel could not be built" "The first error is in $logs/$name.log; the C++ build before it worked."
  logged "$name-install" "$venv/bin/python" -m pip install --disable-pip-version-check --no-deps --force-reinstall \
    "build/$name"/*.whl ||
    die "the Python wheel could not be installed" "rm -rf $venv, then run this again."
  result "$(basename "build/$name"/*.whl) in $(took $((SECONDS - start)))"
}

# pytest_step VENV LOG TESTS...
pytest_step() {
  result ""
  "$1/bin/python" -m pytest "${@:3}" 2>&1 </dev/null | tee "$logs/$2.log" ||
    die "Python tests failed" "One of them alone: $1/bin/python -m pytest tests/python -k NAME"
}

run_pytest() {
  rm -f "$logs"/pytest*.log
  step "Python wheel"
  venv test cmake wheel
  wheel_step .venv wheel
  step "Python tests"
  pytest_step .venv pytest tests/python tests/readme tests/demo
}

# newest_python: prints the newest supported Python of this machine that is usable, or nothing
newest_python() {
  local minor python
  for minor in 13 12; do
    for python in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor."*/bin/python3; do
      command -v "$python" >/dev/null || continue
      usable_python "$python" || continue
      "$python" -c 'import os, sys; print(os.path.realpath(sys.executable))'
      return
    done
  done
}

# Debian 12's Python is 3.11, which has neither the stable-ABI wheel nor the newest zarr-python: these are tested with a newer
# Python where there is one.
run_newest_pytest() {
  step "newest Python"
  local newest mine
  newest=$(newest_python)
  mine=$(.venv/bin/python -c 'import sys; print("3.%d" % sys.version_info[1])')
  if [ "$mine" != 3.11 ]; then
    steps=$((steps - 1))
    result "$mine, tested above"
  elif [ -z "$newest" ]; then
    steps=$((steps - 1))
    result "none but $mine: the stable-ABI wheel (3.12 and later) is not tested here"
  else
    venv_of "$newest" .venv/newest test cmake wheel
    wheel_step .venv/newest wheel-newest
    step "its tests"
    pytest_step .venv/newest pytest-newest tests/python
  fi
}
