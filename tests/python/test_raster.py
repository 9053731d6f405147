"""What GeoTIFFs say besides their elements, as rasterio (GDAL) reads the same files."""

import itertools
import json
import pathlib
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import rasterio
import tifffile
from rasterio.control import GroundControlPoint
from rasterio.enums import MaskFlags, Resampling
from rasterio.transform import Affine, from_origin
from rasterio.windows import from_bounds

import penstock

warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)

PLACES: dict[str, dict[str, Any]] = {
    "north up": {"crs": "EPSG:32633", "transform": from_origin(500000, 5000000, 10, 20)},
    "geographic": {"crs": "EPSG:4326", "transform": from_origin(-10.5, 60.25, 1 / 120, 1 / 240)},
    "rotated": {"crs": "EPSG:3035", "transform": Affine(8, 3, 4000000, 2, -9, 3000000)},
    "south up": {"crs": "EPSG:32733", "transform": Affine(10, 0, 500000, 0, 10, 8000000)},
    "web": {"crs": "EPSG:3857", "transform": from_origin(0, 0, 0.5, 0.5)},
    "of no EPSG code": {
        "crs": "+proj=laea +lat_0=12.5 +lon_0=7.25 +x_0=3 +y_0=5 +datum=WGS84 +units=m",
        "transform": from_origin(7, 9, 2, 3),
    },
    "none": {},
}


def write(path: pathlib.Path, data: np.ndarray, **options: Any) -> None:
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        height=data.shape[1],
        width=data.shape[2],
        count=data.shape[0],
        dtype=data.dtype,
        **options,
    ) as file:
        file.write(data)


def image(bands: int = 1, height: int = 60, width: int = 80, dtype: str = "uint8") -> np.ndarray:
    return (np.arange(bands * height * width) % 251).reshape(bands, height, width).astype(dtype)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("point", ["Area", "Point"])
def test_the_place_is_that_of_rasterio(place: str, point: str, tmp_path: pathlib.Path) -> None:
    for n, (endian, big) in enumerate(itertools.product(("LITTLE", "BIG"), ("NO", "YES"))):
        path = tmp_path / f"{n}.tif"
        write(path, image(), ENDIANNESS=endian, BIGTIFF=big, **PLACES[place])
        if point == "Point":
            with rasterio.open(path, "r+") as file:
                file.update_tags(AREA_OR_POINT="Point")
        raster = penstock.open(path)
        assert isinstance(raster, penstock.Raster)
        with rasterio.open(path) as want:
            if "transform" in PLACES[place]:
                np.testing.assert_allclose(raster.transform, tuple(want.transform)[:6], rtol=1e-15)
                left, bottom, right, top = want.bounds
                box = (left, min(bottom, top), right, max(bottom, top))
                np.testing.assert_allclose(raster.bounds, box, rtol=1e-14)
            else:
                assert raster.transform is None and raster.bounds is None
            code = None if place == "of no EPSG code" else want.crs and want.crs.to_epsg()
            assert (raster.crs.epsg if raster.crs else None) == code
            assert raster.tags.get("AREA_OR_POINT") == want.tags().get("AREA_OR_POINT")


