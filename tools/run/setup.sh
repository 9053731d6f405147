# shellcheck shell=bash
# From a bare machine to a built penstock: system packages, Python environment, CUDA compiler, build.

# packages GROUP...: the system packages of these groups in tools/packages.txt
packages() {
  local groups=" $* "
  awk -v groups="$groups" '!/^#/ && NF && index(groups, " " $2 " ") {print $1}' tools/packages.txt
}

# The group of the browser, where the distribution has one as a package: Ubuntu's is a snap, which needs a running snapd.
browser_group() { grep -qs '^ID=ubuntu' /etc/os-release || echo browser; }

missing_packages() {
  local installed
  installed=" $(dpkg-query -W -f '${db:Status-Abbrev}:${Package} ' 2>/dev/null) "
  local p
  for p in $(packages "$@"); do [[ $installed == *" ii :$p "* || $installed == *" hi :$p "* ]] || echo "$p"; done
}

setup_packages() {
  local start=$SECONDS
  step "system packages"
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    result "not checked: neither Debian nor Ubuntu; needed are the likes of: $(packages "$@" | tr '\n' ' ')"
    return
  fi
  local missing
  missing=$(missing_packages "$@" | tr '\n' ' ')
  if [ -z "$missing" ]; then
    result present
    return
  fi
  local root=()
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      root=(sudo)
    else
      result missing
      die "system packages are missing and this user may not install them" \
        "Have an administrator run: apt-get update && apt-get install -y --no-install-recommends $missing"
    fi
  fi
  # RUNLEVEL: no package starts a service (nginx is for the tests, which start their own).
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q -o DPkg::Lock::Timeout=300)
  printf 'installing %d ... ' "$(wc -w <<<"$missing")"
  logged apt-update "${apt[@]}" update -o APT::Update::Error-Mode=any ||
    die "apt-get could not reach the package sources; needed are: $missing" \
      "Mend the network or the sources in /etc/apt, then run this again."
  # shellcheck disable=SC2086  # a list of words
  logged apt-install "${apt[@]}" install -y --no-install-recommends $missing ||
    die "apt could not install: $missing" "See build/logs/apt-install.log; then run this again."
  result "installed in $(took $((SECONDS - start))): $missing"
}

# usable_python PYTHON: whether it is new enough, can make environments and has its C headers
usable_python() {
  "$1" - 2>/dev/null <<'PY'
import ensurepip, os, sys, sysconfig, venv
ok = sys.version_info >= (3, 11) and os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
sys.exit(0 if ok else 1)
PY
}

# The Python to build for: the first usable one.
choose_python() {
  local p
  for p in ${PENSTOCK_PYTHON:+"$PENSTOCK_PYTHON"} python3 /usr/bin/python3; do
    command -v "$p" >/dev/null || continue
    if usable_python "$p"; then
      "$p" -c 'import os, sys; print(os.path.realpath(sys.executable))'
      return
    elif [ "$p" = "${PENSTOCK_PYTHON:-}" ]; then
      die "PENSTOCK_PYTHON=$p is older than 3.11, or lacks the module venv or the header Python.h" \
        "Install its -dev and -venv packages, name another one, or unset PENSTOCK_PYTHON."
    fi
  done
  die "no usable Python: 3.11 or later with the modules venv and ensurepip and the header Python.h is needed" \
    "Install it: apt-get install python3-dev python3-venv; or name another one: PENSTOCK_PYTHON=..."
}

# venv REQUIREMENTS...: .venv holds the packages of these files in tools/requirements/.
venv() {
  local python
  python=$(choose_python)
  venv_of "$python" .venv "$@"
}

