# Sends signal $1 to a copy in its middle, and says what it left; then goes on with the copy.
# The source is made of $STORES/image.ome.zarr's level 0 by repeating its shards: 4 MiB of decoded data.  What bash says about a killed job goes to /dev/null.
$PYTHON - <<'PY'
import json, os, pathlib, shutil
source = pathlib.Path(os.environ["STORES"]) / "image.ome.zarr" / "0"
meta = json.loads((source / "zarr.json").read_text())
meta["shape"] = [128, 128, 128]
pathlib.Path("big.zarr").mkdir()
pathlib.Path("big.zarr/zarr.json").write_text(json.dumps(meta))
shard = source / "c" / "0" / "0" / "0"
for z in range(16):
    for y in range(8):
        folder = pathlib.Path(f"big.zarr/c/{z}/{y}")
        folder.mkdir(parents=True)
        for x in range(8):
            shutil.copyfile(shard, folder / str(x))
PY
set -m  # else bash makes a command in the background ignore Ctrl-C
penstock copy big.zarr out.zarr --codec zstd:level=22 --chunks 32 --shards none --threads 1 > /dev/null &
copy=$!
for i in $(seq 1000); do  # as soon as the first chunks are there
  [ "$(find out.zarr -type f 2>/dev/null | wc -l)" -ge 2 ] && break
  sleep 0.01
done
kill -$1 $copy
wait $copy 2>/dev/null
code=$?
[ -e out.zarr/zarr.json ] && metadata="metadata" || metadata="no metadata"
[ -n "$(find out.zarr/c -type f)" ] && chunks="chunks are there" || chunks="no chunks"
leftovers=$(find . -name '*.tmp' -o -name '*.part' | wc -l)
echo "exit code $code, $metadata, $leftovers temporary files, $chunks"
penstock copy big.zarr out.zarr --codec zstd:level=22 --chunks 32 --shards none --resume > /dev/null 2> resumed || { cat resumed >&2; exit; }  # slow machines are told how far it is
[ "$(penstock cat out.zarr --format raw | sha256sum)" = "$(penstock cat big.zarr --format raw | sha256sum)" ] && echo "resumed: same bytes"