def test_a_matrix_for_a_transform(tmp_path: pathlib.Path) -> None:
    """ModelTransformation of a file that is not GDAL's, and PixelIsPoint with it."""
    matrix = (2.0, 1.0, 0.0, 100.0, 0.5, -3.0, 0.0, 200.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    for kind in (1, 2):
        keys = (1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, kind)
        tifffile.imwrite(tmp_path / "x.tif", image()[0], extratags=[(34264, 12, 16, matrix), (34735, 3, 12, keys)])
        with rasterio.open(tmp_path / "x.tif") as want:
            assert penstock.open(tmp_path / "x.tif").transform == tuple(want.transform)[:6]


@pytest.mark.parametrize("point", ["Area", "Point"])
def test_control_points(point: str, tmp_path: pathlib.Path) -> None:
    gcps = [
        GroundControlPoint(row=r, col=c, x=10 + 2 * c + r, y=50 - r, z=3)
        for r, c in [(0, 0), (0, 80), (60, 0), (30.5, 41)]
    ]
    write(tmp_path / "x.tif", image(), gcps=gcps, crs="EPSG:4326")
    if point == "Point":
        with rasterio.open(tmp_path / "x.tif", "r+") as file:
            file.update_tags(AREA_OR_POINT="Point")
    raster = penstock.open(tmp_path / "x.tif")
    with rasterio.open(tmp_path / "x.tif") as want:
        points, crs = want.gcps
        assert [tuple(p) for p in raster.gcps] == [(p.row, p.col, p.x, p.y, p.z) for p in points]
        assert raster.crs.epsg == crs.to_epsg()
    assert raster.transform is None
    with pytest.raises(ValueError, match="no transform"):
        raster.window(0, 0, 1, 1)


def test_what_is_said_of_bands(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "x.tif", image(3, dtype="int16"), nodata=-7, **PLACES["north up"])
    with rasterio.open(tmp_path / "x.tif", "r+") as file:
        file.scales, file.offsets = (0.1, 1, 2.5e-3), (0, -273.15, 7)
        file.units = ("m", "K", "")
        file.descriptions = ("höhe <a & b>", None, "third")
        file.update_tags(AUTHOR="ab & <cd>")
        file.update_tags(2, KIND="warm")
    raster = penstock.open(tmp_path / "x.tif")
    with rasterio.open(tmp_path / "x.tif") as want:
        assert (raster.scales, raster.offsets, raster.nodata) == (want.scales, want.offsets, want.nodata)
        assert tuple(b.unit for b in raster.bands) == tuple(u or "" for u in want.units)
        assert tuple(b.description for b in raster.bands) == tuple(d or "" for d in want.descriptions)
        assert raster.tags == want.tags()
        assert [b.tags for b in raster.bands] == [want.tags(i) for i in (1, 2, 3)]


def test_texts_of_the_file(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "x.tif", image())
    with rasterio.open(tmp_path / "x.tif", "r+") as file:
        file.update_tags(
            TIFFTAG_SOFTWARE="a program", TIFFTAG_DATETIME="2026:01:02 03:04:05", TIFFTAG_COPYRIGHT="nobody's",
            TIFFTAG_IMAGEDESCRIPTION="a picture", TIFFTAG_XRESOLUTION="300", TIFFTAG_YRESOLUTION="2.5",
            TIFFTAG_RESOLUTIONUNIT="2 (pixels/inch)",
        )  # fmt: skip
    with rasterio.open(tmp_path / "x.tif") as want:
        assert penstock.open(tmp_path / "x.tif").tags == want.tags()


def overviews(path: pathlib.Path, masked: bool, bands: int = 3) -> np.ndarray:
    data = image(bands, 200, 311)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=masked):
        write(path, data, tiled=True, blockxsize=64, blockysize=64, compress="LZW", **PLACES["rotated"])
        with rasterio.open(path, "r+") as file:
            if masked:
                hidden = np.full(data.shape[1:], 255, "u1")
                hidden[20:120, 33:150] = 0
                file.write_mask(hidden)
            file.build_overviews([2, 4, 8], Resampling.nearest)
    return data


@pytest.mark.parametrize("masked", [False, True])
def test_levels_and_masks(masked: bool, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    data = overviews(path, masked)
    raster = penstock.open(path)
    levels = raster.levels
    assert [level.level for level in levels] == [0, 1, 2, 3]
    np.testing.assert_array_equal(levels[0][...], data)
    with rasterio.open(path) as want:
        assert (MaskFlags.per_dataset in want.mask_flag_enums[0]) == masked
        for level, options in zip(levels, [{}, *({"OVERVIEW_LEVEL": k} for k in range(3))], strict=True):
            with rasterio.open(path, **options) as file:
                np.testing.assert_array_equal(level[...], file.read())
                np.testing.assert_allclose(level.transform, tuple(file.transform)[:6])
                assert level.bounds == raster.bounds
                if masked:
                    np.testing.assert_array_equal(level.mask[0], file.dataset_mask())
                else:
                    assert level.mask is None
    same = pickle.loads(pickle.dumps(levels[2]))
    assert same.level == 2
    np.testing.assert_array_equal(same[...], levels[2][...])
    assert "penstock.Raster" in repr(levels[2]) and "level 2" in repr(levels[2])


def test_the_level_for_a_resolution(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "x.tif", image(1, 64, 64), **PLACES["north up"])  # pixels of 10 x 20
    with rasterio.open(tmp_path / "x.tif", "r+") as file:
        file.build_overviews([2, 4], Resampling.average)
    raster = penstock.open(tmp_path / "x.tif")
    assert [raster.level_for(r).level for r in (1, 20, 39, 40, 79, 80, 1e9)] == [0, 0, 0, 1, 1, 2, 2]
    for bad in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="resolution"):
            raster.level_for(bad)


