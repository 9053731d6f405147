#!/usr/bin/env python3
"""zarr-python over an asynchronous store that answers late: its own pipeline and penstock's, time and requests.

    bench/latency.py [--delay-ms 50] [--repeats 9] [--cases chunks,shards,strided] [--save]

The store keeps everything in memory and lets each request wait; it counts them and how many wait together.  Three cases:
200 chunks; 4 shards of 100 inner chunks; every 10th row of inner chunks out of such shards.  Repeats are interleaved;
every result is compared with what was written.  --save writes bench/results/latency-N-cores.json.
"""

import argparse
import asyncio
import os
import statistics
import sys
import time
from dataclasses import dataclass

import numpy as np
import record
import zarr
from zarr.storage import MemoryStore, WrapperStore

import penstock
import penstock.zarr

PIPELINES = {
    "zarr-python": "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "penstock": "penstock.zarr.CodecPipeline",
}


@dataclass
class Counts:
    requests: int = 0
    under_way: int = 0
    max_under_way: int = 0
    bytes: int = 0


class LateStore(WrapperStore):
    """Each request for bytes, or about them, takes `delay_s`; several wait together."""

    # Of the class: zarr-python makes new stores of it, to read only.
    delay_s = 0.0
    counts = Counts()

    async def _late(self, work):
        counts = LateStore.counts
        counts.requests += 1
        counts.under_way += 1
        counts.max_under_way = max(counts.max_under_way, counts.under_way)
        try:
            await asyncio.sleep(LateStore.delay_s)
            return await work
        finally:
            counts.under_way -= 1

    async def get(self, key, prototype, byte_range=None):
        got = await self._late(self._store.get(key, prototype, byte_range))
        LateStore.counts.bytes += 0 if got is None else len(got)
        return got

    async def get_partial_values(self, prototype, key_ranges):
        # As a store would that has no call for many ranges: each is a request.
        return await asyncio.gather(*(self.get(key, prototype, byte_range) for key, byte_range in key_ranges))

    async def exists(self, key):
        return await self._late(self._store.exists(key))

    async def getsize(self, key):
        return await self._late(self._store.getsize(key))


def cases() -> dict:
    """Name -> (shape, chunks, shards, selection): chunks of 64 KiB."""
    return {
        "chunks": ((200 * 16, 2048), (16, 2048), None, ...),
        "shards": ((400 * 16, 2048), (16, 2048), (100 * 16, 2048), ...),
        "strided": ((400 * 16, 2048), (16, 2048), (100 * 16, 2048), slice(None, None, 160)),
    }


def written(shape, chunks, shards) -> tuple[LateStore, np.ndarray]:
    rng = np.random.default_rng(1)
    data = rng.integers(0, 4096, shape).astype("u2")
    store = LateStore(MemoryStore())
    array = zarr.create_array(store, shape=shape, dtype=data.dtype, chunks=chunks, shards=shards, compressors=None)
    array[...] = data
    return store, data


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay-ms", type=float, default=50)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--cases", default=",".join(cases()))
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    rows = []
    for name in args.cases.split(","):
        shape, chunks, shards, selection = cases()[name]
        store, data = written(shape, chunks, shards)
        expected = data[selection]
        seen: dict[str, list] = {pipeline: [] for pipeline in PIPELINES}
        for _ in range(args.repeats):
            for pipeline, path in PIPELINES.items():
                with zarr.config.set({"codec_pipeline.path": path, "codec_pipeline.strict": True}):
                    array = zarr.open_array(store, mode="r")
                    counts = LateStore.counts = Counts()
                    LateStore.delay_s = args.delay_ms / 1000
                    begin = time.perf_counter()
                    got = array[selection]
                    seconds = time.perf_counter() - begin
                    LateStore.delay_s = 0
                if not np.array_equal(got, expected):
                    print(f"{name}: {pipeline} read something else than was written", file=sys.stderr)
                    return 1
                seen[pipeline].append((seconds, counts.requests, counts.max_under_way, counts.bytes))
        for pipeline, runs in seen.items():
            seconds = sorted(run[0] for run in runs)
            row = {
                "case": name,
                "pipeline": pipeline,
                "seconds": [round(s, 4) for s in seconds],
                "requests": max(run[1] for run in runs),
                "max_under_way": max(run[2] for run in runs),
                "megabytes": round(max(run[3] for run in runs) / 1e6, 1),
            }
            rows.append(row)
            print(
                f"{name:8} {pipeline:12} {statistics.median(seconds):7.3f} s ({seconds[0]:.3f} to {seconds[-1]:.3f})"
                f" {row['requests']:5} requests, {row['max_under_way']:3} at once, {row['megabytes']:6.1f} MB"
            )
    if args.save:
        versions = {
            "penstock": f"penstock {penstock.__version__}",
            "zarr-python": f"zarr-python {zarr.__version__}",
        }
        title = f"zarr-python over a store that answers after {args.delay_ms:g} ms"
        content = {"title": title, "versions": versions, "results": rows}
        print(record.save("latency", len(os.sched_getaffinity(0)), content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
