#!/usr/bin/env python3
"""Bytes between files and a GPU: penstock's CuFile, GDSStore and pipeline, beside KvikIO's where it can be imported.

    bench/io.py [--gib 4] [--folder DIR] [--runs 5] [--cold-runs 3] [--seconds 75] [--save | --json FILE]

Needs CuPy, and zarr-python for the stores.  `bus` is a copy from pinned memory, `disk` reads and writes by O_DIRECT with
16 threads: the ceilings in the same run.  For each figure the median of the runs; every result is compared, and a wrong
byte fails the run.  Figures that begin after `--seconds` have one run.  --save writes bench/results/io-N-cores.json,
--json another file.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import importlib
import mmap
import os
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np
import record

import penstock

PIECE = 4 << 20
SMALL, COUNT = 65536, 10_000
SIDE, CHUNK = 1024, 128  # of the array: 2 GiB of uint16 in 512 chunks of 4 MiB


class Figures:
    def __init__(self, runs: int, cold_runs: int, seconds: float) -> None:
        self.runs, self.cold_runs, self.until = runs, cold_runs, time.monotonic() + seconds
        self.rows: list[dict[str, Any]] = []
        self.missing: dict[str, str] = {}

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.until

    def measure(
        self,
        what: str,
        by: str,
        nbytes: int,
        work: Callable[[], object],
        is_right: Callable[[], bool] = lambda: True,
        before: Callable[[], object] = lambda: None,
        warm_up: bool = True,
    ) -> None:
        """One run before them warms up, unless each run is cold anyhow."""
        seconds: list[float] = []
        for run in range((self.runs if warm_up else self.cold_runs) + warm_up):
            before()
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            work()
            cupy.cuda.Device().synchronize()
            if run or not warm_up:
                seconds.append(time.perf_counter() - start)
            if seconds and self.is_late:
                break
        if not is_right():
            sys.exit(f"{what}, {by}: wrong bytes")
        row = {"what": what, "by": by, "bytes": nbytes, "seconds": [round(s, 5) for s in sorted(seconds)]}
        self.rows.append(row)
        print(f"{what:24} {by:24} {nbytes / statistics.median(seconds) / 1e9:7.2f} GB/s  {row['seconds']}", flush=True)


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


def optional(name: str) -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module(name)
    return None


def contenders() -> list[tuple[str, Any, Callable[[], Any]]]:
    """(name, module with CuFile, settings as a context manager)."""
    found = [("penstock", penstock, lambda: penstock.defaults.set({}))]
    kvikio, defaults = optional("kvikio"), optional("kvikio.defaults")
    if kvikio is None:
        return found
    for threads in (16, None):
        values = {} if threads is None else {"num_threads": threads}
        name = "kvikio" if threads is None else f"kvikio, {threads} threads"
        found.append((name, kvikio, lambda values=values: defaults.set(values)))
    return found


def files(figures: Figures, path: pathlib.Path, nbytes: int) -> None:
    want, to = cupy.fromfile(path, cupy.uint8), cupy.zeros(nbytes, cupy.uint8)
    right = lambda: bool((to == want).all())  # noqa: E731
    pinned = cupy.cuda.alloc_pinned_memory(1 << 28)
    copy = lambda: cupy.cuda.runtime.memcpyAsync(to.data.ptr, pinned.ptr, 1 << 28, 1, 0)  # noqa: E731
    figures.measure("bus", "copy from pinned memory", 1 << 28, copy)
    offsets = [int(o) for o in np.random.default_rng(1).integers(0, nbytes - SMALL, COUNT)]
    parts = [to[i * SMALL : (i + 1) * SMALL] for i in range(min(COUNT, nbytes // SMALL))]

    def same_parts() -> bool:
        sample = list(zip(parts, offsets, strict=False))[::97]
        return all(bool((part == want[o : o + SMALL]).all()) for part, o in sample)

    for name, module, settings in contenders():
        with settings(), module.CuFile(path) as f:
            to.fill(0)
            figures.measure("read, warm", name, nbytes, lambda f=f: f.read(to), right)

            def scattered(f: Any = f) -> None:
                futures = [f.pread(part, file_offset=o) for part, o in zip(parts, offsets, strict=False)]
                for future in futures:
                    future.get()

            to.fill(0)
            figures.measure(f"{COUNT:,} x 64 KiB, warm", name, len(parts) * SMALL, scattered, same_parts)
            if hasattr(f, "pread_many"):
                to.fill(0)
                begin = np.asarray(offsets[: len(parts)])
                together = lambda f=f, begin=begin: f.pread_many(to, SMALL, begin).get()  # noqa: E731
                figures.measure(
                    f"{COUNT:,} x 64 KiB, warm", f"{name}, pread_many", len(parts) * SMALL, together, same_parts
                )
    arrays(figures, path.with_name("array.zarr"))
    cold(figures, path, nbytes, want, to)


def cold(figures: Figures, path: pathlib.Path, nbytes: int, want: Any, to: Any) -> None:
    out = path.with_name("out")
    out.write_bytes(b"")
    os.truncate(out, nbytes)
    drop = lambda: penstock._cufile.drop_file_page_cache(path)  # noqa: E731
    read = {"warm_up": False, "before": drop}
    figures.measure("read, cold", "O_DIRECT, 16 threads", nbytes, lambda: disk(path, nbytes, os.O_RDONLY), **read)
    write = lambda: disk(out, nbytes, os.O_WRONLY)  # noqa: E731
    figures.measure("write, flushed", "O_DIRECT, 16 threads", nbytes, write, warm_up=False)
    for name, module, settings in contenders()[:2]:
        with settings(), module.CuFile(path) as f:
            to.fill(0)
            right = lambda: bool((to == want).all())  # noqa: E731
            figures.measure("read, cold", name, nbytes, lambda f=f: f.read(to), right, **read)
        with settings(), module.CuFile(out, "r+") as f:

            def written(f: Any = f) -> None:
                f.write(want)
                os.fdatasync(f.fileno())

            right = lambda: bool((cupy.fromfile(out, cupy.uint8) == want).all())  # noqa: E731
            figures.measure("write, flushed", name, nbytes, written, right, warm_up=False)


def arrays(figures: Figures, path: pathlib.Path) -> None:
    zarr = optional("zarr")
    if zarr is None:
        figures.missing["GDSStore and the pipeline"] = "no zarr-python"
        return
    line = np.arange(SIDE, dtype="u2")
    values = line[:, None, None] * np.uint16(40503) + line[:, None] * np.uint16(257) + line
    penstock.create(path, shape=values.shape, dtype="u2", chunks=(CHUNK,) * 3, codecs=[])[...] = values
    want = cupy.asarray(values)
    ours = {"codec_pipeline.path": "penstock.zarr.CodecPipeline"}
    importlib.import_module("penstock.zarr")
    from penstock.compat.kvikio.zarr import GDSStore

    ways: list[tuple[str, Callable[[], Any], dict[str, Any]]] = [
        ("penstock, GDSStore", lambda: GDSStore(path), {}),
        ("penstock, pipeline", lambda: path, ours),
    ]
    theirs = optional("kvikio.zarr")
    if theirs is not None:
        ways.append(("kvikio, GDSStore", lambda: theirs.GDSStore(path), {}))
    for name, store, settings in ways:
        got: list[Any] = []

        def read(store: Any = store, settings: Any = settings, got: list[Any] = got) -> None:
            with zarr.config.enable_gpu(), zarr.config.set({"async.concurrency": 64, **settings}):
                got[:] = [zarr.open_array(store(), mode="r")[...]]

        is_right = lambda got=got: bool((cupy.asarray(got[0]) == want).all())  # noqa: E731
        figures.measure("zarr-python, raw", name, values.nbytes, read, is_right)


@contextlib.contextmanager
def made(folder: pathlib.Path | None, nbytes: int) -> Iterator[pathlib.Path]:
    """A file no two blocks of which are alike, on the disk and in the page cache."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        path = pathlib.Path(temporary) / "a"
        block = np.random.default_rng(0).integers(0, 1 << 63, (64 << 20) // 8, np.int64)
        with path.open("wb") as file:
            for begin in range(0, nbytes, block.nbytes):
                (block + begin).tofile(file)
            file.truncate(nbytes)
            os.fsync(file.fileno())
        yield path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cold-runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=75)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    asked = parser.parse_args()
    nbytes = int(asked.gib * (1 << 30)) // PIECE * PIECE
    figures = Figures(asked.runs, asked.cold_runs, asked.seconds)
    with made(asked.folder, nbytes) as path:
        files(figures, path, nbytes)
    if asked.save or asked.json:
        versions = {"penstock": f"penstock {penstock.__version__}"}
        for name in ("kvikio", "zarr"):
            module = optional(name)
            if module is None:
                figures.missing[name] = "not installed"
            else:
                versions[name] = f"{name} {module.__version__}"
        gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        content = {"title": "Files and a GPU", "gpu": gpu, "gib": asked.gib, "versions": versions}
        content |= {"missing": figures.missing, "results": figures.rows}
        print(record.save("io", len(os.sched_getaffinity(0)), content, asked.json))


if __name__ == "__main__":
    main()
