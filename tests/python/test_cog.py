"""Cloud Optimized GeoTIFFs that penstock writes, as rasterio (GDAL), tifffile and rio-cogeo see them."""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import hypothesis
import numpy as np
import pytest
import rasterio
import rioxarray  # noqa: F401  (gives xarray's arrays .rio)
import tifffile
import xarray as xr
import zarr
from rasterio.control import GroundControlPoint
from rasterio.transform import from_origin
from rio_cogeo.cogeo import cog_validate

import penstock

warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)

TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16")
PLACE: dict[str, Any] = {"crs": 32633, "transform": (10.0, 0.0, 500000.0, 0.0, -20.0, 5000000.0)}


def values(bands: int, height: int, width: int, dtype: str = "u2") -> np.ndarray:
    walk = np.random.default_rng(bands).normal(0, 3, (bands, height, width)).cumsum(-1) + 90
    return (np.abs(walk).clip(0, 120) if dtype[0] in "ui" else walk).astype(dtype)


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", *map(str, words)], check=False, capture_output=True, text=True
    )


def check_cog(path: pathlib.Path) -> None:
    valid, errors, notes = cog_validate(path, strict=True, quiet=True)
    assert valid, (errors, notes)
    done = command("cog", "validate", "--tiles", path)
    assert done.returncode == 0, done.stdout + done.stderr
    gdal = [
        "/usr/bin/python3",  # the system's, which has GDAL's module
        "-m",
        "osgeo_utils.samples.validate_cloud_optimized_geotiff",
        "--full-check=yes",
        str(path),
    ]
    done = subprocess.run(gdal, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("codec", ["none", "lzw", "deflate", "zstd"])
def test_others_read_what_is_written(codec: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    for dtype, bands in itertools.product(TYPES, (1, 3)):
        data = values(bands, 100, 150, dtype)
        predictors = [None] if codec == "none" else [None, 1] + ([2] if dtype[0] != "c" else [])
        for predictor in predictors:
            made = penstock.write_cog(
                data, path, codec=codec, predictor=predictor, block=64, method="nearest", overwrite=True, **PLACE
            )
            np.testing.assert_array_equal(made[...], data, str((dtype, bands, predictor)))
            assert len(made.levels) == 3
            with tifffile.TiffFile(path) as tiff:
                there = tiff.pages[0].asarray()
                np.testing.assert_array_equal(there.reshape(100, 150, bands).transpose(2, 0, 1), data)
            if dtype == "f2":  # newer than this GDAL
                continue
            with rasterio.open(path) as file:
                np.testing.assert_array_equal(file.read(), data, str((dtype, bands, predictor)))
                assert file.overviews(1) == [2, 4]
    check_cog(path)


@pytest.mark.parametrize("bands,masked,big", itertools.product((1, 4), (False, True), (False, True)))
def test_it_is_a_cog(bands: int, masked: bool, big: bool, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    data = values(bands, 700, 1100)
    mask = None
    if masked:
        mask = np.full((700, 1100), 255, "u1")
        mask[100:400, 250:600] = 0
    penstock.write_cog(data, path, mask=mask, bigtiff=big or None, block=256, **PLACE)
    check_cog(path)
    with rasterio.open(path) as file:
        np.testing.assert_array_equal(file.read(), data)
        assert file.crs.to_epsg() == 32633
        assert tuple(file.transform)[:6] == PLACE["transform"]
        if masked:
            np.testing.assert_array_equal(file.dataset_mask(), mask)
    again = tmp_path / "again.tif"
    penstock.write_cog(data, again, mask=mask, bigtiff=big or None, block=256, threads=1, budget="64MiB", **PLACE)
    assert again.read_bytes() == path.read_bytes()
    with tifffile.TiffFile(path) as tiff:
        assert tiff.is_bigtiff == big


def halved(data: np.ndarray, join: Any, counts: np.ndarray) -> np.ndarray:
    """Each element by `join` of those of the block below it that count; 0 where none does."""
    height, width = (data.shape[0] + 1) // 2, (data.shape[1] + 1) // 2
    out = np.zeros((height, width), data.dtype)
    for y, x in itertools.product(range(height), range(width)):
        block = data[2 * y : 2 * y + 2, 2 * x : 2 * x + 2]
        kept = block[counts[2 * y : 2 * y + 2, 2 * x : 2 * x + 2]]
        out[y, x] = join(kept) if kept.size else 0
    return out


def average(v: np.ndarray) -> Any:
    mean = v.astype("f8").mean()
    return mean if v.dtype.kind == "f" else int(np.sign(mean) * np.floor(np.abs(mean) + 0.5))


def mode(v: np.ndarray) -> Any:
    kinds, first, times = np.unique(v, return_index=True, return_counts=True)
    return kinds[max(range(len(kinds)), key=lambda i: (times[i], -first[i]))]


@pytest.mark.parametrize("dtype", ["u1", "i2", "u8", "f4", "f8"])
@pytest.mark.parametrize("method", ["nearest", "average", "mode"])
@pytest.mark.parametrize("hidden", ["nothing", "nodata", "mask"])
def test_overviews(dtype: str, method: str, hidden: str, tmp_path: pathlib.Path) -> None:
    data = np.random.default_rng(7).integers(0 if dtype[0] == "u" else -9, 9, (75, 131)).astype(dtype)
    counts = np.ones(data.shape, bool)
    options: dict[str, Any] = {}
    if hidden == "nodata":
        options["nodata"] = 3
        data[30:32, 30:32] = [[2, 4], [4, 2]]  # whose average it is
        counts = data != 3
        data[8:16, 8:16] = 3
        counts[8:16, 8:16] = False
    if hidden == "mask":
        counts[5:40, 17:50] = False
        options["mask"] = counts
    made = penstock.write_cog(data, tmp_path / "x.tif", block=64, method=method, **options)
    join = {"nearest": lambda v: v.flat[0], "average": average, "mode": mode}[method]
    if hidden == "nodata" and method == "average":  # what counts is no nodata, also by chance
        join = lambda v: beside if (mean := average(v)) == 3 else mean  # noqa: E731
        beside = np.nextafter(data.dtype.type(3), data.dtype.type(9)) if dtype[0] == "f" else 4
    assert [level.shape for level in made.levels] == [(1, 75, 131), (1, 38, 66), (1, 19, 33)]
    for level in made.levels[1:]:
        shown = halved(counts.astype("u1"), np.max, np.ones(counts.shape, bool)).astype(bool)
        data = halved(data, join, counts)
        data[~shown] = options.get("nodata", 0)
        np.testing.assert_allclose(level[0], data, rtol=1e-6, atol=1e-9)
        data = level[0]
        if hidden == "nodata":
            np.testing.assert_array_equal(data != 3, shown)
        counts = shown
        if hidden == "mask":
            np.testing.assert_array_equal(level.mask[0], np.where(counts, 255, 0))


def test_nodata_of_nan(tmp_path: pathlib.Path) -> None:
    data = values(1, 80, 80, "f4")
    data[0, :3, :3] = np.nan
    made = penstock.write_cog(data, tmp_path / "x.tif", block=64, nodata=np.nan)
    assert np.isnan(made.nodata)
    assert np.isnan(made.levels[1][0, 0, 0]) and not np.isnan(made.levels[1][0, 1, 1])
    with rasterio.open(tmp_path / "x.tif") as file:
        assert np.isnan(file.nodata)


def test_what_is_known_goes_along(tmp_path: pathlib.Path) -> None:
    with rasterio.open(
        tmp_path / "x.tif", "w", driver="GTiff", height=90, width=70, count=2, dtype="int16", nodata=-5, crs="EPSG:4326",
        transform=from_origin(7, 50, 0.25, 0.5), compress="DEFLATE", blockysize=7,
    ) as file:  # fmt: skip
        file.write(values(2, 90, 70, "i2"))
        file.scales, file.offsets, file.units = (0.5, 2), (1, -3), ("m", "K")
        file.descriptions = ("a < b", "c & d")
        file.update_tags(NAME="a 'text'", AREA_OR_POINT="Point")
        file.update_tags(2, KIND="second")
    source = penstock.open(tmp_path / "x.tif")
    penstock.write_cog(source, tmp_path / "direct.tif", block=64)
    for version in (2, 3):
        penstock.copy(source, tmp_path / f"v{version}.zarr", zarr_format=version)
        penstock.write_cog(penstock.open(tmp_path / f"v{version}.zarr"), tmp_path / f"by_v{version}.tif", block=64)
    with rasterio.open(tmp_path / "x.tif") as want:
        for name in ("direct", "by_v2", "by_v3"):
            with rasterio.open(tmp_path / f"{name}.tif") as made:
                np.testing.assert_array_equal(made.read(), want.read())
                for member in ("crs", "transform", "nodata", "scales", "offsets", "units", "descriptions"):
                    assert getattr(made, member) == getattr(want, member), (name, member)
                assert {k: v for k, v in made.tags().items() if k != "OVR_RESAMPLING_ALG"} == want.tags(), name
                assert made.tags(2) == want.tags(2), name


@pytest.mark.parametrize("dtype,nodata", [("float32", -9999.0), ("float32", np.nan), ("int16", -9999), ("uint8", 0)])
@pytest.mark.parametrize("version", [2, 3])
def test_nodata_by_zarr_and_back(dtype: str, nodata: float, version: int, tmp_path: pathlib.Path) -> None:
    """As xarray sees the Zarr array, and in the overviews of the COG that is made of it."""
    data = values(3, 70, 90, dtype)
    data[data == nodata] += 1
    data[:, :4, :6] = nodata
    with rasterio.open(
        tmp_path / "x.tif", "w", driver="GTiff", height=70, width=90, count=3, dtype=dtype, nodata=nodata, interleave="PIXEL"
    ) as file:  # fmt: skip
        file.write(data)
    zarr.open_group(tmp_path / "g.zarr", mode="w", zarr_format=version)
    penstock.copy(penstock.open(tmp_path / "x.tif"), tmp_path / "g.zarr" / "x", zarr_format=version)
    copied = penstock.open(tmp_path / "g.zarr" / "x")
    np.testing.assert_equal(copied.nodata, nodata)
    raw = xr.open_dataset(tmp_path / "g.zarr", engine="zarr", consolidated=False, mask_and_scale=False).x
    np.testing.assert_equal(raw.rio.nodata, nodata)
    seen = xr.open_dataset(tmp_path / "g.zarr", engine="zarr", consolidated=False).x
    assert np.isnan(seen[:, :4, :6]).all() and np.isfinite(seen[:, 4:]).all()
    made = penstock.write_cog(copied, tmp_path / "y.tif", block=64)
    with rasterio.open(tmp_path / "y.tif") as file:
        np.testing.assert_equal(file.nodata, nodata)
    direct = penstock.write_cog(penstock.open(tmp_path / "x.tif"), tmp_path / "z.tif", block=64)
    np.testing.assert_array_equal(made.levels[1][...], direct.levels[1][...])
    np.testing.assert_array_equal(made.levels[1][:, :2, :3], np.full((3, 2, 3), nodata, dtype))


def test_a_fill_value_is_no_nodata(tmp_path: pathlib.Path) -> None:
    array = penstock.create(tmp_path / "x.zarr", shape=(70, 70), dtype="u1", fill_value=7)
    assert array.nodata is None
    assert penstock.write_cog(array, tmp_path / "x.tif", block=64).nodata is None


def test_control_points_and_parts_by_zarr(tmp_path: pathlib.Path) -> None:
    points = [GroundControlPoint(row=r, col=c, x=7 + c, y=50 - r, z=1) for r, c in ((0, 0), (0, 60), (50, 0), (50, 60))]
    with rasterio.open(
        tmp_path / "x.tif", "w", driver="GTiff", height=70, width=90, count=2, dtype="uint8", gcps=points, crs="EPSG:4326"
    ) as file:  # fmt: skip
        file.write(values(2, 70, 90, "u1"))
        file.set_band_description(2, "second")
    done = command("copy", tmp_path / "x.tif", tmp_path / "x.zarr", "--region", "1:,10:,20:")
    assert done.returncode == 0, done.stderr
    penstock.write_cog(penstock.open(tmp_path / "x.zarr"), tmp_path / "y.tif", block=64)
    with rasterio.open(tmp_path / "y.tif") as file:
        got, crs = file.gcps
        assert crs.to_epsg() == 4326 and file.descriptions == ("second",)
        assert [(p.row, p.col, p.x, p.y, p.z) for p in got] == [(p.row - 10, p.col - 20, p.x, p.y, p.z) for p in points]


def test_a_crs_that_has_no_code_is_not_lost_in_silence(tmp_path: pathlib.Path) -> None:
    crs = "+proj=laea +lat_0=12.5 +lon_0=7.25 +x_0=3 +y_0=5 +datum=WGS84 +units=m"
    with rasterio.open(
        tmp_path / "x.tif", "w", driver="GTiff", height=70, width=90, count=1, dtype="uint8", crs=crs,
        transform=from_origin(7, 9, 2, 3),
    ) as file:  # fmt: skip
        file.write(values(1, 70, 90, "u1"))
    done = command("cog", "create", tmp_path / "x.tif", tmp_path / "y.tif")
    assert done.returncode == 0 and done.stderr == "", "its keys are copied: tests/python/test_cog_kept.py"
    penstock.copy(penstock.open(tmp_path / "x.tif"), tmp_path / "x.zarr")
    attributes = dict(penstock.open(tmp_path / "x.zarr").attrs)
    del attributes["raster"]["crs"]["geo_keys"]  # as of an earlier version
    penstock.open(tmp_path / "x.zarr", mode="r+").set_attributes(attributes)
    done = command("cog", "create", tmp_path / "x.zarr", tmp_path / "z.tif")
    assert done.returncode == 0 and "no EPSG code" in done.stderr
    done = command("cog", "create", tmp_path / "x.zarr", tmp_path / "z.tif", "--force", "--crs", "3035")
    assert done.returncode == 0 and done.stderr == ""


def test_what_a_copy_leaves_behind_is_said(tmp_path: pathlib.Path) -> None:
    penstock.write_cog(values(1, 200, 200), tmp_path / "x.tif", block=64, mask=np.ones((200, 200), "u1"))
    done = command("copy", tmp_path / "x.tif", tmp_path / "x.zarr")
    assert done.returncode == 0 and "not copied: its mask, its overviews" in done.stderr


def test_the_report_tells_what_was_written(tmp_path: pathlib.Path) -> None:
    penstock.create(tmp_path / "x.zarr", shape=(1, 300, 300), dtype="u2", chunks=(1, 100, 100))[...] = values(
        1, 300, 300
    )
    mask = np.ones((300, 300), "u1")
    made = penstock.write_cog(penstock.open(tmp_path / "x.zarr"), tmp_path / "x.tif", block=128, mask=mask)
    report = made.last_report
    tiles = 2 * (9 + 4 + 1)  # of the image and of the mask, three levels
    size = (tmp_path / "x.tif").stat().st_size
    assert json.loads(report.json)["written"] == {
        "chunks": tiles,
        "absent_chunks": 0,
        "requests": 1,
        "stored_bytes": size,
    }
    assert report.chunks == 9 + tiles
    stages = {stage.stage: stage for stage in report.stages}
    assert "tiff.lzw" in stages["encode"].path and 0 < stages["encode"].bytes < size
    assert stages["store"].bytes == size and stages["store"].seconds > 0


def test_places_of_other_shapes(tmp_path: pathlib.Path) -> None:
    rotated = (8.0, 3.0, 4e6, 2.0, -9.0, 3e6)
    for crs, transform in [(3035, rotated), (4326, (0.5, 0.0, 7.0, 0.0, 0.5, 50.0)), (6318, PLACE["transform"])]:
        penstock.write_cog(
            values(1, 70, 70), tmp_path / "x.tif", crs=f"EPSG:{crs}", transform=transform, overwrite=True
        )
        with rasterio.open(tmp_path / "x.tif") as file:
            assert file.crs.to_epsg() == crs and tuple(file.transform)[:6] == transform


def test_the_command_writes_one(tmp_path: pathlib.Path) -> None:
    data = values(3, 300, 400)
    source = penstock.create(tmp_path / "x.zarr", shape=data.shape, dtype=data.dtype, chunks=(2, 100, 130))
    source[...] = data
    out = tmp_path / "x.tif"
    done = command(
        "cog", "create", tmp_path / "x.zarr", out, "--codec", "deflate", "--level", 9, "--block", 128, "--crs", "EPSG:32633",
        "--transform", "10,0,500000,0,-20,5000000", "--nodata", 7, "--method", "mode", "--budget", "32MiB",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check_cog(out)
    with rasterio.open(out) as file:
        np.testing.assert_array_equal(file.read(), data)
        assert file.nodata == 7 and file.crs.to_epsg() == 32633 and tuple(file.transform)[:6] == PLACE["transform"]
    before = out.read_bytes()
    again = command("cog", "create", tmp_path / "x.zarr", out)
    assert again.returncode == 73 and "already" in again.stderr and out.read_bytes() == before
    assert command("cog", "create", tmp_path / "x.zarr", out, "--force", "--codec", "zstd").returncode == 0
    check_cog(out)


@pytest.mark.parametrize("hidden", ["mask", "nodata"])
def test_the_command_writes_one_of_zarr_arrays(hidden: str, tmp_path: pathlib.Path) -> None:
    """Overviews of a stored array count what is to be seen, whatever the budget."""
    data = values(2, 300, 410)
    counts = np.ones((300, 410), bool)
    counts[40:130, 60:77] = counts[200:, 301:] = False
    words: list[Any] = []
    if hidden == "mask":
        mask = penstock.create(tmp_path / "mask.zarr", shape=counts.shape, dtype="u1", chunks=(77, 100))
        mask[...] = counts.astype("u1")
        words = ["--mask", tmp_path / "mask.zarr"]
    else:
        data[:, ~counts] = 7
        counts = data != 7
        words = ["--nodata", 7]
    source = penstock.create(tmp_path / "x.zarr", shape=data.shape, dtype=data.dtype, chunks=(1, 90, 128))
    source[...] = data
    for name, more in (("x", []), ("y", ["--budget", "16MiB", "--threads", 1])):
        done = command("cog", "create", tmp_path / "x.zarr", tmp_path / f"{name}.tif", "--block", 64, *words, *more)
        assert done.returncode == 0, done.stderr
    check_cog(tmp_path / "x.tif")
    assert (tmp_path / "x.tif").read_bytes() == (tmp_path / "y.tif").read_bytes()
    raster = penstock.open(tmp_path / "x.tif")
    np.testing.assert_array_equal(raster[...], data)
    beside = lambda v: 8 if average(v) == 7 else average(v)  # noqa: E731  (what was measured is no nodata)
    for band in range(2):
        shown = counts if hidden == "mask" else counts[band]
        fine, seen = data[band], shown
        for level in raster.levels[1:]:
            fine = halved(fine, average if hidden == "mask" else beside, seen)
            seen = halved(seen.astype("u1"), np.max, np.ones(seen.shape, bool)).astype(bool)
            fine[~seen] = 0 if hidden == "mask" else 7
            np.testing.assert_array_equal(level[band], fine)
            if hidden == "mask":
                np.testing.assert_array_equal(level.mask[0], np.where(seen, 255, 0))
        assert len(raster.levels) == 4


@hypothesis.settings(max_examples=60)
@hypothesis.given(hypothesis.strategies.data())
def test_any_choice_is_read_by_gdal(draw: Any) -> None:
    """As fuzz/fuzz_cog.cpp does for our own reader."""
    pick = draw.draw
    st = hypothesis.strategies
    dtype = pick(st.sampled_from([t for t in TYPES if t != "f2"]))
    codec = pick(st.sampled_from(["none", "lzw", "deflate", "zstd"]))
    bands, height, width = pick(st.integers(1, 4)), pick(st.integers(1, 300)), pick(st.integers(1, 300))
    data = np.random.default_rng(pick(st.integers(0, 99))).integers(
        0, pick(st.sampled_from([2, 9, 120])), (bands, height, width)
    )
    data = data.astype(dtype)
    options: dict[str, Any] = {
        "codec": codec,
        "block": pick(st.sampled_from([64, 80, 128, 256])),
        "method": pick(st.sampled_from(["nearest", "average", "mode"])),
        "bigtiff": pick(st.sampled_from([None, True])),
        "threads": pick(st.sampled_from([1, 2])),
    }
    if pick(st.booleans()):
        options["overviews"] = pick(st.integers(0, 3))
    if codec != "none" and pick(st.booleans()):
        options["predictor"] = pick(st.sampled_from([1, 3] if dtype[0] == "f" else [1] if dtype[0] == "c" else [1, 2]))
    mask = None
    if pick(st.booleans()):
        mask = np.where(np.arange(height * width).reshape(height, width) % 17 < pick(st.integers(1, 16)), 255, 0)
    elif dtype[0] != "c" and pick(st.booleans()):
        options["nodata"] = 1
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.tif"
        penstock.write_cog(data, path, mask=None if mask is None else mask.astype("u1"), **options, **PLACE)
        if min(height, width) >= 32:  # rio-cogeo takes a side that stays at 1 for an overview of the same size
            valid, errors, _ = cog_validate(path, quiet=True)
            assert valid, errors
        with rasterio.open(path) as file:
            np.testing.assert_array_equal(file.read(), data)
            assert file.nodata == options.get("nodata")
            if mask is not None:
                np.testing.assert_array_equal(file.dataset_mask(), mask)
            levels = len(file.overviews(1))
        for level in range(levels):
            with rasterio.open(path, OVERVIEW_LEVEL=level) as file:
                np.testing.assert_array_equal(file.read(), penstock.open(path).levels[level + 1][...])


def test_memory_stays_within_the_budget(tmp_path: pathlib.Path) -> None:
    array = penstock.create(tmp_path / "x.zarr", shape=(1, 6000, 6000), dtype="u2", chunks=(1, 500, 500))
    array[:, ::7, ::5] = 3
    made = penstock.write_cog(array, tmp_path / "x.tif", block=256, codec="zstd", budget="24MiB", threads=2)
    assert made.last_report is not None and made.last_report.peak_host_bytes <= 24 << 20
    np.testing.assert_array_equal(made[0, 3000:3100], array[0, 3000:3100])
    with pytest.raises(penstock.BudgetError):
        penstock.write_cog(array, tmp_path / "y.tif", block=4096, budget="24MiB")
    assert not (tmp_path / "y.tif").exists()


def test_what_cannot_be_written_leaves_nothing(tmp_path: pathlib.Path) -> None:
    data = values(1, 70, 70)
    out = tmp_path / "x.tif"
    for error, options in [
        (ValueError, {"block": 100}),
        (ValueError, {"codec": "lzma"}),
        (ValueError, {"predictor": 3}),
        (ValueError, {"codec": "none", "predictor": 2}),
        (ValueError, {"level": 3}),
        (ValueError, {"nodata": -1}),
        (ValueError, {"nodata": 3.5}),
        (ValueError, {"transform": (1, 2, 3)}),
        (ValueError, {"mask": np.ones((69, 70), "u1")}),
        (ValueError, {"mask": np.ones((70, 70), "f4")}),
        (ValueError, {"crs": "utm"}),
        (ValueError, {"method": "cubic"}),
    ]:
        with pytest.raises(error):
            penstock.write_cog(data, out, **options)
    with pytest.raises(ValueError, match=r"\.tif"):
        penstock.write_cog(data, tmp_path / "x.png")
    with pytest.raises(penstock.UnsupportedError):
        penstock.write_cog(np.zeros((9, 9), "M8[s]"), out)
    with pytest.raises(penstock.UnsupportedError, match="nearest"):
        penstock.write_cog(np.zeros((600, 9), "f2"), out)
    for shape in ((5,), (1, 2, 3, 4), (0, 5, 5)):
        with pytest.raises(ValueError):
            penstock.write_cog(np.zeros(shape, "u1"), out)
    assert os.listdir(tmp_path) == []
    penstock.write_cog(data, out)
    with pytest.raises(FileExistsError):
        penstock.write_cog(data, out)


def test_the_validator_finds_what_is_wrong(tmp_path: pathlib.Path) -> None:
    good = tmp_path / "good.tif"
    penstock.write_cog(values(1, 600, 600), good, block=256)
    bytes_ = good.read_bytes()
    with tifffile.TiffFile(good) as tiff:
        offset, size = tiff.pages[0].dataoffsets[4], tiff.pages[0].databytecounts[4]
    bad = tmp_path / "bad.tif"
    for at, word in [(offset - 4, "says"), (offset + size, "repeated")]:
        bad.write_bytes(bytes_[:at] + bytes([bytes_[at] ^ 1]) + bytes_[at + 1 :])
        assert command("cog", "validate", bad).returncode == 0
        done = command("cog", "validate", bad, "--tiles")
        assert done.returncode == 65 and word in done.stdout and "tile 4 of level 0" in done.stdout
    plain = tmp_path / "plain.tif"
    with rasterio.open(plain, "w", driver="GTiff", height=600, width=600, count=1, dtype="uint16") as file:
        file.write(values(1, 600, 600))
    done = command("cog", "validate", plain)
    assert done.returncode == 65 and "strips" in done.stdout and "no overviews" in done.stdout
    with rasterio.open(plain, "w", driver="GTiff", height=600, width=600, count=1, dtype="uint16", tiled=True) as file:
        file.write(values(1, 600, 600))
    with rasterio.open(plain, "r+") as file:
        file.build_overviews([2])
    done = command("cog", "validate", plain, "--json")
    assert done.returncode == 65 and "lie behind" in done.stdout
    shutil.copy(good, plain)
    assert command("cog", "validate", plain, "--json").stdout.replace(" ", "").find('"valid":true') > 0


@pytest.mark.parametrize("overwrite", [False, True])
def test_of_writers_of_one_file_each_wins_whole(overwrite: bool, tmp_path: pathlib.Path) -> None:
    """In processes: what stands is the file of one of them; without overwrite of the only one that ended well."""
    images, wholes = [values(2, 200, 300, "u2"), values(2, 200, 300, "u2") + 1], []
    for k, image in enumerate(images):
        penstock.write_cog(image, tmp_path / f"{k}.tif", block=64)
        penstock.copy(penstock.open(tmp_path / f"{k}.tif"), tmp_path / f"{k}.zarr")
        penstock.write_cog(penstock.open(tmp_path / f"{k}.zarr"), tmp_path / f"{k}.tif", block=64, overwrite=True)
        wholes.append((tmp_path / f"{k}.tif").read_bytes())
    assert wholes[0] != wholes[1]
    (tmp_path / "out").mkdir()
    out = tmp_path / "out/x.tif"
    words = [sys.executable, "-m", "penstock", "cog", "create", "--block", "64", *(["--force"] if overwrite else [])]
    for _ in range(3):
        writers = [
            subprocess.Popen(
                [*words, tmp_path / f"{k % 2}.zarr", out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            for k in range(3)
        ]
        said = [writer.communicate()[1].decode() for writer in writers]
        codes = [writer.returncode for writer in writers]
        won = [k for k, code in enumerate(codes) if code == 0]
        assert len(won) == (3 if overwrite else 1), said
        assert {code for code in codes if code} <= {73}, said  # it exists
        assert out.read_bytes() in (wholes if overwrite else [wholes[won[0] % 2]])
        assert [path.name for path in out.parent.iterdir()] == ["x.tif"]
        out.unlink()


def test_a_folder_without_room_for_tiles_is_named(tmp_path: pathlib.Path) -> None:
    """Where the file itself would have room."""
    penstock.create(tmp_path / "x.zarr", shape=(4, 5), dtype="u1", chunks=(4, 5))
    create = [sys.executable, "-m", "penstock", "cog", "create", str(tmp_path / "x.zarr"), str(tmp_path / "y.tif")]
    for folder, reason in ((tmp_path / "none", "No such file"), (pathlib.Path("/proc"), "")):
        done = subprocess.run(create, env=os.environ | {"TMPDIR": str(folder)}, capture_output=True, text=True)
        assert done.returncode != 0 and reason.lower() in done.stderr.lower()
        assert f"y.tif: its tiles wait in {folder} ($TMPDIR names another folder): " in done.stderr
    assert not (tmp_path / "y.tif").exists()