# venv_of PYTHON FOLDER REQUIREMENTS...: the same for another Python.  Re-made when the Python changes; pip runs only when a
# file changed.
venv_of() {
  local python=$1 folder=$2 file stamp
  if [ "$(cat "$folder/made-with" 2>/dev/null)" != "$python $("$python" -V)" ]; then
    rm -rf "$folder"
    logged venv "$python" -m venv "$folder" || die "$python could not make $folder" "Install: apt-get install python3-venv"
    echo "$python $("$python" -V)" >"$folder/made-with"
  fi
  for file in "${@:3}"; do
    stamp=$folder/has-$file-$(sha256sum "tools/requirements/$file.txt" | cut -c1-16)
    [ ! -e "$stamp" ] || continue
    logged "pip-$file" "$folder/bin/python" -m pip install --disable-pip-version-check -r "tools/requirements/$file.txt" ||
      die "pip could not install tools/requirements/$file.txt" \
        "Check that pip reaches a package index (pip config list; PIP_INDEX_URL), then run this again."
    rm -f "$folder/has-$file-"*
    touch "$stamp"
  done
}

# setup_cmake [pinned]: sets `cmake` to one that is new enough.  pinned: to that of tools/requirements/cmake.txt, which builds
# the wheel too: versions order the compiler's flags differently, and the compiler cache would share nothing between the two.
# A folder that has it keeps to it, or the next build would compile everything anew.
setup_cmake() {
  local have
  have=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  cmake=cmake
  if [ "${1:-}" = pinned ] || [ -x .venv/bin/cmake ] || ! version_at_least "${have:-0}" 3.25; then
    venv cmake
    cmake=$PWD/.venv/bin/cmake
  fi
}

# usable_nvcc: prints a toolkit's nvcc of 12.8 or later, if there is one
usable_nvcc() {
  local nvcc version
  for nvcc in ${CUDACXX:+"$CUDACXX"} nvcc "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" /usr/local/cuda-*/bin/nvcc; do
    version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p') || continue
    if [ -n "$version" ] && version_at_least "$version" 12.8; then
      echo "$nvcc $version"
      return
    fi
  done
}

setup_cuda() {
  local start=$SECONDS
  step "CUDA compiler"
  cuda=${PENSTOCK_CUDA:-AUTO}
  local found
  found=$(usable_nvcc)
  if [ "$cuda" = OFF ]; then
    result "none: CPU only (PENSTOCK_CUDA=OFF)"
  elif [ -n "$found" ]; then
    result "$found"
  else
    local python
    python=$(choose_python)
    if logged nvcc "$cmake" "-DDEST=$PWD/.deps/nvcc" "-DPYTHON=$python" -P cmake/FetchNvcc.cmake 2>/dev/null; then
      result "NVIDIA wheels 13.0 (no toolkit found), $(took $((SECONDS - start)))"
    else
      cuda=OFF
      result "none: CPU only (no toolkit, and pip could not install NVIDIA's wheels: $logs/nvcc.log)"
    fi
  fi
}

# compile [TARGET...]: configures build/release and builds these targets; none: everything, with tests and benchmarks
compile() {
  local start=$SECONDS
  step "build"
  logged configure "$cmake" --preset release "-DPENSTOCK_CUDA=$cuda" -DPENSTOCK_BENCH=ON ||
    die "cmake could not configure" "What it misses is named above; tools/packages.txt lists what penstock needs."
  watched build "$cmake" --build --preset release -j "$(jobs)" ${1:+--target "$@"} ||
    die "the build failed" "The first error is in $logs/build.log. A compiler that was killed lacked memory: JOBS=1 ./run ..."
  if grep -q 'CUDA: off' "$logs/configure.log"; then cuda=OFF; fi
  result "done in $(took $((SECONDS - start)))$([ "$cuda" != OFF ] || echo ', CPU only')"
}

# A place to build in: writable, and with room.
check_place() {
  mkdir -p "$logs" 2>/dev/null && [ -w "$logs" ] ||
    die "this user may not write in $PWD" "Clone penstock to a folder of your own, or: chown -R $(id -un) $PWD"
  local free_mib
  free_mib=$(df -Pm . | awk 'NR == 2 {print $4}')
  [ "$free_mib" -ge 2048 ] || [ -e build/release/bin/penstock ] ||
    die "$free_mib MiB are free on the disk of $PWD; building takes about 2 GiB" "Make room, or clone to another disk."
}

setup_build() {
  check_place
  setup_packages build
  setup_cmake
  setup_cuda
  compile penstock_cli
}
