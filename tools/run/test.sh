# shellcheck shell=bash
# ./run test: everything that CI runs.

# sources EXTENSION...: the project's files with these extensions
sources() {
  local e names=()
  for e in "$@"; do names+=(-o -name "*.$e"); done
  find . \( -name .git -o -path ./build -o -path ./.deps -o -path ./.venv -o -path ./demo \) -prune -o \
    -type f \( "${names[@]:1}" \) -print | sort
}

# Format, lint and the house rules.  All of them run, so that one run shows everything.
lint() {
  local bin=.venv/bin failed=0 files
  mapfile -t files < <(sources hpp cpp cu cuh)
  $bin/clang-format --dry-run -Werror "${files[@]}" || { echo "cure: .venv/bin/clang-format -i FILE"; failed=1; }
  mapfile -t files < <(sources py)
  $bin/ruff format --check "${files[@]}" || { echo "cure: .venv/bin/ruff format FILE"; failed=1; }
  $bin/ruff check "${files[@]}" || failed=1
  mapfile -t files < <(sources sh | xargs grep -l '^#!')
  shellcheck -x run .ci/run "${files[@]}" || failed=1
  local check
  for check in check_includes check_doc_blocks; do
    $bin/python tools/$check.py --self-test && $bin/python tools/$check.py || failed=1
  done
  $bin/python tools/check_exports.py --self-test || failed=1
  $bin/python tools/draw_journey.py --check || failed=1
  $bin/python bench/compare.py --check || failed=1
  return $failed
}

run_lint() {
  step "format, lint, house rules"
  venv lint
  logged lint lint || die "format, lint or house rules are broken" "The lines above name file and cure."
  result kept
}

# The disassembler with which the test `sass` compares the kernels; a toolkit brings its own.
setup_disassembler() {
  if [ "$cuda" = OFF ] || command -v cuobjdump >/dev/null || [ -e .deps/cudatools/nvidia ]; then return; fi
  logged cudatools .venv/bin/python tools/sass_diff.py --fetch ||
    die "pip could not install NVIDIA's disassembler" "The lines above say why; PENSTOCK_CUDA=OFF tests without CUDA."
}

# run_ctest [LABEL]: runs ctest with the output shown, but for tests with the label and for campaigns, which are run by hand
# when what they attack was changed (CONTRIBUTING.md).  Fails when there is no test.
run_ctest() {
  step "C++ tests"
  result ""
  "${cmake%cmake}ctest" --preset release --no-tests=error -j "$(jobs)" --label-exclude "^(campaign${1:+|$1})\$" 2>&1 </dev/null | tee "$logs/ctest.log" ||
    die "C++ tests failed" "One of them alone: ctest --preset release -R NAME"
}

run_tests() {
  local quick=no
  case "${1:-}" in
    quick) quick=yes ;;
    "") ;;
    *) die "no such tier: $1" "Say ./run test or ./run test quick." ;;
  esac
  steps=6
  [ $quick = yes ] || steps=10
  check_place
  # shellcheck disable=SC2046  # one word or none
  setup_packages build test $([ $quick = yes ] || browser_group)
  setup_cmake pinned
  setup_cuda
  run_lint
  setup_disassembler
  setup_servers
  compile
  if [ $quick = yes ]; then
    run_ctest long
    return
  fi
  run_ctest
  run_pytest
  run_newest_pytest
  printf '\nC++ and Python:\n'
  grep -E 'tests passed|Total Test time' "$logs/ctest.log"
  tail -qn 1 "$logs"/pytest*.log
}
