# shellcheck shell=bash
# What every part of ./run uses: messages, step lines, logged commands.
logs=build/logs
step_number=0
steps=0
# One name for one compiler: the compiler's cache tells c++, which CMake finds, from g++, which Python's build names.
export CC=${CC:-cc} CXX=${CXX:-c++}

# die MESSAGE [CURE]: what is wrong, then what to do about it.
die() {
  printf './run: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf '       %s\n' "$2" >&2
  exit 1
}

# step NAME: begins the line "[2/5] NAME ....... "; `result TEXT` ends it.
step() {
  step_number=$((step_number + 1))
  local dots="................................"
  printf '[%d/%d] %s %s ' "$step_number" "$steps" "$1" "${dots:${#1}:$((25 - ${#1}))}"
}
result() { printf '%s\n' "$*"; }

# watched NAME COMMAND...: as logged, and while ninja runs says how far it is: in place on a terminal, else every half minute.
watched() {
  local log=$logs/$1.log every=30 before='' now started=$SECONDS
  if [ -t 1 ]; then every=1; fi
  logged "$@" &
  local job=$! ticks=0
  while kill -0 "$job" 2>/dev/null; do
    sleep 1
    ticks=$((ticks + 1))
    [ $((ticks % every)) = 0 ] || continue
    now=$(tail -c 4000 "$log" 2>/dev/null | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1) || continue
    [ "$now" != "$before" ] || continue
    before=$now
    if [ $every -gt 1 ]; then
      printf '\n      %s after %s ' "$now" "$(took $((SECONDS - started)))"
    else
      printf '%-13s\b\b\b\b\b\b\b\b\b\b\b\b\b' "$now"
    fi
  done
  if [ -n "$before" ] && [ $every = 1 ]; then printf '%-13s\b\b\b\b\b\b\b\b\b\b\b\b\b' ''; fi
  wait "$job"
}

# took SECONDS: "2 min 41 s"
took() {
  if [ "$1" -ge 60 ]; then printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); else printf '%d s' "$1"; fi
}

# logged NAME COMMAND...: output goes to build/logs/NAME.log; on failure its end is shown.
logged() {
  local name=$1 log=$logs/$1.log
  shift
  mkdir -p "$logs"
  if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
  {
    printf 'FAILED\n\n'
    tail -n 60 "$log"
    printf '\n./run: %s failed; the whole output is in %s\n' "$name" "$log"
  } >&2
  return 1
}

# version_at_least HAVE WANT
version_at_least() { printf '%s\n%s\n' "$2" "$1" | sort -CV; }

# How many compilers at once: one a core, and 1.5 GiB of free memory for each.
jobs() {
  local cores gib15
  cores=$(nproc)
  gib15=$(awk '/^MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo)
  [ "$gib15" -ge 1 ] || gib15=1
  echo "${JOBS:-$((cores < gib15 ? cores : gib15))}"
}
