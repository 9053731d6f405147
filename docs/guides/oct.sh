#!/bin/sh
# Makes the table and the pictures of docs/guides/oct.md: docs/guides/oct.sh PENSTOCK.  The picture of the report needs Chromium.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
penstock=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
oct() {
  command=$1
  shift
  "$penstock" oct "$command" "$@" --force --quiet
}
oct simulate subject --size smoke --seed 7
oct reconstruct subject/raw out --resolution-um 10 --axial-resolution-um 10 --slicing-interval-mm 0.24 \
  --depth-um 520 --shifts subject/raw/shifts_xy.csv --report
for slice in 00 01 02 03; do
  oct fix-focal-curvature out/mosaic_grid_z$slice.ome.zarr out/mosaic_grid_z${slice}_focal.ome.zarr
  oct tissue-interface out/slice_z${slice}_stitch.ome.zarr out/slice_z${slice}_interface.npy
done
oct aip-png out/mosaic_grid_z00.ome.zarr oct_mosaic.png
oct aip-png out/mosaic_grid_z00_illum.ome.zarr oct_illum.png
oct aip-png out/slice_z00_stitch.ome.zarr oct_slice.png
oct aip-png out/3d_volume.ome.zarr oct_volume.png
cp oct_mosaic.png oct_illum.png oct_slice.png oct_volume.png "$here"
"${PENSTOCK_BROWSER:-chromium}" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
  --window-size=1060,1500 --screenshot="$work/oct_report.png" "file://$work/out/report.html" 2> /dev/null
cp oct_report.png "$here"
{
  sed '/<!-- begin: docs\/guides\/oct.sh -->/q' "$here/oct.md"
  echo '```'
  "$penstock" oct score out --truth subject/truth.json 2> /dev/null
  echo '```'
  sed -n '/<!-- end: docs\/guides\/oct.sh -->/,$p' "$here/oct.md"
} > page
cat page > "$here/oct.md"
