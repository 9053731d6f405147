# shellcheck shell=bash
# ./run demo [STORE]: the main job on a store of the caller's, or on a made one.

demo() {
  local store=${1:-demo/input.ome.zarr} start=$SECONDS
  step "demo data"
  venv demo
  if [ $# -gt 0 ]; then
    [ -e "$store" ] || die "no such store: $store" "Name a folder or a zip file that holds zarr data; none: ./run demo makes one."
    result "$store"
  else
    local made
    made=$(sha256sum tools/demo_data.py | cut -c1-16)
    if [ "$(cat demo/made-by 2>/dev/null)" != "$made" ]; then
      mkdir -p demo
      logged demo-data .venv/bin/python tools/demo_data.py "$store" || die "the demo's data could not be written" \
        "The last lines above say why; 1 GiB of disk and of memory are enough."
      echo "$made" >demo/made-by
    fi
    result "$(tail -n 1 "$logs/demo-data.log" 2>/dev/null || echo "$store"), $(took $((SECONDS - start)))"
  fi
  step "demo"
  result ""
  start=$SECONDS
  build/release/bin/penstock demo "$store" demo/output --force
  .venv/bin/python tools/demo_check.py "$store" demo/output
  demo_tracks
  printf 'the demo took %s, all together %s\n' "$(took $((SECONDS - start)))" "$(took "$SECONDS")"
}

# A phantom to streamlines, and a picture of them.
demo_tracks() {
  logged demo-dwi .venv/bin/python tools/demo_dwi.py demo/dwi || die "the demo's diffusion volume could not be written" \
    "The last lines above say why."
  build/release/bin/penstock track demo/dwi/dwi.nii -o demo/output/tracks.trx --seeds 20000 --force
  build/release/bin/penstock tracks picture demo/output/tracks.trx -o demo/output/tracks.png --force
}
