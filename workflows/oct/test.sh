#!/bin/sh
# The workflow gives, byte for byte, the volume of one call, and a second run with -resume has nothing to do.
# workflows/oct/test.sh PENSTOCK: the command to test.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
penstock=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
how="--axial-resolution-um 10 --slicing-interval-mm 0.24 --depth-um 520"
"$penstock" oct simulate subject --size smoke --seed 7 --quiet
# shellcheck disable=SC2086
"$penstock" oct reconstruct subject/raw one --resolution-um 10 $how --shifts subject/raw/shifts_xy.csv --quiet
flow() {
  "$here/tools/nextflow.sh" run "$here/workflows/oct/main.nf" --penstock "$penstock" --input "$work/subject/raw" \
    --output "$work/flow" --shifts_xy "$work/subject/raw/shifts_xy.csv" --resolution 10 --axial_resolution 10 \
    --slicing_interval_mm 0.24 --depth_um 520 "$@"
}
flow
(cd one/3d_volume.ome.zarr && find . -type f | sort) > files
test "$(wc -l < files)" -gt 5
while read -r file; do cmp "one/3d_volume.ome.zarr/$file" "flow/3d_volume.ome.zarr/$file"; done < files
flow -resume | tee resumed
test "$(grep -c Cached resumed)" -ge 1 || grep -q "cached" resumed
"$penstock" oct score flow --truth subject/truth.json || true
echo "workflow: $(wc -l < files) files of the volume are equal"
