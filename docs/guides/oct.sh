#!/bin/sh
# Makes the table and the pictures of docs/guides/oct.md: docs/guides/oct.sh PENSTOCK
set -eu
here=$(cd "$(dirname "$0")" && pwd)
penstock=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$penstock" oct simulate subject --size smoke --seed 7 --quiet
"$penstock" oct reconstruct subject/raw out --resolution-um 10 --axial-resolution-um 10 --slicing-interval-mm 0.24 \
  --depth-um 520 --shifts subject/raw/shifts_xy.csv --quiet
"$penstock" oct aip-png out/mosaic_grid_z00.ome.zarr "$here/oct_mosaic.png" --force --quiet
"$penstock" oct aip-png out/3d_volume.ome.zarr "$here/oct_volume.png" --force --quiet
rm -f "$here"/oct_*_metrics.json
{
  sed '/<!-- begin: docs\/guides\/oct.sh -->/q' "$here/oct.md"
  echo '```'
  "$penstock" oct score out --truth subject/truth.json 2> /dev/null
  echo '```'
  sed -n '/<!-- end: docs\/guides\/oct.sh -->/,$p' "$here/oct.md"
} > page
cat page > "$here/oct.md"
