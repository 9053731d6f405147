#!/usr/bin/env python3
"""GeoTIFFs beside GDAL, libtiff and xarray-spatial, on the same files in one run.

    bench/geotiff.py [--dir D] [--mib 2048] [--rounds 3] [--parts core,host,device,cog]
                     [--layouts uint16-lzw,float32-lzw,uint16-deflate,float32-deflate] [--save] [--out FILE]

core: 128 MiB on one core, timed by what the process uses of it; host: all of a file into host memory, all cores; device:
into the memory of the first GPU, where there is one; cog: a COG of the uint16 raster with deflate (and LZW, where
--layouts says so), predictor 2, tiles of 512 and average overviews, by penstock and by GDAL's COG driver from one file.
Files lie in the page cache; programs take turns, each after as much memory as it makes was freed; every result is
compared with the data.  Peers that do not import (rasterio: GDAL and LIBERTIFF; imagecodecs: libtiff; tifffile with it;
xarray-spatial with CuPy) are named with the reason.
--out is written after each measurement; --save writes bench/results/geotiff-*.json, of which bench/compare.py draws the
tables.  With 2 GiB it takes about 200 s on 16 cores.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import re
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import geotiff_data
import numpy as np
import record

import penstock

ABSENT: dict[str, str] = {}


def peer(name: str) -> Any:
    """The module; or None, and why it does not import in ABSENT."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        ABSENT[name.split(".")[0]] = f"{type(error).__name__}: {error}"
        return None


rasterio = peer("rasterio.shutil") and peer("rasterio")
imagecodecs, tifffile = peer("imagecodecs"), peer("tifffile")
xrspatial, cupy = peer("xrspatial.geotiff"), peer("cupy")
if rasterio:
    warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)

LAYOUTS = (("uint16", "lzw"), ("float32", "deflate"), ("uint16", "deflate"))  # the last takes longest: it becomes a COG
CORE_LAYOUTS = (("uint16", "lzw"), ("float32", "lzw"), ("uint16", "deflate"), ("float32", "deflate"))
COG_LAYOUTS = (("uint16", "deflate"),)
PARTS = ("core", "host", "device", "cog")
CORES = len(os.sched_getaffinity(0))
Program = Callable[[], Any]


