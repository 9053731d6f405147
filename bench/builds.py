#!/usr/bin/env python3
"""Two builds of penstock side by side on one GPU: from the page cache to device memory, and the first read of a process.

    bench/builds.py --build now=SITE --build before=SITE [--dir D] [--repeats R] [--planes Z] [--layouts raw,zstd]

SITE is the folder that a wheel was installed to (pip install --target SITE).  Each build runs in a process of its own;
repeats are interleaved, every result is compared on the device.  Needs CuPy, which compares.  Rates are of the median.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import layouts
import numpy as np
import record

CHUNK_256 = (256, 256, 256)
# name -> (data, chunk shape, codecs)
LAYOUTS = {
    "raw": ("image", layouts.CHUNK, [layouts.BYTES]),
    "zstd": ("image", layouts.CHUNK, [layouts.BYTES, layouts.ZSTD]),
    "blosc-lz4": ("image", layouts.CHUNK, [layouts.BYTES, layouts.BLOSC]),
    "zstd, 256^3": ("image", CHUNK_256, [layouts.BYTES, layouts.ZSTD]),
    "labels, zstd": ("labels", layouts.CHUNK, [layouts.BYTES, layouts.ZSTD]),
    "labels, blosc-lz4": (
        "labels",
        layouts.CHUNK,
        [layouts.BYTES, layouts.BLOSC | {"configuration": {**layouts.BLOSC["configuration"], "typesize": 4}}],
    ),
}


def image(folder: Path, shape: tuple[int, int, int]) -> np.ndarray:
    """The first planes of the other benchmarks' volume, eight times: chunks are compressed one by one."""
    return np.concatenate([layouts.reference(folder, (shape[0] // 8, *shape[1:]))] * 8)


def labels(shape: tuple[int, int, int]) -> np.ndarray:
    """A segmentation: ellipsoids painted over each other on background 0.  Compresses by about 20."""
    rng = np.random.default_rng(layouts.SEED)
    part = np.zeros((shape[0] // 8, *shape[1:]), np.uint32)
    for label in range(1, part.size // 1_500):
        radii = rng.integers(3, 10, 3)
        centre = rng.integers(0, part.shape)
        low, high = np.maximum(centre - radii, 0), np.minimum(centre + radii + 1, part.shape)
        axes = [((np.arange(a, b) - c) / r) ** 2 for a, b, c, r in zip(low, high, centre, radii, strict=True)]
        inside = axes[0][:, None, None] + axes[1][None, :, None] + axes[2][None, None, :] <= 1
        part[tuple(slice(a, b) for a, b in zip(low, high, strict=True))][inside] = 1 + 7 * label
    return np.concatenate([part] * 8)


def write(path: Path, volume: np.ndarray, layout: str) -> int:
    """The array at `path` in this layout, and the bytes it takes."""
    import penstock

    _, chunk, codecs = LAYOUTS[layout]
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(volume.shape),
        "data_type": str(volume.dtype),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": codecs,
        "fill_value": 0,
        "attributes": {},
    }
    path.mkdir(parents=True)
    (path / "zarr.json").write_text(json.dumps(metadata))
    array = penstock.open(str(path), mode="r+")
    array[...] = volume
    return layouts.warm(path)


def serve() -> int:
    """A build's process: a line asks for a read, a line answers with its seconds."""
    import cupy

    import penstock

    wanted: dict[str, cupy.ndarray] = {}
    for line in sys.stdin:
        request = json.loads(line)
        kind, path = request["data"], request["path"]
        if kind not in wanted:
            wanted.clear()
            wanted[kind] = cupy.asarray(np.load(request["reference"]))
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.cuda.Device().synchronize()
        started = time.perf_counter()
        out = penstock.open(path).read(device="cuda:0")
        cupy.cuda.Device().synchronize()
        seconds = time.perf_counter() - started
        right = bool((cupy.from_dlpack(out) == wanted[kind]).all())
        del out
        print(json.dumps({"seconds": round(seconds, 6)} if right else {"error": "wrong data"}), flush=True)
    return 0


FIRST_READ = """
import sys, time
import penstock
started = time.perf_counter()
penstock.open(sys.argv[1]).read((slice(0, 128),) * 3, device="cuda:0")
print(time.perf_counter() - started)
"""


class Build:
    """A build and its process."""

    def __init__(self, name: str, site: str):
        self.name = name
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join([site, os.environ.get("PYTHONPATH", "")])}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def read(self, **request) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}

    def first_read(self, path: Path) -> float:
        """Seconds of the first read of a new process: one chunk to the device, its CUDA context included."""
        run = [sys.executable, "-c", FIRST_READ, str(path)]
        return float(subprocess.run(run, env=self.environment, capture_output=True, text=True, check=True).stdout)


def row(what: str, layout: str, build: Build, nbytes: int) -> dict:
    return {"what": what, "layout": layout, "program": build.name, "bytes": nbytes, "seconds": []}


def read_rows(args, builds: list[Build], layout: str, volume: np.ndarray, reference: Path) -> list[dict]:
    path = args.dir / "builds.zarr"
    shutil.rmtree(path, ignore_errors=True)
    stored = write(path, volume, layout)
    rows = [row("to the device", layout, build, volume.nbytes) for build in builds]
    for turn in range(args.repeats + 1):
        for build, into in zip(builds, rows, strict=True):
            reply = build.read(data=LAYOUTS[layout][0], path=str(path), reference=str(reference))
            if "error" in reply:
                into["error"] = reply["error"]
            elif turn:
                into["seconds"].append(reply["seconds"])
    for into in rows:
        into["stored_bytes"] = stored
        if into["seconds"]:
            gb_per_s = into["bytes"] / statistics.median(into["seconds"]) / 1e9
            print(f"  {layout:14s} {into['program']:8s} {gb_per_s:7.2f} GB/s", flush=True)
        else:
            print(f"  {layout:14s} {into['program']:8s} {into.get('error')}", flush=True)
    if layout == "zstd":
        rows += first_rows(args, builds, path)
    return rows


def first_rows(args, builds: list[Build], path: Path) -> list[dict]:
    rows = [row("first read of a process", "one chunk", build, 2 * int(np.prod(layouts.CHUNK))) for build in builds]
    for _ in range(args.repeats):
        for build, into in zip(builds, rows, strict=True):
            into["seconds"].append(round(build.first_read(path), 6))
    for into in rows:
        print(f"  first read     {into['program']:8s} {statistics.median(into['seconds']):7.3f} s", flush=True)
    return rows


def main() -> int:
    if "--serve" in sys.argv:
        return serve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", required=True, help="NAME=SITE")
    parser.add_argument("--dir", type=Path, default=Path("build/bench-data"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--planes", type=int, default=2048)
    parser.add_argument("--layouts", type=lambda text: text.split(";"), default=list(LAYOUTS))
    args = parser.parse_args()
    args.dir = args.dir.resolve()
    args.dir.mkdir(parents=True, exist_ok=True)
    builds = [Build(*text.split("=", 1)) for text in args.build]
    sys.path.insert(0, args.build[0].split("=", 1)[1])  # the first build writes the data
    results = []
    for kind in ("image", "labels"):
        asked = [layout for layout in args.layouts if LAYOUTS[layout][0] == kind]
        if not asked:
            continue
        # Labels are twice as wide: half the planes, the same bytes.
        shape = (args.planes // (2 if kind == "labels" else 1), 1024, 1024)
        volume = image(args.dir, shape) if kind == "image" else labels(shape)
        reference = args.dir / f"builds-{kind}.npy"
        np.save(reference, volume)
        for layout in asked:
            results += read_rows(args, builds, layout, volume, reference)
    import cupy

    content = {
        "title": "Two builds: page cache to device memory",
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "versions": {build.name: build.name for build in builds},
        "results": results,
    }
    print(record.save("builds", len(os.sched_getaffinity(0)), content))
    return int(any("error" in r for r in results))


if __name__ == "__main__":
    sys.exit(main())
