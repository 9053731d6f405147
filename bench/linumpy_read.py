"""Reads arrays into the memory of a GPU: penstock.compat.linumpy beside zarr-python's own way there.

    linumpy_read.py [--mib N] [--rounds N] [--folder DIR] [--out FILE]     writes bench/results/linumpy-read-*.json

Needs a GPU, CuPy and zarr-python.  Arrays of float32 as a mosaic grid has them (smooth, with grains): raw, zstd, and zstd in
shards of 4 x 4 tiles.  Every reading is compared with what was written; a time is the least of the rounds, files in the page
cache.  "zarr-python" is ``zarr.config.enable_gpu()`` with its own codecs, which is what the reference's readers are.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import cupy
import numpy as np
import record
import zarr

import penstock as ps
from penstock.compat.linumpy.gpu import read_raw_zarr, read_zarr_to_gpu

TILE = (64, 128, 128)


def mosaic(mib: int) -> np.ndarray:
    tiles = max(16, mib * 2**20 // (4 * int(np.prod(TILE))))
    side = max(4, int(tiles**0.5) // 4 * 4)
    rng = np.random.default_rng(0)
    tile = np.add.outer(np.linspace(400, 40, TILE[0]), np.hypot(*np.indices(TILE[1:])) / 4)
    grid = np.tile(tile, (1, side, side)).astype(np.float32)
    grid *= rng.gamma(8, 1 / 8, grid.shape[1:]).astype(np.float32)
    return np.round(grid * 16) / 16  # digits that a detector does not have do not cost what noise costs


def by_zarr(path: Path) -> cupy.ndarray:
    own = {"codec_pipeline.path": "zarr.core.codec_pipeline.BatchedCodecPipeline"}
    with zarr.config.enable_gpu(), zarr.config.set(own):
        made = zarr.open_array(str(path), mode="r")[...]
    cupy.cuda.Device().synchronize()
    return made


def least(read, path: Path, wanted: cupy.ndarray, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        made = read(path)
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
        made = cupy.asarray(made)
        if made.dtype != wanted.dtype or not bool((made == wanted).all()):
            raise SystemExit(f"{read.__name__} of {path} gives something else")
        del made
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    x = mosaic(arguments.mib)
    wanted = cupy.asarray(x)
    sharded = (TILE[0], 4 * TILE[1], 4 * TILE[2])
    layouts = {"raw": {"codecs": []}, "zstd": {}, "zstd in shards": {"shards": sharded}}
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        for name, how in layouts.items():
            path = Path(scratch) / "a.zarr"
            ps.create(path, shape=x.shape, dtype="f4", chunks=TILE, overwrite=True, **how)[...] = x
            stored = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            seconds = {"penstock": least(read_zarr_to_gpu, path, wanted, arguments.rounds)}
            if name == "raw":
                seconds["penstock, raw reader"] = least(read_raw_zarr, path, wanted, arguments.rounds)
            seconds["zarr-python"] = least(by_zarr, path, wanted, arguments.rounds)
            rows.append({"what": name, "bytes": x.nbytes, "stored_bytes": stored, "seconds": seconds})
            print(rows[-1], flush=True)
    gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    content = {"title": "arrays to the GPU", "gpu": gpu, "zarr": zarr.__version__, "rows": rows}
    path = record.save("linumpy-read", len(os.sched_getaffinity(0)), content)
    print(shutil.move(path, arguments.out) if arguments.out else path)


if __name__ == "__main__":
    main()
