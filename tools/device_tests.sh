#!/usr/bin/env bash
# Runs the tests that need a GPU from a folder of tools/pack_device_tests.sh:
#   FOLDER/device_tests.sh [PART...]
# Parts; programs, python and scipy where none is named:
#   programs    test_cuda and what else is in bin/, and the contract of every codec and operator
#   python      the Python package beside CuPy
#   scipy       scipy's own tests of scipy.ndimage on the GPU
#   kvikio      KvikIO's own tests with CuPy, where the folder has them
#   memcheck, racecheck, initcheck
#               the fuzz corpus in one batch a format under compute-sanitizer
# Each part writes FOLDER/out/PART.log; exit 1 where one failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
export PYTHONPATH=$here/site
program=(env "LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")  # the machine's own libraries serve Python
mkdir -p "$here/out"

# The packages, beside those of the machine.
if [ ! -d "$here/site" ]; then
  "$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$here/site" "$here"/wheels/*.whl ||
    { rm -rf "$here/site"; echo "$0: pip could not install the packages of $here/wheels" >&2; exit 1; }
fi

run_part() {
  case $1 in
    programs)
      local failed=0 test
      for test in "$here"/bin/test_*; do "${program[@]}" "$test" || failed=1; done
      "${program[@]}" "$here/bin/penstock_contract" test || failed=1
      return $failed
      ;;
    python) cd "$here/tree" && "$python" -m pytest -q -p no:cacheprovider -o python_files='test_cuda*.py' tests/python ;;
    scipy) cd "$here/tree" && "$python" tools/scipy_own_tests.py --device cuda ;;
    kvikio) cd "$here/tree" && tools/kvikio_own_tests.sh "$python" ;;
    memcheck | racecheck | initcheck)
      "${program[@]}" compute-sanitizer --tool "$1" --error-exitcode 9 "$here/bin/corpus_batch" "$here/tree/fuzz/seeds"
      ;;
  esac
}

[ $# -gt 0 ] || set -- programs python scipy
failed=0
for part in "$@"; do
  case $part in
    programs | python | scipy | kvikio | memcheck | racecheck | initcheck) ;;
    *) echo "$0: no such part: $part (programs, python, scipy, kvikio, memcheck, racecheck, initcheck)" >&2; exit 2 ;;
  esac
  start=$SECONDS
  if (run_part "$part") >"$here/out/$part.log" 2>&1; then verdict=passed; else verdict=FAILED failed=1; fi
  echo "$part: $verdict in $((SECONDS - start)) s; $(tail -n 1 "$here/out/$part.log")"
done
exit $failed
