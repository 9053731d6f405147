#!/usr/bin/env python3
"""GeoTIFFs beside GDAL, libtiff and xarray-spatial, on the same files in one run.

    bench/geotiff.py [--dir D] [--mib 2048] [--rounds 3] [--parts core,host,device,cog] [--save]

core: 128 MiB on one core; host: all of a file into host memory, all cores; device: into the memory of the first GPU, where
there is one; cog: a COG of the uint16 raster with deflate or LZW, predictor 2, tiles of 512 and average overviews, written
by penstock and by GDAL's COG driver from the same file.
Files lie in the page cache; programs take turns; every result is compared with the data.  --save writes
bench/results/geotiff-*.json, of which bench/compare.py draws the tables.  With 2 GiB it takes about 100 s on 16 cores.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import re
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import geotiff_data
import imagecodecs
import numpy as np
import rasterio
import rasterio.shutil
import record

import penstock

warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)

LAYOUTS = (("uint16", "lzw"), ("uint16", "deflate"), ("float32", "deflate"))
CORE_LAYOUTS = (("uint16", "lzw"), ("float32", "lzw"), ("uint16", "deflate"), ("float32", "deflate"))
CORES = len(os.sched_getaffinity(0))
Program = Callable[[], Any]


class Run:
    """Rows of the result, and what each program is."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.rows: list[dict] = []
        self.versions: dict[str, str] = {}
        self.missing: dict[str, str] = {}

    def take_turns(
        self, what: str, layout: str, programs: dict[str, Program], check: Callable[[Any], bool], size: int
    ) -> None:
        seconds: dict[str, list[float]] = {name: [] for name in programs}
        for turn in range(self.rounds + 1):  # the first one warms up, and is looked at
            for name, program in list(programs.items()):
                gc.collect()
                start = time.perf_counter()
                try:
                    made = program()
                except Exception as error:  # a peer that cannot is no reason to stop
                    if name == "penstock":
                        raise
                    self.missing[name] = re.sub(r"'/\S+'", "the file", f"{type(error).__name__}: {error}")[:200]
                    del programs[name], seconds[name]
                    continue
                spent = time.perf_counter() - start
                if turn == 0 and not check(made):
                    raise SystemExit(f"{what}, {layout}, {name}: other elements")
                if turn > 0:
                    seconds[name].append(spent)
                del made
        for name, times in seconds.items():
            if times:
                self.rows.append({"what": what, "layout": layout, "program": name, "bytes": size, "seconds": times})
        text = "  ".join(f"{n} {size / statistics.median(s) / 1e9:.3f}" for n, s in seconds.items() if s)
        print(f"{what}, {layout}: {text} GB/s", flush=True)


def same(base: np.ndarray) -> Callable[[Any], bool]:
    """Whether it is the base raster again and again."""

    def check(made: Any) -> bool:
        image = np.asarray(made).reshape(np.shape(made)[-2:])
        n = geotiff_data.BASE
        return all(
            np.array_equal(image[y : y + n, x : x + n], base[: image.shape[0] - y, : image.shape[1] - x])
            for y in range(0, image.shape[0], n)
            for x in range(0, image.shape[1], n)
        )

    return check


def gdal(path: Path, threads: int, **options: Any) -> Program:
    def read() -> Any:
        with rasterio.open(path, num_threads=threads, **options) as file:
            return file.read(1)

    return read


def core(run: Run, folder: Path) -> None:
    for dtype, codec in CORE_LAYOUTS:
        path = folder / f"{dtype}-{codec}-core.tif"
        size = geotiff_data.write(path, dtype, codec, (2, 2) if dtype == "uint16" else (1, 2))
        content = path.read_bytes()
        programs: dict[str, Program] = {
            "penstock": lambda path=path: penstock.open(path).read(threads=1),
            "libtiff": lambda content=content: imagecodecs.tiff_decode(content),
            "GDAL": gdal(path, 1),
        }
        run.take_turns("one core", f"{dtype} {codec}", programs, same(geotiff_data.raster(dtype)), size)
        path.unlink()


def host(run: Run, path: Path, layout: str, check: Callable[[Any], bool], size: int) -> None:
    programs: dict[str, Program] = {
        "penstock": lambda: penstock.open(path).read(),
        "GDAL": gdal(path, CORES),
        "LIBERTIFF": gdal(path, CORES, driver="LIBERTIFF"),
    }
    run.take_turns("all cores", layout, programs, check, size)


