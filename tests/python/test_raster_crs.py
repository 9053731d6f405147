"""Coordinate reference systems that a GeoTIFF defines by parameters: their text is the system that rasterio (GDAL) reads."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pyproj
import pytest
import rasterio
import rioxarray  # noqa: F401  (the accessor .rio)
import tifffile
import xarray as xr
from rasterio.crs import CRS
from rasterio.transform import from_origin

import penstock

WGS84 = "+datum=WGS84"
BESSEL = "+ellps=bessel"
AT = "+lat_0=12.5 +lon_0=7.25 +x_0=3 +y_0=5"

# One of each method that GDAL writes as keys, and of what else makes a system another one.
SYSTEMS: dict[str, str] = {
    "transverse Mercator": f"+proj=tmerc +lat_0=10 +lon_0=9 +k=0.9996 +x_0=500000 +y_0=100 {BESSEL}",
    "UTM by its code": f"+proj=utm +zone=33 {BESSEL}",
    "south orientated": f"+proj=tmerc +lat_0=0 +lon_0=27 +k=1 +x_0=0 +y_0=0 +axis=wsu {WGS84}",
    "oblique Mercator": f"+proj=omerc +no_uoff +lat_0=45 +lonc=7 +alpha=30 +gamma=31 +k=0.9996 +x_0=5 +y_0=7 {WGS84}",
    "oblique Mercator, variant B": f"+proj=omerc +lat_0=45 +lonc=7 +alpha=30 +gamma=31 +k=0.9996 +x_0=5 +y_0=7 {WGS84}",
    "Laborde": "+proj=labrd +lat_0=-18.9 +lon_0=46.437 +azi=18.9 +k=0.9995 +x_0=4 +y_0=8 +ellps=intl +pm=paris",
    "Swiss oblique": f"+proj=somerc +lat_0=46.95 +lon_0=7.44 +k_0=1 +x_0=600000 +y_0=200000 {BESSEL}",
    "Mercator": f"+proj=merc +lon_0=5 +k=0.99 +x_0=1 +y_0=2 {WGS84}",
    "Mercator of true scale": f"+proj=merc +lon_0=5 +lat_ts=30 +x_0=1 +y_0=2 {WGS84}",
    "conformal conic": f"+proj=lcc +lat_1=30 +lat_2=60 +lat_0=45 +lon_0=10 +x_0=1 +y_0=2 {WGS84}",
    "conformal conic, feet": "+proj=lcc +lat_1=30 +lat_2=60 +lat_0=45 +lon_0=10 +x_0=1 +y_0=2 +datum=NAD27 +units=us-ft",
    "conformal conic, one parallel": f"+proj=lcc +lat_1=45 +lat_0=45 +lon_0=10 +k_0=0.9999 +x_0=1 +y_0=2 {WGS84}",
    "azimuthal of equal area": f"+proj=laea {AT} {WGS84}",
    "azimuthal of equal area, sphere": f"+proj=laea {AT} +R=6370997",
    "azimuthal of equal area, feet": f"+proj=laea {AT} {WGS84} +units=ft",
    "azimuthal of equal area, kilometres": f"+proj=laea {AT} {WGS84} +units=km",
    "azimuthal of equal area, Paris": f"+proj=laea {AT} +a=6378249.2 +b=6356515 +pm=paris",
    "Albers": "+proj=aea +lat_1=29.5 +lat_2=45.5 +lat_0=23 +lon_0=-96 +x_0=1 +y_0=2 +datum=NAD83",
    "azimuthal equidistant": f"+proj=aeqd {AT} {WGS84}",
    "equidistant conic": f"+proj=eqdc {AT} +lat_1=20 +lat_2=40 {WGS84}",
    "stereographic": f"+proj=stere {AT} +k=0.9 {WGS84}",
    "polar": f"+proj=stere +lat_0=90 +lon_0=7.25 +k=0.994 +x_0=3 +y_0=5 {WGS84}",
    "polar of true scale": f"+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=7.25 +x_0=3 +y_0=5 {WGS84}",
    "oblique stereographic": f"+proj=sterea +lat_0=52 +lon_0=5 +k=0.9999 +x_0=155000 +y_0=463000 {BESSEL}",
    "equirectangular": f"+proj=eqc +lat_ts=30 +lat_0=0 +lon_0=10 +x_0=1 +y_0=2 {WGS84}",
    "equirectangular, sphere": "+proj=eqc +lat_ts=30 +lat_0=0 +lon_0=10 +x_0=1 +y_0=2 +R=3396190",
    "Cassini, a unit of its own": "+proj=cass +lat_0=10 +lon_0=-61 +x_0=86501.46 +y_0=65379.01 +a=6378293.6 +b=6356617.9 "
    "+to_meter=0.3047972654",
    "gnomonic": f"+proj=gnom {AT} {WGS84}",
    "Miller": f"+proj=mill +lon_0=20 +x_0=1 +y_0=2 {WGS84}",
    "orthographic": f"+proj=ortho {AT} {WGS84}",
    "polyconic": f"+proj=poly {AT} {WGS84}",
    "Robinson": f"+proj=robin +lon_0=20 +x_0=1 +y_0=2 {WGS84}",
    "sinusoidal": "+proj=sinu +lon_0=20 +x_0=1 +y_0=2 +R=6371007.181",
    "van der Grinten": "+proj=vandg +lon_0=20 +x_0=1 +y_0=2 +R=6371007.181",
    "New Zealand": "+proj=nzmg +lat_0=-41 +lon_0=173 +x_0=2510000 +y_0=6023150 +ellps=intl",
    "cylindrical of equal area": f"+proj=cea +lat_ts=30 +lon_0=10 +x_0=1 +y_0=2 {WGS84}",
    "Mollweide, a text": f"+proj=moll +lon_0=10 {WGS84}",
    "Eckert IV, a text": f"+proj=eck4 +lon_0=10 {WGS84}",
    "of a satellite, a text": f"+proj=geos +h=35785831 +lon_0=10 {WGS84}",
    "Krovak, a text": "+proj=krovak +lat_0=49.5 +lon_0=24.8333333333333 +alpha=30.2881397527778 +k=0.9999 +ellps=bessel",
    "with a name": "ESRI:54030",
    "on a system with a code": "ESRI:102003",
    "a text with a name": "ESRI:54009",
    "geographic": f"+proj=longlat {BESSEL}",
    "geographic, sphere": "+proj=longlat +R=6370997",
    "geographic, Paris": "+proj=longlat +a=6378249.2 +b=6356515 +pm=paris",
    "of the Moon": "IAU_2015:30100",
    "geocentric": f"+proj=geocent {WGS84}",
    "shifted": f"+proj=longlat {BESSEL} +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7",
    "projected and shifted": f"+proj=utm +zone=33 {BESSEL} +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7",
    "shifted by three": f"+proj=utm +zone=33 {BESSEL} +towgs84=598.1,73.7,418.2",
    "heights": "EPSG:32633+5773",
    "heights above the ellipsoid": "EPSG:4979",
    "heights of no code": f"+proj=longlat {WGS84} +geoidgrids=egm96_15.gtx +vunits=m",
}


def write(path: pathlib.Path, crs: str, **more: Any) -> CRS:
    transform = from_origin(7, 9, 2, 3)
    with rasterio.open(
        path, "w", driver="GTiff", dtype="uint8", count=1, height=4, width=5, crs=crs, transform=transform, **more
    ) as file:
        file.write(np.arange(20, dtype="u1").reshape(1, 4, 5))
    with rasterio.open(path) as file:
        return file.crs


# Systems of the same numbers under other words: PROJ before 9.5 calls two methods and their parameters otherwise, and GDAL
# takes "defined by the user" for the code of a vertical datum.
OTHER_WORDS = ("azimuthal equidistant", "equidistant conic", "heights of no code")
# GDAL leaves out what the text says of the axes (X_Scale, XY_Plane_Rotation), and reads another system than was written.
MISREAD = "Krovak, a text"


@pytest.mark.parametrize("name", SYSTEMS)
def test_it_is_the_system_that_rasterio_reads(name: str, tmp_path: pathlib.Path) -> None:
    want = write(tmp_path / "x.tif", SYSTEMS[name])
    assert want is not None
    ours = penstock.open(tmp_path / "x.tif").crs
    made = CRS.from_wkt(ours.wkt)
    if name in OTHER_WORDS:
        assert made.to_dict() == want.to_dict() and len(made.to_dict()) > 2
    elif name == MISREAD:
        assert made.to_dict() == CRS.from_string(SYSTEMS[name]).to_dict() != want.to_dict()
    else:
        assert made == want, f"{ours.wkt}\n{want.to_wkt(version='WKT2_2019')}"
    # A copy of the file defines the same system.
    penstock.write_cog(penstock.open(tmp_path / "x.tif"), tmp_path / "cog.tif")
    assert penstock.open(tmp_path / "cog.tif").crs == ours
    with rasterio.open(tmp_path / "cog.tif") as file:
        assert file.crs == want


# What a GeoTIFF has no words for, and the reason that is given.
CANNOT_SAY = {"Krovak, a text": "GDAL leaves out X_Scale", "heights of no code": "heights without an EPSG code"}
# Of longitude before latitude; a GeoTIFF does not say the order of axes, and GDAL reads the other one.
OTHER_ORDER = ("geographic", "geographic, sphere", "geographic, Paris", "shifted")
PLACE = {"transform": (2, 0, 7, 0, -3, 9)}


def data() -> np.ndarray[Any, Any]:
    return np.arange(20, dtype="u1").reshape(4, 5)


def crs_read_by_rasterio(path: pathlib.Path) -> CRS | None:
    with rasterio.open(path) as file:
        return file.crs


@pytest.mark.parametrize("form", ["object", "WKT 1", "WKT 2", "pyproj"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_new_file_says_the_system_that_is_given(name: str, form: str, tmp_path: pathlib.Path) -> None:
    want = CRS.from_string(SYSTEMS[name])
    given: Any = {
        "object": lambda: want,
        "WKT 1": lambda: want.to_wkt(),
        "WKT 2": lambda: want.to_wkt(version="WKT2_2019"),
        "pyproj": lambda: pyproj.CRS.from_wkt(want.to_wkt(version="WKT2_2019")),
    }[form]()
    if name in CANNOT_SAY:
        with pytest.raises(penstock.UnsupportedError, match=CANNOT_SAY[name]):
            penstock.write_cog(data(), tmp_path / "y.tif", crs=given, **PLACE)
        assert not any(tmp_path.iterdir())
        return
    made = penstock.write_cog(data(), tmp_path / "y.tif", crs=given, **PLACE)
    theirs = write(tmp_path / "x.tif", SYSTEMS[name])  # by GDAL
    got = crs_read_by_rasterio(tmp_path / "y.tif")
    assert got is not None and got == theirs, f"{got and got.to_wkt()}\n{theirs.to_wkt()}"
    assert (got == want) == (name not in OTHER_ORDER)
    assert CRS.from_wkt(made.crs.wkt).to_dict() == theirs.to_dict()


def test_a_system_is_given_in_many_ways(tmp_path: pathlib.Path) -> None:
    laea = SYSTEMS["azimuthal of equal area"]
    write(tmp_path / "x.tif", laea)
    for want, ways in (
        ("EPSG:32633", [32633, np.int64(32633), "EPSG:32633", "epsg:32633", "32633", CRS.from_epsg(32633)]),
        ("EPSG:32633", [pyproj.CRS("EPSG:32633"), pyproj.CRS("EPSG:32633").to_json(), pyproj.CRS(32633).to_wkt()]),
        (laea, [laea, pyproj.CRS(laea).to_json(), pyproj.CRS(laea).to_json_dict(), penstock.open(tmp_path / "x.tif").crs]),
        ("ESRI:54009", ["ESRI:54009", CRS.from_string("ESRI:54009"), pyproj.CRS("ESRI:54009")]),
        ("EPSG:32633+5773", ["EPSG:32633+5773"]),
        ("EPSG:5555", [5555, "EPSG:5555", pyproj.CRS(5555), CRS.from_epsg(5555), pyproj.CRS(5555).to_wkt()]),
    ):  # fmt: skip
        for way in ways:
            penstock.write_cog(data(), tmp_path / "y.tif", crs=way, overwrite=True, **PLACE)
            assert crs_read_by_rasterio(tmp_path / "y.tif") == CRS.from_string(want), way


def test_a_code_is_that_of_an_object_only_where_it_is_the_same_system(tmp_path: pathlib.Path) -> None:
    much_like = CRS.from_string(SYSTEMS["New Zealand"])  # no datum; 27200 has one
    assert much_like.to_epsg() == 27200
    assert penstock.write_cog(data(), tmp_path / "x.tif", crs=much_like, **PLACE).crs.epsg is None
    of_esri = CRS.from_wkt(CRS.from_epsg(32633).to_wkt(morph_to_esri_dialect=True))
    assert penstock.write_cog(data(), tmp_path / "y.tif", crs=of_esri, **PLACE).crs.epsg == 32633


def test_what_is_no_system_is_refused_before_anything_is_written(tmp_path: pathlib.Path) -> None:
    for bad in ("no system", "", "EPSG:", "EPSG:x", 'PROJCS["x"', '{"type": "GeographicCRS"', "+proj=nothing",
                "ESRI:1", "EPSG:5773", 5773, {"init": "epsg:4326"}, "EPSG:32633\0", "PROJCS[" * 1000, "x" * 10_000_000, "\ud800[", 1.5,
                object(), -1, True):  # fmt: skip
        with pytest.raises((ValueError, TypeError, penstock.UnsupportedError)) as error:
            penstock.write_cog(data(), tmp_path / "y.tif", crs=bad, **PLACE)
        assert len(str(error.value)) < 1000
    assert not any(tmp_path.iterdir())


def test_a_code_of_a_compound_in_geozarr_is_taken_apart(tmp_path: pathlib.Path) -> None:
    penstock.create(tmp_path / "x.zarr", shape=(4, 5), dtype="u1", chunks=(4, 5), attributes={"proj:code": "EPSG:5555"})
    penstock.write_cog(penstock.open(tmp_path / "x.zarr"), tmp_path / "y.tif")
    assert crs_read_by_rasterio(tmp_path / "y.tif") == CRS.from_epsg(5555)
    penstock.open(tmp_path / "x.zarr", mode="r+").set_attributes({"proj:code": "EPSG:5773"})
    with pytest.raises(penstock.UnsupportedError, match="EPSG:5773 cannot be written: it is neither projected nor"):
        penstock.write_cog(penstock.open(tmp_path / "x.zarr"), tmp_path / "z.tif")
    assert not (tmp_path / "z.tif").exists()


def xarray_zarr(path: pathlib.Path, attributes: dict[str, Any]) -> penstock.Array:
    """As xarray writes it, of version 2, which has no attributes of its own elsewhere."""
    where = xr.DataArray(0, attrs=attributes)
    array = xr.DataArray(data(), dims=("y", "x"), attrs={"grid_mapping": "spatial_ref"})
    xr.Dataset({"band_data": array, "spatial_ref": where}).to_zarr(path, mode="w", consolidated=False)
    return penstock.open(path)["band_data"]


@pytest.mark.parametrize(
    "name", ["azimuthal of equal area", "sinusoidal", "Mollweide, a text", "geographic", "heights"]
)
def test_what_xarray_writes_keeps_its_system(name: str, tmp_path: pathlib.Path) -> None:
    """It stands as text in the array that grid_mapping names."""
    want = write(tmp_path / "x.tif", SYSTEMS[name])
    with xr.open_dataset(tmp_path / "x.tif", engine="rasterio") as dataset:
        dataset.to_zarr(tmp_path / "x.zarr")
    penstock.write_cog(penstock.open(tmp_path / "x.zarr")["band_data"], tmp_path / "y.tif")
    penstock.copy(penstock.open(tmp_path / "x.zarr")["band_data"], tmp_path / "z.tif")
    for attribute in ("crs_wkt", "spatial_ref"):
        array = xarray_zarr(tmp_path / "one.zarr", {attribute: want.to_wkt()})
        penstock.write_cog(array, tmp_path / f"{attribute}.tif")
    for made in ("y.tif", "z.tif", "crs_wkt.tif", "spatial_ref.tif"):
        assert crs_read_by_rasterio(tmp_path / made) == want, made


def test_what_a_copy_cannot_say_is_refused_before_anything_is_written(tmp_path: pathlib.Path) -> None:
    for attribute, reason in (
        (CRS.from_string(SYSTEMS["heights of no code"]).to_wkt(), "heights without an EPSG code"),
        ("GEOGCS[" * 1000, "PROJ does not take"),
        ('GEOGCS["x",EXTENSION["PROJ4","+init=/etc/passwd:root"]]', "names a file"),
        ("\x1b]0;title\x07 \u00e9", r"'\?]0;title\? \?\?' is no CRS"),
    ):
        array = xarray_zarr(tmp_path / "x.zarr", {"crs_wkt": attribute})
        with pytest.raises(penstock.UnsupportedError, match=f"its CRS cannot be written: .*spatial_ref: .*{reason}"):
            penstock.write_cog(array, tmp_path / "y.tif")
        with pytest.raises(penstock.UnsupportedError, match=reason):
            penstock.copy(array, tmp_path / "y.tif")
        assert not list(tmp_path.glob("*.tif*"))
    penstock.write_cog(array, tmp_path / "y.tif", crs=3035)
    assert crs_read_by_rasterio(tmp_path / "y.tif") == CRS.from_epsg(3035)


def test_of_an_array_that_is_opened_by_its_own_path_the_group_around_is_asked(tmp_path: pathlib.Path) -> None:
    laea = CRS.from_string(SYSTEMS["azimuthal of equal area"])
    own = xarray_zarr(tmp_path / "x.zarr", {"crs_wkt": laea.to_wkt(), "GeoTransform": "7 2 0 9 0 -3"}).url
    penstock.write_cog(penstock.open(own), tmp_path / "y.tif")
    with rasterio.open(tmp_path / "y.tif") as file:
        assert file.crs == laea and tuple(file.transform)[:6] == (2, 0, 7, 0, -3, 9)
    (tmp_path / "x.zarr/zarr.json").unlink()  # now it lies in a folder of who knows what
    penstock.write_cog(penstock.open(own), tmp_path / "z.tif")
    assert penstock.open(tmp_path / "z.tif").crs is None and penstock.open(tmp_path / "z.tif").transform is None


def test_the_command_takes_a_text(tmp_path: pathlib.Path) -> None:
    array = xarray_zarr(tmp_path / "x.zarr", {"crs_wkt": "GEOGCS["})
    create = [sys.executable, "-m", "penstock", "cog", "create", array.url, str(tmp_path / "y.tif")]
    want = CRS.from_string(SYSTEMS["azimuthal of equal area"])
    for text in (want.to_wkt(), SYSTEMS["azimuthal of equal area"]):
        subprocess.run([*create, "--crs", text, "--force"], check=True)
        assert crs_read_by_rasterio(tmp_path / "y.tif") == want
    (tmp_path / "y.tif").unlink()
    for more, reason in (
        (["--crs", SYSTEMS["Krovak, a text"]], "--crs: the CRS"),
        (["--crs", "no system"], "--crs: 'no system' is no CRS"),
        (["--crs", b"\xff["], "--crs: "),
        ([], "say another one: crs= of penstock.write_cog, --crs"),
    ):
        done = subprocess.run([*create, *more], capture_output=True, check=False)
        assert done.returncode != 0 and reason in done.stderr.decode(), done.stderr
    assert not list(tmp_path.glob("*.tif*"))


def test_the_system_of_another_raster_can_be_given(tmp_path: pathlib.Path) -> None:
    want = write(tmp_path / "x.tif", SYSTEMS["azimuthal of equal area"])
    crs = penstock.open(tmp_path / "x.tif").crs
    made = penstock.write_cog(np.zeros((4, 5), "u1"), tmp_path / "y.tif", crs=crs, transform=(2, 0, 7, 0, -3, 9))
    assert made.crs == crs
    with rasterio.open(tmp_path / "y.tif") as file:
        assert file.crs == want


@pytest.mark.parametrize(
    "name", ["azimuthal of equal area", "sinusoidal", "Mollweide, a text", "geographic", "heights"]
)
def test_xarray_shows_it_as_rioxarray_does(name: str, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "x.tif", SYSTEMS[name])
    ours = xr.open_dataset(tmp_path / "x.tif", engine="penstock")
    theirs = xr.open_dataset(tmp_path / "x.tif", engine="rasterio")
    assert ours.rio.crs == theirs.rio.crs
    assert set(ours.spatial_ref.attrs) == set(theirs.spatial_ref.attrs)
    for attribute, want in theirs.spatial_ref.attrs.items():
        if isinstance(want, float):
            assert ours.spatial_ref.attrs[attribute] == pytest.approx(want, rel=1e-12), attribute


def test_a_system_that_nobody_knows_is_no_system_in_xarray(tmp_path: pathlib.Path) -> None:
    # The projection of Alaska has no words outside GeoTIFF.
    keys = (1, 1, 0, 4, 1024, 0, 1, 1, 2048, 0, 1, 4326, 3072, 0, 1, 32767, 3075, 0, 1, 2)
    tifffile.imwrite(tmp_path / "x.tif", np.zeros((4, 5), "u1"), extratags=[(34735, 3, len(keys), keys, True)])
    with pytest.raises(penstock.UnsupportedError, match=r"key 3075 \(ProjMethod\): 2 is no method that PROJ knows"):
        _ = penstock.open(tmp_path / "x.tif").crs.wkt
    with pytest.warns(UserWarning, match="spatial_ref has no CRS: .*ProjMethod"):
        shown = xr.open_dataset(tmp_path / "x.tif", engine="penstock")
    assert shown.rio.crs is None
    np.testing.assert_array_equal(shown.band_data, np.zeros((1, 4, 5)))


def test_texts_of_the_file_are_no_commands_to_a_terminal(tmp_path: pathlib.Path) -> None:
    name, description = "x\x1b]0;title\x07\ny\x80", "a\x1b[2J\r\nb\x7f\x9bc " + "long " * 400
    keys = (1, 1, 0, 3, 1024, 0, 1, 2, 1026, 34737, len(name), 0, 2048, 0, 1, 32767)
    tags = [
        (34735, 3, len(keys), keys, True),
        (34737, 2, len(name) + 1, name.encode("latin-1") + b"\0", True),
        (270, 2, len(description) + 1, description.encode("latin-1") + b"\0", True),
    ]
    tifffile.imwrite(tmp_path / "x.tif", np.zeros((4, 5), "u1"), extratags=tags, metadata=None)
    command = [sys.executable, "-m", "penstock", "cog", "info", str(tmp_path / "x.tif")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert not any(ord(c) < 32 or 126 < ord(c) < 160 for c in text.replace("\n", ""))
    assert r"x\x1b]0;title\x07\ny?" in text and r"a\x1b[2J\x0d\nb\x7f\x9bc" in text
    assert f"... ({len(description) + 1} bytes)" in text
    told = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout)
    assert told["crs"]["name"] == name.replace("\x80", "?") == penstock.open(tmp_path / "x.tif").crs.name
    assert told["tags"]["TIFFTAG_IMAGEDESCRIPTION"] == description
    assert told["crs"]["wkt"] is None and "EllipsoidSemiMajorAxis" in told["crs"]["wkt_error"]


def test_the_command_tells_the_text(tmp_path: pathlib.Path) -> None:
    want = write(tmp_path / "x.tif", SYSTEMS["azimuthal of equal area"])
    command = [sys.executable, "-m", "penstock", "cog", "info", "--json", str(tmp_path / "x.tif")]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert CRS.from_wkt(told["crs"]["wkt"]) == want and told["crs"]["epsg"] is None