class Run:
    """Rows of the result, and what each program is."""

    def __init__(self, rounds: int, mib: int, out: Path | None) -> None:
        self.rounds, self.mib, self.out = rounds, mib, out
        self.start = time.perf_counter()
        self.rows: list[dict] = []
        self.versions: dict[str, str] = {}
        self.missing = dict(ABSENT)
        self.gpu = next((d.description for d in penstock.devices() if d.name.startswith("cuda")), None)

    def say(self, text: str) -> None:
        print(f"{time.perf_counter() - self.start:6.1f} s  {text}", flush=True)

    def content(self) -> dict:
        made = {
            "encoder": geotiff_data.encoder(),
            "title": f"GeoTIFF, rasters of {self.mib} MiB in tiles of 256 x 256",
            "results": self.rows,
            "versions": self.versions,
            "missing": self.missing,
        }
        return made | ({"gpu": self.gpu} if self.gpu else {})

    def take_turns(
        self, what: str, layout: str, programs: dict[str, Program], check: Callable[[Any], bool], size: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:  # fmt: skip
        seconds: dict[str, list[float]] = {name: [] for name in programs}
        for turn in range(self.rounds + 1):  # the first one warms up, and is looked at
            for name, program in list(programs.items()):
                gc.collect()
                np.ones(size, np.uint8)  # and freed: who comes after a program of small pages would wait for the host's
                start = clock()
                try:
                    made = program()
                except Exception as error:  # a peer that cannot is no reason to stop
                    if name == "penstock":
                        raise
                    self.missing[name] = re.sub(r"'/\S+'", "the file", f"{type(error).__name__}: {error}")[:200]
                    self.say(f"{name} failed: {self.missing[name]}")
                    del programs[name], seconds[name]
                    continue
                spent = clock() - start
                if turn == 0 and not check(made):
                    raise SystemExit(f"{what}, {layout}, {name}: other elements")
                if turn > 0:
                    seconds[name].append(spent)
                del made
        for name, times in seconds.items():
            if times:
                self.rows.append({"what": what, "layout": layout, "program": name, "bytes": size, "seconds": times})
        text = "  ".join(f"{n} {size / statistics.median(s) / 1e9:.3f}" for n, s in seconds.items() if s)
        self.say(f"{what}, {layout}: {text} GB/s")
        if self.out:
            record.save("geotiff", CORES, self.content(), self.out)


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


def gdal(path: Path, threads: int, drivers: tuple[str, ...] = ("GDAL",)) -> dict[str, Program]:
    """By its driver GTiff, and by LIBERTIFF."""
    if not rasterio:
        return {}

    def read(options: dict) -> Any:
        with rasterio.open(path, num_threads=threads, **options) as file:
            return file.read(1)

    return {name: lambda o={"driver": name} if name != "GDAL" else {}: read(o) for name in drivers}


def by_tifffile(path: Path, threads: int) -> dict[str, Program]:
    if not (tifffile and imagecodecs):
        return {}

    def read() -> Any:
        with tifffile.TiffFile(path) as file:
            return file.pages[0].asarray(maxworkers=threads)

    return {"tifffile": read}


def core(run: Run, folder: Path, layouts: Sequence[tuple[str, str]]) -> None:
    for dtype, codec in layouts:
        path = folder / f"{dtype}-{codec}-core.tif"
        size = geotiff_data.write(path, dtype, codec, (2, 2) if dtype == "uint16" else (1, 2))
        content = path.read_bytes()
        programs: dict[str, Program] = {"penstock": lambda path=path: penstock.open(path).read(threads=1)}
        if imagecodecs:
            programs["libtiff"] = lambda content=content: imagecodecs.tiff_decode(content)
        programs |= gdal(path, 1) | by_tifffile(path, 1)
        check = same(geotiff_data.raster(dtype))
        run.take_turns("one core", f"{dtype} {codec}", programs, check, size, time.process_time)
        path.unlink()


def host(run: Run, path: Path, layout: str, check: Callable[[Any], bool], size: int) -> None:
    programs: dict[str, Program] = {
        "penstock": lambda: penstock.open(path).read(),
        **gdal(path, CORES, ("GDAL", "LIBERTIFF")),
        **by_tifffile(path, CORES),
    }
    run.take_turns("all cores", layout, programs, check, size)


def device(run: Run, path: Path, layout: str, check: Callable[[Any], bool], size: int) -> None:
    if not run.gpu:
        run.missing["device"] = penstock.cuda_unavailable_reason()
        return
    reports: list[Any] = []

    def ours() -> Any:
        raster = penstock.open(path)
        made = raster.read(device="cuda:0")
        reports[:] = [raster.last_report]
        return made

    def theirs() -> Any:
        read = xrspatial.open_geotiff(str(path), gpu=True, on_gpu_failure="strict", max_pixels=2 * 10**9)
        cupy.cuda.Device().synchronize()
        return read.data

    programs: dict[str, Program] = {"penstock": ours}
    if xrspatial and cupy:
        run.versions["xarray-spatial"] = f"xarray-spatial {version('xarray-spatial')}"
        programs["xarray-spatial"] = theirs

    def to_host(made: Any) -> bool:
        return check(made.get() if hasattr(made, "get") else made.numpy() if hasattr(made, "numpy") else made)

    run.take_turns("page cache to the device", layout, programs, to_host, size)
    run.say(str(reports[0]))


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
        raster = penstock.open(made)
        assert len(raster.levels) > 1 and raster.chunks[-2:] == (512, 512), made
        return check(raster[0])

    programs: dict[str, Program] = {"penstock": write_ours}
    if rasterio:
        programs["GDAL"] = write_theirs
    run.take_turns("COG", f"uint16 {codec}", programs, check_file, size)
    sizes = {name: file.stat().st_size for name, file in (("penstock", ours), ("GDAL", theirs)) if file.exists()}
    run.say(f"COG, uint16 {codec}: bytes {sizes}")


def name_peers(run: Run) -> None:
    """Versions of those that are there, and why the others are not."""
    run.versions["penstock"] = f"penstock {penstock.__version__}"
    if rasterio:
        run.versions["GDAL"] = f"GDAL {rasterio.__gdal_version__} (rasterio {rasterio.__version__})"
        run.versions["LIBERTIFF"] = "its driver LIBERTIFF"
    if imagecodecs:
        library = imagecodecs.tiff_version().split()[-1]
        run.versions["libtiff"] = f"libtiff {library} (imagecodecs {imagecodecs.__version__})"
        if tifffile:
            run.versions["tifffile"] = f"tifffile {tifffile.__version__}"
    run.say(f"tiles encoded by {geotiff_data.encoder()}; {', '.join(run.versions.values())}")
    for name, reason in ABSENT.items():
        run.say(f"{name} is not here: {reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", help="where the files are made; default a temporary folder")
    parser.add_argument("--mib", type=int, default=2048, help="of the uint16 raster; the other has as much")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--layouts", help="for all parts; default these in core, and all but float32-lzw in the others")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--out", help="write the result there, too")
    args = parser.parse_args()
    parts = args.parts.split(",")
    chosen = [tuple(name.split("-")) for name in args.layouts.split(",")] if args.layouts else None
    for given, known, what in ((parts, PARTS, "parts"), (chosen or [], CORE_LAYOUTS, "layouts")):
        if unknown := [g for g in given if g not in known]:
            parser.error(f"--{what}: {unknown} not among {known}")
    run = Run(args.rounds, args.mib, Path(args.out) if args.out else None)
    name_peers(run)
    with tempfile.TemporaryDirectory(dir=args.dir) as name:
        folder = Path(name)
        if "core" in parts:
            core(run, folder, chosen or CORE_LAYOUTS)
        for dtype, codec in (chosen or LAYOUTS) if set(parts) - {"core"} else ():
            item = np.dtype(dtype).itemsize
            copies = max(1, round(args.mib * 2**20 / (geotiff_data.BASE**2 * item)))
            down = max(d for d in range(1, int(copies**0.5) + 1) if copies % d == 0)
            path = folder / "x.tif"
            size = geotiff_data.write(path, dtype, codec, (down, copies // down))
            run.say(f"made {size} bytes of {dtype} as {path.stat().st_size} of {codec}")
            check = same(geotiff_data.raster(dtype))
            layout = f"{dtype} {codec}, predictor {3 if dtype == 'float32' else 2}"
            if "host" in parts:
                host(run, path, layout, check, size)
            if "device" in parts:
                device(run, path, layout, check, size)
            if "cog" in parts and (dtype, codec) in (chosen or COG_LAYOUTS) and dtype == "uint16":
                cog(run, folder, path, codec, check, size)
            path.unlink()
    if args.save:
        run.say(str(record.save("geotiff", CORES, run.content())))


if __name__ == "__main__":
    main()
