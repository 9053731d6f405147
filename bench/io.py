#!/usr/bin/env python3
"""Bytes between a file and a GPU: penstock's CuFile, beside KvikIO's where it can be imported.

bench/io.py [--gib 4] [--folder DIR] [--runs 5]

Needs CuPy.  For each figure one JSON line: what, with which package and settings, median GB/s of the runs, and whether
the bytes were right.  `bus` is a copy from pinned memory, `disk` reads and writes by O_DIRECT with 16 threads: the
ceilings in the same run.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import mmap
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

import penstock

PIECE = 4 << 20


def timed(runs: int, work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Median seconds; one run before them warms up."""
    seconds = []
    for run in range(runs + 1):
        before()
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        if run:
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def tell(what: str, who: str, nbytes: int, seconds: float, right: bool) -> None:
    rate = round(nbytes / seconds / 1e9, 2)
    print(json.dumps({"what": what, "by": who, "GB/s": rate, "seconds": round(seconds, 4), "right": right}), flush=True)


def disk(path: pathlib.Path, nbytes: int, flags: int) -> None:
    """All of a file by O_DIRECT."""
    fd = os.open(path, flags | os.O_DIRECT)

    def piece(at: int) -> None:
        block = mmap.mmap(-1, PIECE)
        if flags & os.O_WRONLY:
            os.pwrite(fd, block, at)
        else:
            os.preadv(fd, [block], at)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(piece, range(0, nbytes, PIECE)))
    if flags & os.O_WRONLY:
        os.fdatasync(fd)
    os.close(fd)


def contenders() -> list[tuple[str, Any, Callable[[], Any]]]:
    """(name, module with CuFile, settings as a context manager)."""
    found = [("penstock", penstock, lambda: penstock.defaults.set({}))]
    try:
        import kvikio
        import kvikio.defaults
    except ImportError:
        return found
    for threads in (None, 16, 32):
        values = {} if threads is None else {"num_threads": threads}
        name = "kvikio" if threads is None else f"kvikio, {threads} threads"
        found.append((name, kvikio, lambda values=values: kvikio.defaults.set(values)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    nbytes = int(asked.gib * (1 << 30)) // PIECE * PIECE
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path = pathlib.Path(folder) / "a"
        values = np.random.default_rng(0).integers(0, 1 << 63, nbytes // 8, np.int64)
        values.tofile(path)
        os.sync()
        want, to = cupy.asarray(values).view(cupy.uint8), cupy.zeros(nbytes, cupy.uint8)
        run_all(path, nbytes, want, to, asked.runs)


def run_all(path: pathlib.Path, nbytes: int, want: Any, to: Any, runs: int) -> None:
    pinned = cupy.cuda.alloc_pinned_memory(1 << 28)
    copy = timed(runs, lambda: cupy.cuda.runtime.memcpyAsync(to.data.ptr, pinned.ptr, 1 << 28, 1, 0))
    tell("bus", "memcpy from pinned memory", 1 << 28, copy, True)

    def cold() -> None:
        penstock._cufile.drop_file_page_cache(path)

    tell("disk, read", "O_DIRECT", nbytes, timed(runs, lambda: disk(path, nbytes, os.O_RDONLY), cold), True)
    out = path.with_name("out")
    out.write_bytes(b"")
    os.truncate(out, nbytes)
    tell("disk, write", "O_DIRECT, fdatasync", nbytes, timed(runs, lambda: disk(out, nbytes, os.O_WRONLY)), True)
    offsets = [int(o) for o in np.random.default_rng(1).integers(0, nbytes - 65536, 10_000)]
    parts = [to[i * 65536 : (i + 1) * 65536] for i in range(min(10_000, nbytes // 65536))]
    for name, module, settings in contenders():
        with settings(), module.CuFile(path) as f:
            to.fill(0)
            np.fromfile(path, np.uint8)  # into the page cache
            seconds = timed(runs, lambda f=f: f.read(to))
            tell("read, warm", name, nbytes, seconds, bool((to == want).all()))
            to.fill(0)
            seconds = timed(runs, lambda f=f: f.read(to), cold)
            tell("read, cold", name, nbytes, seconds, bool((to == want).all()))
            to.fill(0)

            def scattered(f: Any = f) -> None:
                futures = [f.pread(part, file_offset=o) for part, o in zip(parts, offsets, strict=False)]
                for future in futures:
                    future.get()

            np.fromfile(path, np.uint8)
            seconds = timed(runs, scattered)
            right = all(
                bool((p == want[o : o + 65536]).all()) for p, o in zip(parts[::97], offsets[::97], strict=False)
            )
            tell("10,000 x 64 KiB, warm", name, len(parts) * 65536, seconds, right)
        with settings(), module.CuFile(out, "r+") as f:

            def written(f: Any = f) -> None:
                f.write(want)
                os.fdatasync(f.fileno())

            seconds = timed(runs, written)
            tell("write, flushed", name, nbytes, seconds, bool((np.fromfile(out, np.uint8) == want.get()).all()))


if __name__ == "__main__":
    main()
