"""A Gaussian of an array larger than its budget, tile by tile, beside reading and writing the same array alone.

    ndimage_tiles.py [--gib 24] [--budget 2GiB] [--shard 256] [--device auto] [--folder /tmp] [--rounds N]

Writes bench/results/ndimage-tiles-*.json: seconds of both (the least of the rounds, in turns), bytes read beside those of the
array, the most memory of the process beyond what it had before.  The array is smooth uint16, in shards of SHARD^3 with chunks
of 64^3, lz4: a tile is whole shards, so a small budget needs small ones.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import record

import penstock as ps
import penstock.ndimage as nd

CHUNK = 64


def make_source(path: Path, gib: float, shard: int) -> ps.Array:
    """About `gib` GiB, written a layer of shards at a time."""
    side = max(round((gib * 2**30 / 2) ** (1 / 3) / shard), 1) * shard
    depth = max(round(gib * 2**30 / 2 / side / side / shard), 1) * shard
    array = ps.create(
        str(path),
        shape=(depth, side, side),
        dtype="uint16",
        chunks=(CHUNK,) * 3,
        shards=(shard,) * 3,
        codecs=[
            {
                "name": "blosc",
                "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0},
            }
        ],
    )
    layer = np.random.default_rng(5).integers(0, 4096, (shard, side, side), np.uint16)
    layer = nd.gaussian_filter(layer, 1.5)
    for z in range(0, depth, shard):
        array[z : z + shard] = layer
    return ps.open(str(path))


def memory(line: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(text.split()[1]) << 10 for text in file if text.startswith(line))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=24)
    parser.add_argument("--budget", default="2GiB")
    parser.add_argument("--shard", type=int, default=256)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--folder")
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(dir=args.folder))
    try:
        start = time.perf_counter()
        source = make_source(scratch / "from.zarr", args.gib, args.shard)
        print(f"{'source':10} {time.perf_counter() - start:8.2f} s", flush=True)
        seconds: dict[str, list[float]] = {"copy": [], "gaussian": []}
        lazy = {"copy": nd.cast(source, "uint16"), "gaussian": nd.gaussian_filter(source, 2)}
        explained = lazy["gaussian"].explain(device=args.device, budget=args.budget)
        Path("/proc/self/clear_refs").write_text("5")
        before, took = memory("VmRSS"), {}
        for _ in range(args.rounds):
            for name, array in lazy.items():
                shutil.rmtree(scratch / "to.zarr", ignore_errors=True)
                os.sync()
                Path("/proc/self/clear_refs").write_text("5")
                start = time.perf_counter()
                array.write(str(scratch / "to.zarr"), device=args.device, budget=args.budget)
                seconds[name].append(time.perf_counter() - start)
                took[name] = max(took.get(name, 0), memory("VmHWM") - before)
                print(f"{name:10} {seconds[name][-1]:8.2f} s, {took[name] / 2**20:,.0f} MiB", flush=True)
        print(explained)
        content = {
            "shape": list(source.shape),
            "dtype": "uint16",
            "shard": args.shard,
            "budget": args.budget,
            "device": args.device,
            "seconds": {name: min(times) for name, times in seconds.items()},
            "ratio": min(seconds["gaussian"]) / min(seconds["copy"]),
            "extra_bytes": took,
            "explain": explained,
        }
        print(record.save("ndimage-tiles", len(os.sched_getaffinity(0)), content))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