def device(run: Run, path: Path, layout: str, check: Callable[[Any], bool], size: int) -> None:
    if not any(d.name.startswith("cuda") for d in penstock.devices()):
        run.missing["device"] = penstock.cuda_unavailable_reason()
        return
    programs: dict[str, Program] = {"penstock": lambda: penstock.open(path).read(device="cuda:0")}
    with contextlib.suppress(ImportError):
        import cupy
        from xrspatial.geotiff import open_geotiff

        run.versions["xarray-spatial"] = f"xarray-spatial {version('xarray-spatial')}"

        def theirs() -> Any:
            read = open_geotiff(str(path), gpu=True, on_gpu_failure="strict", max_pixels=2 * 10**9)
            cupy.cuda.Device().synchronize()
            return read.data

        programs["xarray-spatial"] = theirs

    def to_host(made: Any) -> bool:
        return check(made.get() if hasattr(made, "get") else made.numpy() if hasattr(made, "numpy") else made)

    run.take_turns("page cache to the device", layout, programs, to_host, size)


def cog(run: Run, folder: Path, path: Path, codec: str, check: Callable[[Any], bool], size: int) -> None:
    ours, theirs = folder / "ours.tif", folder / "theirs.tif"
    options = {
        "compress": codec.upper(), "predictor": "YES", "blocksize": 512, "overview_resampling": "AVERAGE",
        "num_threads": CORES, "bigtiff": "IF_SAFER",
    }  # fmt: skip

    def write_theirs() -> Path:
        rasterio.shutil.copy(path, theirs, driver="COG", **options)
        return theirs

    def write_ours() -> Path:
        penstock.write_cog(penstock.open(path), ours, codec=codec, predictor=2, block=512, overwrite=True)
        return ours

    def check_file(made: Path) -> bool:
        with rasterio.open(made) as file:
            assert len(file.overviews(1)) >= 1 and file.block_shapes[0] == (512, 512), made
        return check(penstock.open(made)[0])

    run.take_turns("COG", f"uint16 {codec}", {"penstock": write_ours, "GDAL": write_theirs}, check_file, size)
    sizes = {name: file.stat().st_size for name, file in (("penstock", ours), ("GDAL", theirs)) if file.exists()}
    print(f"COG, uint16 {codec}: bytes {sizes}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", help="where the files are made; default a temporary folder")
    parser.add_argument("--mib", type=int, default=2048, help="of the uint16 raster; the other has as much")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", default="core,host,device,cog")
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    parts = args.parts.split(",")
    run = Run(args.rounds)
    run.versions |= {
        "penstock": f"penstock {penstock.__version__}",
        "GDAL": f"GDAL {rasterio.__gdal_version__} (rasterio {rasterio.__version__})",
        "LIBERTIFF": "its driver LIBERTIFF",
        "libtiff": f"libtiff {imagecodecs.tiff_version().split()[-1]} (imagecodecs {imagecodecs.__version__})",
    }
    with tempfile.TemporaryDirectory(dir=args.dir) as name:
        folder = Path(name)
        if "core" in parts:
            core(run, folder)
        for dtype, codec in LAYOUTS:
            item = np.dtype(dtype).itemsize
            copies = max(1, round(args.mib * 2**20 / (geotiff_data.BASE**2 * item)))
            down = max(d for d in range(1, int(copies**0.5) + 1) if copies % d == 0)
            path = folder / "x.tif"
            size = geotiff_data.write(path, dtype, codec, (down, copies // down))
            check = same(geotiff_data.raster(dtype))
            layout = f"{dtype} {codec}, predictor {3 if dtype == 'float32' else 2}"
            if "host" in parts:
                host(run, path, layout, check, size)
            if "device" in parts:
                device(run, path, layout, check, size)
            if "cog" in parts and dtype == "uint16":
                cog(run, folder, path, codec, check, size)
            path.unlink()
    content: dict = {"title": f"GeoTIFF, rasters of {args.mib} MiB in tiles of 256 x 256", "results": run.rows}
    content |= {"versions": run.versions, "missing": run.missing}
    gpus = [d.description for d in penstock.devices() if d.name.startswith("cuda")]
    if gpus and "device" in parts:
        content["gpu"] = gpus[0]
    if args.save:
        print(record.save("geotiff", CORES, content))


if __name__ == "__main__":
    main()