@pytest.mark.parametrize("place", ["north up", "south up", "geographic"])
def test_windows_on_the_ground(place: str, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "x.tif", image(), **PLACES[place])
    raster = penstock.open(tmp_path / "x.tif")
    with rasterio.open(tmp_path / "x.tif") as file:
        window = rasterio.windows.Window(13, 7, 40, 31)
        left, bottom, right, top = file.window_bounds(window)
        bands, rows, columns = raster.window(left, min(bottom, top), right, max(bottom, top))
        assert (bands, rows, columns) == (slice(0, 1), slice(7, 38), slice(13, 53))
        np.testing.assert_array_equal(raster[bands, rows, columns], file.read(window=window))
        left, bottom, right, top = raster.bounds
        assert raster.window(*raster.bounds) == (slice(0, 1), slice(0, 60), slice(0, 80))
        # A part of a pixel is all of it; what lies outside is cut off.
        x, y = abs(file.transform.a), abs(file.transform.e)
        inside = raster.window(left - 5 * x, bottom - y, left + 2.5 * x, bottom + 1.5 * y)
        low = slice(58, 60) if file.transform.e < 0 else slice(0, 2)
        assert inside == (slice(0, 1), low, slice(0, 3))
        if file.transform.e < 0:
            want = from_bounds(left, bottom, left + 2 * x, bottom + y, file.transform)
            rows = slice(round(want.row_off), round(want.row_off + want.height))
            assert raster.window(left, bottom, left + 2 * x, bottom + y)[1] == rows
        for outside in ((right + x, bottom, right + 2 * x, top), (left, top + y, right, top + 2 * y)):
            with pytest.raises(ValueError, match="lies in the raster"):
                raster.window(*outside)
    for bad in ((0, 0, float("nan"), 1), (1, 0, 0, 1), (0, 1, 1, 0)):
        with pytest.raises(ValueError, match="left, bottom, right, top"):
            raster.window(*bad)


def test_a_window_of_a_rotated_raster_covers_it(tmp_path: pathlib.Path) -> None:
    overviews(tmp_path / "x.tif", False)
    level = penstock.open(tmp_path / "x.tif").levels[1]
    to_ground = Affine(*level.transform)
    corners = [to_ground * p for p in ((10, 20), (15, 20), (10, 22), (15, 22))]
    xs, ys = zip(*corners, strict=True)
    _, rows, columns = level.window(min(xs), min(ys), max(xs), max(ys))
    assert rows.start <= 20 and rows.stop >= 22 and columns.start <= 10 and columns.stop >= 15
    assert rows.stop - rows.start < 12 and columns.stop - columns.start < 16


def test_text_of_a_crs_needs_proj(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "x.tif", image(), **PLACES["north up"])
    crs = penstock.open(tmp_path / "x.tif").crs
    try:
        wkt = crs.wkt
    except penstock.UnsupportedError as error:
        assert "libproj.so.25" in str(error)
    else:
        assert wkt.startswith("PROJCRS[") and rasterio.crs.CRS.from_wkt(wkt).to_epsg() == 32633


def test_the_command_tells_it(tmp_path: pathlib.Path) -> None:
    overviews(tmp_path / "x.tif", True)
    command = [sys.executable, "-m", "penstock", "cog", "info", str(tmp_path / "x.tif")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "EPSG:3035" in text and "level 3" in text and "mask" in text
    told = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout)
    raster = penstock.open(tmp_path / "x.tif")
    assert told["crs"]["epsg"] == 3035 and tuple(told["transform"]) == raster.transform
    assert tuple(told["bounds"]) == raster.bounds
    assert [tuple(level["shape"]) for level in told["levels"]] == [level.shape for level in raster.levels]
    assert all(level["mask"] for level in told["levels"])


def test_what_is_no_raster(tmp_path: pathlib.Path) -> None:
    penstock.create(tmp_path / "x.zarr", shape=(2, 2), dtype="u1")
    array = penstock.open(tmp_path / "x.zarr")
    assert type(array) is penstock.Array
    command = [sys.executable, "-m", "penstock", "cog", "info", str(tmp_path / "x.zarr")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 69 and "no raster" in done.stderr


def test_metadata_that_would_grow_are_refused(tmp_path: pathlib.Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><GDALMetadata><Item name="X">&a;</Item></GDALMetadata>'
    for xml in (bomb, "<GDALMetadata><Item", "<a>" * 100):
        tifffile.imwrite(tmp_path / "x.tif", image()[0], extratags=[(42112, 2, 0, xml)])
        raster = penstock.open(tmp_path / "x.tif")
        np.testing.assert_array_equal(raster[0], image()[0])
        with pytest.raises(penstock.MetadataError, match=r"x\.tif.*tag 42112"):
            _ = raster.tags
