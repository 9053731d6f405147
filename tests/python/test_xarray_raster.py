"""GeoTIFFs in xarray: what ``engine="penstock"`` shows is what rioxarray shows of the same file."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import rasterio
import rioxarray  # noqa: F401  (the accessor .rio)
import xarray as xr
from rasterio.enums import Resampling
from rasterio.transform import Affine, from_origin

import penstock

PLACES: dict[str, dict[str, Any]] = {
    "projected": {"crs": "EPSG:32633", "transform": from_origin(500000, 5000000, 10, 20)},
    "geographic": {"crs": "EPSG:4326", "transform": from_origin(-10.5, 60.25, 1 / 120, 1 / 240)},
    "south up": {"crs": "EPSG:32733", "transform": Affine(10, 0, 500000, 0, 10, 8000000)},
    "rotated": {"crs": "EPSG:3035", "transform": Affine(8, 3, 4000000, 2, -9, 3000000)},
}


def write(path: pathlib.Path, *, bands: int = 2, dtype: str = "int16", scale: bool = False, **options: Any) -> None:
    data = (np.arange(bands * 90 * 70) % 251).reshape(bands, 90, 70).astype(dtype)
    with rasterio.open(
        path, "w", driver="GTiff", height=90, width=70, count=bands, dtype=dtype, compress="LZW", tiled=True,
        blockxsize=32, blockysize=48, **options,
    ) as file:  # fmt: skip
        file.write(data)
        file.descriptions = tuple(f"band {b}" for b in range(bands))
        file.units = ("m",) * bands
        file.update_tags(NAME="a name")
        if scale:
            file.scales, file.offsets = (0.5,) * bands, (1.25,) * bands
        file.build_overviews([2], Resampling.nearest)


def both(path: pathlib.Path, **options: Any) -> tuple[xr.Dataset, xr.Dataset]:
    return xr.open_dataset(path, engine="penstock", **options), xr.open_dataset(path, engine="rasterio", **options)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("nodata", [None, 7])
@pytest.mark.parametrize("masked", [True, False])
def test_as_rioxarray(place: str, scale: bool, nodata: int | None, masked: bool, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    write(path, nodata=nodata, scale=scale, **PLACES[place])
    ours, theirs = both(path, mask_and_scale=masked)
    assert dict(ours.sizes) == dict(theirs.sizes) and set(ours.variables) == set(theirs.variables)
    assert set(ours.coords) == set(theirs.coords)
    np.testing.assert_array_equal(ours.band_data, theirs.band_data)
    for name in set(ours.coords) - {"spatial_ref"}:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-14)
        assert ours[name].dims == theirs[name].dims and ours[name].dtype == theirs[name].dtype
    assert ours.rio.crs == theirs.rio.crs
    assert ours.rio.transform() == theirs.rio.transform()
    assert ours.spatial_ref.attrs["GeoTransform"] == theirs.spatial_ref.attrs["GeoTransform"]
    for name, value in ours.spatial_ref.attrs.items():
        if name not in ("crs_wkt", "spatial_ref"):  # WKT of another year; compared as CRS above
            want = theirs.spatial_ref.attrs[name]
            assert want == (value.removesuffix(" ensemble") if isinstance(value, str) else value), name
    data, want = ours.band_data, theirs.band_data
    assert (data.rio.nodata is None or np.isnan(data.rio.nodata)) or data.rio.nodata == want.rio.nodata
    assert data.rio.encoded_nodata == want.rio.encoded_nodata
    assert data.encoding["grid_mapping"] == "spatial_ref"
    said = {k: v for k, v in want.attrs.items() if k not in ("scale_factor", "add_offset") or scale}
    assert data.attrs == said
    if masked and scale:
        assert data.encoding["scale_factor"] == 0.5 and data.encoding["add_offset"] == 1.25


def test_one_band_and_no_place(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    write(path, bands=1, dtype="float32")
    ours = xr.open_dataset(path, engine="penstock")
    assert ours.band_data.attrs["long_name"] == "band 0" and ours.band_data.attrs["units"] == "m"
    assert set(ours.coords) == {"band", "spatial_ref"}
    np.testing.assert_array_equal(ours.band_data, penstock.open(path)[...])


def test_parts_chunks_and_levels(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    write(path, nodata=7, **PLACES["rotated"])
    ours, theirs = both(path, mask_and_scale=False)
    for part in (
        {"band": 1, "y": slice(3, 50, 7), "x": slice(60, 5, -4)},
        {"y": [5, 80, 6], "x": 9},
        {"band": [1, 0], "x": np.array([3, 3, 69])},
    ):
        xr.testing.assert_equal(ours.band_data.isel(part), theirs.band_data.isel(part))
        np.testing.assert_allclose(ours.xc.isel({k: v for k, v in part.items() if k != "band"}),
                                   theirs.xc.isel({k: v for k, v in part.items() if k != "band"}), rtol=1e-14)  # fmt: skip
    lazy = xr.open_dataset(path, engine="penstock", chunks={})
    assert lazy.band_data.chunks == ((2,), (48, 42), (32, 32, 6))
    np.testing.assert_array_equal(lazy.band_data.max(("y", "x")).compute(), ours.band_data.where(ours.band_data != 7).max(("y", "x")))  # fmt: skip
    level = xr.open_dataset(path, engine="penstock", level=1, mask_and_scale=False)
    with rasterio.open(path, OVERVIEW_LEVEL=0) as want:
        np.testing.assert_array_equal(level.band_data, want.read())
        assert level.rio.transform() == want.transform
    raster = penstock.open(path)
    np.testing.assert_array_equal(xr.open_dataset(raster.levels[1], engine="penstock", level=1).xc, level.xc)
    assert "band_data" not in xr.open_dataset(path, engine="penstock", drop_variables="band_data")
    with pytest.raises(IndexError):
        xr.open_dataset(path, engine="penstock", level=5)


def test_what_xarray_writes_comes_back(tmp_path: pathlib.Path) -> None:
    """By rioxarray's writer from what penstock opened, and as Zarr."""
    write(tmp_path / "x.tif", nodata=7, **PLACES["projected"])
    ours = xr.open_dataset(tmp_path / "x.tif", engine="penstock")
    ours.band_data.rio.to_raster(tmp_path / "y.tif")
    again = penstock.open(tmp_path / "y.tif")
    np.testing.assert_array_equal(again[...], penstock.open(tmp_path / "x.tif")[...])
    assert again.crs.epsg == 32633 and again.nodata == 7
    ours.to_zarr(tmp_path / "x.zarr")
    xr.testing.assert_equal(
        xr.open_dataset(tmp_path / "x.zarr", engine="zarr", decode_coords="all").band_data, ours.band_data
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("nodata", [None, 7])
def test_what_xarray_writes_becomes_a_cog(place: str, version: int, nodata: int | None, tmp_path: pathlib.Path) -> None:
    """Place and CRS stand in an array beside the elements there."""
    write(tmp_path / "x.tif", nodata=nodata, **PLACES[place])
    with xr.open_dataset(tmp_path / "x.tif", engine="penstock", mask_and_scale=False) as dataset:
        dataset.to_zarr(tmp_path / "x.zarr", zarr_format=version)
    made = penstock.write_cog(penstock.open(tmp_path / "x.zarr")["band_data"], tmp_path / "y.tif", block=64)
    want = penstock.open(tmp_path / "x.tif")
    np.testing.assert_array_equal(made[...], want[...])
    assert made.transform == want.transform and made.nodata == want.nodata
    assert (made.crs and made.crs.epsg) == (want.crs and want.crs.epsg)
    assert made.descriptions == want.descriptions and made.units == want.units
