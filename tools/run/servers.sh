# shellcheck shell=bash
# ./run test, the servers that tests start by themselves (tests/servers/serve.py): nginx comes with the system packages.

versitygw_version=v1.8.0

# go_program: prints a Go compiler that can build the S3 server, or nothing
go_program() {
  local go version
  for go in go /usr/local/go/bin/go /usr/lib/go-1.*/bin/go "$PWD/.venv/bin/go"; do
    version=$("$go" version 2>/dev/null | sed -n 's/.*go\([0-9.]*\) .*/\1/p') || continue
    # From 1.21 on it fetches the newer Go that a module asks for.
    if [ -n "$version" ] && version_at_least "$version" 1.21; then
      echo "$go"
      return
    fi
  done
}

# setup_servers: versitygw, an S3 server that checks signatures, in .deps/servers/bin
setup_servers() {
  local start=$SECONDS folder=$PWD/.deps/servers go
  step "S3 server of the tests"
  if [ "$(cat "$folder/version" 2>/dev/null)" = "$versitygw_version" ]; then
    result "versitygw $versitygw_version"
    return
  fi
  go=$(go_program)
  if [ -z "$go" ]; then
    venv servers  # Debian 12's Go is older; PyPI has one
    go=$PWD/.venv/bin/go
  fi
  printf 'building versitygw %s with %s ... ' "$versitygw_version" "$("$go" version | cut -d' ' -f3)"
  mkdir -p "$folder/bin"
  logged versitygw env GOBIN="$folder/bin" CGO_ENABLED=0 "$go" install \
    "github.com/versity/versitygw/cmd/versitygw@$versitygw_version" ||
    die "Go could not build versitygw" "Check that it reaches a module proxy (go env GOPROXY), then run this again."
  echo "$versitygw_version" >"$folder/version"
  result "done in $(took $((SECONDS - start)))"
}
