#!/usr/bin/env python3
"""From the page cache to device memory: penstock, zarr-python with GPU buffers, tensorstore, and the bus alone.

    bench/gpu.py [--dir D] [--repeats R] [--planes Z] [--layouts raw,zstd] [--programs penstock,bus] [--ceiling PROGRAM]

`--ceiling build/release/bench/penstock_ceiling` adds what the codec's library makes on all cores without any upload,
which bounds what can be had with PENSTOCK_DECODE=cpu.
Needs a CUDA device, CuPy and the peers.  The default volume is 2048 x 1024 x 1024 uint16 (4.3 GB) in chunks of 128^3.
Repeats are interleaved; each ends when the device is synchronised; every result is compared on the device.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import cupy
import layouts
import numpy as np
import record


def penstock_reader():
    import penstock

    def read(path: str):
        return cupy.from_dlpack(penstock.open(path).read(device="cuda:0"))

    return read, f"penstock {penstock.__version__}"


def zarr_reader(pipeline: str):
    import zarr

    settings = {"async.concurrency": 64, "threading.max_workers": os.cpu_count()}
    if pipeline == "FusedCodecPipeline":
        from zarr.core.codec_pipeline import FusedCodecPipeline  # noqa: F401  zarr 3.4 and later

        settings["codec_pipeline.path"] = "zarr.core.codec_pipeline.FusedCodecPipeline"
    elif pipeline == "penstock":
        import penstock.zarr  # noqa: F401  registers it

        settings |= {"codec_pipeline.path": "penstock.zarr.CodecPipeline", "codec_pipeline.strict": True}

    def read(path: str):
        with zarr.config.enable_gpu(), zarr.config.set(settings):
            return zarr.open_array(path, mode="r")[...]

    return read, f"zarr-python {zarr.__version__}, GPU buffers" + (f", {pipeline}" if pipeline else "")


def tensorstore_reader(pinned: np.ndarray):
    import tensorstore

    def read(path: str):
        source = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}, read=True).result()
        tensorstore.array(pinned, copy=False, write=True).write(source).result()
        out = cupy.empty(pinned.shape, pinned.dtype)
        out.set(pinned)
        return out

    return read, f"tensorstore {version('tensorstore')} into pinned memory, then one copy"


def bus_reader(pinned: np.ndarray):
    def read(_: str):
        out = cupy.empty(pinned.shape, pinned.dtype)
        out.set(pinned)
        return out

    return read, "one copy from pinned memory"


def one_core_reader(pinned: np.ndarray):
    from numcodecs.zstd import Zstd

    codec = Zstd()

    def read(path: str):
        codec.decode((Path(path) / "c/0/0/0").read_bytes(), out=pinned)
        out = cupy.empty(pinned.shape, pinned.dtype)
        out.set(pinned)
        return out

    return read, f"one core: numcodecs {version('numcodecs')} into pinned memory, then one copy"


def contenders(pinned: np.ndarray) -> dict:
    return {
        "penstock": penstock_reader,
        "zarr-python": lambda: zarr_reader(""),
        "zarr-python-fused": lambda: zarr_reader("FusedCodecPipeline"),
        "zarr-python-penstock": lambda: zarr_reader("penstock"),
        "tensorstore": lambda: tensorstore_reader(pinned),
        "bus": lambda: bus_reader(pinned),
    }


def available(makers: dict, versions: dict, missing: dict) -> dict:
    """The readers that can be made; what the others miss goes into `missing`."""
    readers = {}
    for name, maker in makers.items():
        try:
            readers[name], versions[name] = maker()
        except (ImportError, AttributeError) as error:
            missing[name] = str(error)
    return readers


CEILINGS = {
    "ceiling": ("reused", "files read and decoded on all cores by the codec's library, into memory used again"),
    "ceiling-decode": ("decode", "the same of files that were read before"),
}


def ceiling_seconds(program: str, layout: str, memory: str, path: str) -> float:
    """One run of bench/ceiling.cpp."""
    command = [program, path, layout, str(len(os.sched_getaffinity(0))), memory]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["seconds"]


def timed(read, want: cupy.ndarray, path: str) -> float:
    """Seconds until the device is done; raises when the bytes differ."""
    device = cupy.cuda.Device()
    cupy.get_default_memory_pool().free_all_blocks()
    device.synchronize()
    start = time.perf_counter()
    out = read(path)
    device.synchronize()
    seconds = time.perf_counter() - start
    if not bool((cupy.asarray(out).reshape(-1) == want.reshape(-1)).all()):
        raise ValueError("wrong data")
    return seconds


def clocks_of(readers: dict, want: cupy.ndarray) -> dict:
    return {name: functools.partial(timed, read, want) for name, read in readers.items()}


def measure(what: str, layout: str, path: Path, nbytes: int, clocks: dict, repeats: int, before) -> list[dict]:
    """Rows of interleaved repeats after one warm-up.

    `clocks`: of a program, what takes the path and gives seconds; `before(name)` is called before, outside the time.
    """
    rows = {name: {"what": what, "layout": layout, "program": name, "seconds": []} for name in clocks}
    for turn in range(repeats + 1):
        for name, clock in clocks.items():
            row = rows[name]
            if "error" in row:
                continue
            try:
                before(name)
                seconds = clock(str(path))
            except Exception as error:  # a peer that fails is a row, not the end
                row["error"] = f"{type(error).__name__}: {error}"
                print(f"  {name} {layout}: {row['error']}", file=sys.stderr)
                continue
            if turn:
                row["seconds"].append(round(seconds, 6))
                row["bytes"] = nbytes
    for row in rows.values():
        if row["seconds"]:
            median = statistics.median(row["seconds"])
            print(f"  {layout:6s} {row['program']:20s} {row['bytes'] / median / 1e9:7.3f} GB/s", flush=True)
    return list(rows.values())


def one_frame(args, versions: dict, missing: dict) -> list[dict]:
    """A single chunk of 1 MiB: what is lost where there is little to decode."""
    shape = layouts.FRAME
    path = layouts.make(args.dir, "frame", shape)
    layouts.warm(path)
    want = cupy.asarray(np.asarray(layouts.reference(args.dir, shape)))
    memory = cupy.cuda.alloc_pinned_memory(want.nbytes)
    pinned = np.frombuffer(memory, np.uint16, want.size).reshape(shape)
    makers = {"penstock": penstock_reader, "one-core": lambda: one_core_reader(pinned)}
    clocks = clocks_of(available(makers, versions, missing), want)
    return measure(
        "one frame to the device", "zstd, 1 MiB", path, want.nbytes, clocks, 10 * args.repeats, lambda _: None
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, default=Path("build/bench-data"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--planes", type=int, default=2048)
    parser.add_argument("--layouts", type=lambda text: text.split(","), default=["raw", "zstd"])
    parser.add_argument("--programs", type=lambda text: text.split(","), default=[])
    parser.add_argument("--ceiling", default="")
    args = parser.parse_args()
    args.dir = args.dir.resolve()
    shape = (args.planes, 1024, 1024)
    volume = layouts.reference(args.dir, shape)
    memory = cupy.cuda.alloc_pinned_memory(volume.nbytes)
    pinned = np.frombuffer(memory, np.uint16, volume.size).reshape(shape)
    pinned[...] = volume
    want = cupy.asarray(pinned)
    makers = contenders(pinned)
    left_out = [name for name in makers if args.programs and name not in args.programs]
    versions: dict[str, str] = {}
    missing = dict.fromkeys(left_out, "not asked for")
    readers = available({name: makers[name] for name in makers if name not in left_out}, versions, missing)

    def prepare(name: str) -> None:
        if name in ("tensorstore", "bus"):  # they go through it
            pinned[...] = 0 if name == "tensorstore" else volume

    if args.ceiling:
        versions |= {name: text for name, (_, text) in CEILINGS.items()}
    results = []
    for layout in args.layouts:
        path = layouts.make(args.dir, layout, shape)
        layouts.warm(path)
        clocks = clocks_of(readers, want)
        if args.ceiling:
            for name, (memory_kind, _) in CEILINGS.items():
                clocks[name] = functools.partial(ceiling_seconds, args.ceiling, layout, memory_kind)
        results += measure("to the device", layout, path, want.nbytes, clocks, args.repeats, prepare)
    results += one_frame(args, versions, missing)
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    content = {
        "title": "Page cache to device memory",
        "gpu": properties["name"].decode(),
        "shape": shape,
        "dtype": "uint16",
        "versions": versions,
        "missing": missing,
        "results": results,
    }
    print(record.save("gpu", len(os.sched_getaffinity(0)), content))
    return int(any("error" in row for row in results))


if __name__ == "__main__":
    sys.exit(main())
