# shellcheck shell=bash
# ./run test: everything that CI runs.

run_tests() {
  steps=4
  setup_packages build test
  setup_cmake
  setup_cuda
  compile
  step "C++ tests"
  ctest --preset release
}
