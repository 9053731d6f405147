"""What a raster file says of itself, in a COG of it, in a Zarr array of it, and in a COG of that: as rasterio (GDAL) sees it."""

from __future__ import annotations

import json
import pathlib
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import rasterio
import tifffile
from rasterio.control import GroundControlPoint
from rasterio.enums import ColorInterp
from rasterio.rpc import RPC
from rasterio.transform import Affine, from_origin

import penstock

warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)

PLACE: dict[str, Any] = {"crs": "EPSG:32633", "transform": from_origin(5e5, 5e6, 10, 20)}
LAEA = "+proj=laea +lat_0=12.5 +lon_0=7.25 +x_0=3 +y_0=5 +datum=WGS84 +units=m"
SINUSOIDAL = "+proj=sinu +lon_0=0 +x_0=0 +y_0=0 +R=6371007.181 +units=m"  # MODIS
OWN_GRID = 'LOCAL_CS["my grid",UNIT["metre",1]]'


def image(bands: int = 1, dtype: str = "u1") -> np.ndarray:
    return np.random.default_rng(bands).integers(0, 250, (bands, 70, 90)).astype(dtype)


def write(
    path: pathlib.Path, data: np.ndarray, more: Callable[[Any], object] = lambda _: None, **options: Any
) -> pathlib.Path:
    shape = {"count": data.shape[0], "height": data.shape[1], "width": data.shape[2]}
    with rasterio.open(path, "w", driver="GTiff", dtype=data.dtype, **shape, **options) as file:
        more(file)  # first: a colormap that comes later goes into a file beside it
        file.write(data)
    return path


def facts(path: pathlib.Path) -> dict[str, Any]:
    with rasterio.open(path) as file:
        domains = [name for name in file.tag_namespaces() if name not in ("IMAGE_STRUCTURE", "DERIVED_SUBDATASETS")]
        return {
            "crs": file.crs and file.crs.to_wkt(),
            "transform": tuple(file.transform)[:6],
            "nodata": repr(file.nodata),
            "bands": (file.scales, file.offsets, tuple(u or "" for u in file.units), file.descriptions),
            "colors": [color.name for color in file.colorinterp],
            "colormap": file.colormap(1) if file.colorinterp[0].name == "palette" else None,
            "white is zero": file.tags(ns="IMAGE_STRUCTURE").get("MINISWHITE"),
            "tags": file.tags(),
            "domains": {name: file.tags(ns=name) for name in domains},
            "tags of bands": [(file.tags(i), file.tags(i, ns="THEIRS")) for i in file.indexes],
            "gcps": ([(p.row, p.col, p.x, p.y, p.z) for p in file.gcps[0]], file.gcps[1] and file.gcps[1].to_wkt()),
            "rpcs": file.rpcs and file.rpcs.to_dict(),
            "elements": file.read().tolist(),
        }


def colored(file: Any) -> None:
    count = 256 if file.dtypes[0] == "uint8" else 65536
    file.write_colormap(1, {i: (i % 256, 255 - i % 256, 7 * i % 256, 255) for i in range(count)})


def tagged(file: Any) -> None:
    file.update_tags(
        TIFFTAG_DOCUMENTNAME="a name", TIFFTAG_IMAGEDESCRIPTION="a <picture> & more", TIFFTAG_SOFTWARE="a program",
        TIFFTAG_DATETIME="2026:01:02 03:04:05", TIFFTAG_ARTIST="Zoë", TIFFTAG_HOSTCOMPUTER="this",
        TIFFTAG_COPYRIGHT="nobody's", TIFFTAG_XRESOLUTION="300", TIFFTAG_YRESOLUTION="2.7182818",
        TIFFTAG_RESOLUTIONUNIT="3 (pixels/cm)", OTHER="text",
    )  # fmt: skip
    file.update_tags(ns="MINE", A="1 & <2>", B="é")
    file.update_tags(1, ns="THEIRS", C="d")
    file.update_tags(1, STATISTICS_MAXIMUM="249", KIND="k")


def said_of_bands(file: Any) -> None:
    file.scales, file.offsets, file.units = (0.1, 2.5e-3), (-273.15, 7), ("K", "m")
    file.descriptions = ('t <&> "q"', "höhe")


def points() -> list[GroundControlPoint]:
    return [GroundControlPoint(row=r, col=c, x=10 + 2 * c + r, y=50 - r, z=3) for r, c in [(0, 0), (0, 80), (60.5, 41)]]


def rpc() -> RPC:
    numbers = [float(i) for i in range(20)]
    return RPC(
        height_off=1, height_scale=2, lat_off=3, lat_scale=4, long_off=5, long_scale=6, line_off=30, line_scale=31,
        samp_off=40, samp_scale=41, line_num_coeff=numbers, line_den_coeff=numbers[::-1], samp_num_coeff=[2.5] * 20,
        samp_den_coeff=[0.25] * 20, err_bias=0.5, err_rand=0.25,
    )  # fmt: skip


XMP = '<?xpacket begin="\ufeff" id="x"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><a>1 &amp; 2\r\n</a></x:xmpmeta>  '
ICC = bytes(range(256)) * 3


def with_profiles(path: pathlib.Path, more: tuple[Any, ...] = (), **options: Any) -> pathlib.Path:
    tags = [(700, 1, len(XMP.encode()), XMP.encode(), True), *more]
    tifffile.imwrite(path, image(3).transpose(1, 2, 0), photometric="rgb", iccprofile=ICC, extratags=tags, **options)
    return path


CASES: dict[str, Callable[[pathlib.Path], object]] = {
    "palette": lambda path: write(path, image(), colored, **PLACE),
    "palette of 16 bits": lambda path: write(path, image(dtype="u2"), colored, **PLACE),
    "alpha": lambda path: write(path, image(4), photometric="RGB", ALPHA="YES", **PLACE),
    "premultiplied alpha": lambda path: write(path, image(4), photometric="RGB", ALPHA="PREMULTIPLIED", **PLACE),
    "gray and alpha": lambda path: write(path, image(2), ALPHA="YES", **PLACE),
    "three bands that are no colors": lambda path: write(path, image(3), photometric="MINISBLACK", **PLACE),
    "colors of 16 bits": lambda path: write(path, image(3, "u2"), photometric="RGB", **PLACE),
    "inks": lambda path: write(path, image(4), photometric="CMYK", **PLACE),
    "other kinds of light": lambda path: write(
        path,
        image(3),
        lambda f: setattr(f, "colorinterp", (ColorInterp.blue, ColorInterp.gray, ColorInterp.nir)),
        **PLACE,
    ),
    "white is zero": lambda path: write(path, image(), photometric="MINISWHITE", **PLACE),
    "tags": lambda path: write(path, image(), tagged, **PLACE),
    "bands": lambda path: write(path, image(2, "i2"), said_of_bands, nodata=-5, **PLACE),
    "crs by parameters": lambda path: write(path, image(), crs=LAEA, transform=from_origin(7, 9, 2, 3)),
    "crs of a sphere": lambda path: write(path, image(), crs=SINUSOIDAL, transform=from_origin(7, 9, 2, 3)),
    "crs of its own": lambda path: write(path, image(), crs=OWN_GRID, transform=from_origin(7, 9, 2, 3)),
    "crs and heights": lambda path: write(path, image(), crs="EPSG:32633+5773", transform=from_origin(7, 9, 2, 3)),
    "crs by parameters, middles": lambda path: write(
        path, image(), lambda f: f.update_tags(AREA_OR_POINT="Point"), crs=LAEA, transform=from_origin(7, 9, 2, 3)
    ),
    "middles, rotated": lambda path: write(
        path, image(), lambda f: f.update_tags(AREA_OR_POINT="Point"), crs=3035, transform=Affine(8, 3, 4e6, 2, -9, 3e6)
    ),
    "south up": lambda path: write(path, image(), crs="EPSG:32733", transform=Affine(10, 0, 5e5, 0, 10, 8e6)),
    "control points": lambda path: write(path, image(), gcps=points(), crs="EPSG:4326"),
    "sensor": lambda path: write(path, image(), rpcs=rpc()),
    "profiles": lambda path: with_profiles(path, description="a picture", software="s", datetime="2026:01:02 03:04:05"),
    "nodata of complex numbers": lambda path: write(path, image(1, "c8"), nodata=7, **PLACE),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_lost(case: str, tmp_path: pathlib.Path) -> None:
    CASES[case](tmp_path / "x.tif")
    want = facts(tmp_path / "x.tif")
    penstock.write_cog(penstock.open(tmp_path / "x.tif"), tmp_path / "cog.tif", block=64, method="nearest")
    assert facts(tmp_path / "cog.tif") == want
    penstock.copy(penstock.open(tmp_path / "x.tif"), tmp_path / "x.zarr")
    penstock.write_cog(penstock.open(tmp_path / "x.zarr"), tmp_path / "by_zarr.tif", block=64, method="nearest")
    assert facts(tmp_path / "by_zarr.tif") == want


def test_names_are_those_of_rasterio(tmp_path: pathlib.Path) -> None:
    for case in ("palette", "alpha", "three bands that are no colors", "bands", "tags", "sensor"):
        CASES[case](tmp_path / "x.tif")
        raster = penstock.open(tmp_path / "x.tif")
        with rasterio.open(tmp_path / "x.tif") as file:
            assert list(raster.colorinterp) == [color.name for color in file.colorinterp]
            assert raster.units == tuple(unit or "" for unit in file.units)
            assert raster.descriptions == tuple(text or "" for text in file.descriptions)
            if case == "palette":
                assert raster.colormap == {i: color[:3] for i, color in file.colormap(1).items()}
            else:
                assert raster.colormap is None
            if case == "tags":
                assert raster.domains["MINE"] == file.tags(ns="MINE")
                assert raster.bands[0].domains == {"THEIRS": file.tags(1, ns="THEIRS")}
            assert (raster.rpc is not None) == (file.rpcs is not None)
            if raster.rpc is not None:
                assert raster.rpc[2:4] == (file.rpcs.line_off, file.rpcs.samp_off)


def test_a_new_file_says_what_it_is_told(tmp_path: pathlib.Path) -> None:
    with rasterio.open(write(tmp_path / "x.tif", image(), **PLACE)) as file:
        crs, transform = file.crs, file.transform
    colors = {0: (1, 2, 3), 7: (255, 128, 0, 255)}
    tags = {
        "AREA_OR_POINT": "Point",
        "TIFFTAG_SOFTWARE": "mine",
        "TIFFTAG_XRESOLUTION": "72.5",
        "TIFFTAG_YRESOLUTION": "1",
    }
    penstock.write_cog(
        image()[0], tmp_path / "y.tif", crs=crs, transform=transform, colormap=colors, tags=tags, units=["class"],
        descriptions=["land cover"],
    )  # fmt: skip
    with rasterio.open(tmp_path / "y.tif") as file:
        assert file.crs == crs and file.transform == transform and file.tags() == tags
        assert file.colormap(1)[7] == (255, 128, 0, 255) and file.colormap(1)[0] == (1, 2, 3, 255)
        assert file.units == ("class",) and file.descriptions == ("land cover",)
    penstock.write_cog(image(4), tmp_path / "z.tif", colorinterp=["red", "green", "blue", "alpha"])
    with rasterio.open(tmp_path / "z.tif") as file:
        assert [color.name for color in file.colorinterp] == ["red", "green", "blue", "alpha"]
    for options in (
        {"scales": [1, 2]}, {"descriptions": ["a", "b"]}, {"colormap": {256: (0, 0, 0)}}, {"colormap": {1: (0, 0, 256)}},
        {"tags": {"A": "b\x01"}}, {"tags": {"TIFFTAG_XRESOLUTION": "72 dpi"}}, {"tags": {"TIFFTAG_RESOLUTIONUNIT": "inch"}},
        {"crs": "laea"}, {"crs": 'PROJCS["x"]'}, {"crs": None, "tags": {"A": "\x01"}},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            penstock.write_cog(image()[0], tmp_path / "bad.tif", **options)
    assert not (tmp_path / "bad.tif").exists()


def test_overviews_of_a_palette_hold_no_colors_between_two(tmp_path: pathlib.Path) -> None:
    data = np.random.default_rng(3).choice([3, 200], (1, 200, 300)).astype("u1")
    write(tmp_path / "x.tif", data, colored, **PLACE)
    made = penstock.write_cog(penstock.open(tmp_path / "x.tif"), tmp_path / "y.tif", block=64)
    for level in made.levels:
        assert set(np.unique(level[...])) == {3, 200}
    plain = penstock.write_cog(data, tmp_path / "z.tif", block=64)
    assert len(np.unique(plain.levels[1][...])) > 2


def test_an_overview_or_a_mask_lies_where_it_is(tmp_path: pathlib.Path) -> None:
    """A level by itself has pixels of its own size, its own mask and no statistics of the image."""
    data = np.arange(150 * 200, dtype="i2").reshape(1, 150, 200)
    mask = (np.arange(200) % 40 > 8) * np.ones((150, 1), "u1")
    write(tmp_path / "x.tif", data, tagged, nodata=-5, **PLACE)
    whole = penstock.write_cog(
        penstock.open(tmp_path / "x.tif"), tmp_path / "whole.tif", block=64, mask=mask.astype("u1")
    )
    half = whole.levels[1]
    penstock.copy(half, tmp_path / "half.zarr")
    for name, source in (("half", half), ("by_zarr", penstock.open(tmp_path / "half.zarr"))):
        made = penstock.write_cog(source, tmp_path / f"{name}.tif", block=64, method="nearest")
        np.testing.assert_array_equal(made[...], half[...])
        assert made.transform == half.transform == (20, 0, 5e5, 0, -40, 5e6) and made.crs == whole.crs
        assert made.bounds == whole.bounds and made.nodata == -5
        assert made.bands[0].tags == {"KIND": "k"}
        if name == "half":
            np.testing.assert_array_equal(made.mask[...], half.mask[...])
    made = penstock.write_cog(half.mask, tmp_path / "mask.tif", block=64)
    np.testing.assert_array_equal(made[...], half.mask[...])
    assert made.transform == half.transform and made.mask is None and made.nodata is None


def test_a_part_has_no_statistics_of_the_whole(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "x.tif", image(), tagged, rpcs=rpc())
    raster = penstock.open(tmp_path / "x.tif")
    penstock.copy(raster, tmp_path / "part.tif", selection=(slice(None), slice(10, 60), slice(20, 50)))
    penstock.copy(raster, tmp_path / "part.zarr", selection=(slice(None), slice(10, 60), slice(20, 50)))
    penstock.write_cog(penstock.open(tmp_path / "part.zarr"), tmp_path / "by_zarr.tif")
    for name in ("part", "by_zarr"):
        made = penstock.open(tmp_path / f"{name}.tif")
        assert made.bands[0].tags == {"KIND": "k"}
        assert made.rpc[2:4] == (20, 20) and made.rpc[7:9] == (31, 41)


def xml(path: pathlib.Path, items: str | bytes) -> pathlib.Path:
    content = items if isinstance(items, bytes) else items.encode()
    content = b"<GDALMetadata>" + content + b"</GDALMetadata>"
    extra = [(42112, 2, len(content) + 1, content + b"\0", True)]
    tifffile.imwrite(path, image(2), photometric="minisblack", planarconfig="separate", extratags=extra, metadata=None)
    return path


def test_texts_that_are_no_utf8_or_no_xml(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    assert penstock.open(xml(path, b'<Item name="a">caf\xe9</Item>')).tags["a"] == "café"
    assert penstock.open(xml(path, b'<Item name="a">b\x01c</Item>')).tags["a"] == "b\ufffdc"
    tifffile.imwrite(path, image()[0], extratags=[(315, 2, 4, b"Zo\xeb\0", True)], metadata=None)
    raster = penstock.open(path)
    assert raster.tags["TIFFTAG_ARTIST"] == "Zoë"
    penstock.copy(raster, tmp_path / "x.zarr")
    assert penstock.open(tmp_path / "x.zarr").attrs["raster"]["tags"]["TIFFTAG_ARTIST"] == "Zoë"


def test_a_scale_is_read_or_refused(tmp_path: pathlib.Path) -> None:
    """Never taken for 1."""
    path = tmp_path / "x.tif"
    for text in (" 0.5 ", "+0.5", "5e-1\n"):
        raster = penstock.open(xml(path, f'<Item name="SCALE" sample="1" role="scale">{text}</Item>'))
        assert raster.scales == (1, 0.5)
    assert penstock.open(xml(path, '<Item name="SCALE" sample="0" role="Scale">3</Item>')).scales == (3, 1)
    for item in (
        '<Item name="SCALE" sample="0" role="scale">abc</Item>',
        '<Item name="OFFSET" sample="0" role="offset">1,5</Item>',
        '<Item name="SCALE" sample="first" role="scale">2</Item>',
    ):
        with pytest.raises(penstock.MetadataError, match=r"x\.tif.*tag 42112"):
            _ = penstock.open(xml(path, item)).scales


def test_profiles_are_those_of_the_file(tmp_path: pathlib.Path) -> None:
    raster = penstock.open(with_profiles(tmp_path / "x.tif"))
    with rasterio.open(tmp_path / "x.tif") as file:
        assert raster.domains == {name: file.tags(ns=name) for name in ("COLOR_PROFILE", "xml:XMP")}
    penstock.write_cog(raster, tmp_path / "y.tif")
    with tifffile.TiffFile(tmp_path / "y.tif") as made:
        fields = made.pages[0].tags
        assert fields[34675].value == ICC and fields[700].value == XMP.encode()
        assert 42112 not in fields  # not among GDAL's metadata a second time
    # A profile of three colors says nothing of one.
    penstock.copy(raster, tmp_path / "red.tif", selection=(slice(0, 1), ...))
    assert set(penstock.open(tmp_path / "red.tif").domains) == {"xml:XMP"}


def test_what_a_copy_does_not_keep_is_said(tmp_path: pathlib.Path) -> None:
    more = (
        (274, 3, 1, 6, True),
        (33723, 7, 8, b"iptcdata", True),
        (34664, 4, 1, 8, True),
        (65000, 3, 2, (1, 2), True),
    )
    path = with_profiles(tmp_path / "x.tif", more)
    field = struct.pack("<HHI", 34664, 4, 1)  # tifffile writes no EXIF
    assert path.read_bytes().count(field) == 1
    path.write_bytes(path.read_bytes().replace(field, struct.pack("<HHI", 34665, 4, 1)))
    raster = penstock.open(path)
    left = ("orientation (field 274)", "IPTC (field 33723)", "EXIF (field 34665)", "field 65000")
    assert raster.other_fields == left
    made = penstock.write_cog(raster, tmp_path / "y.tif")
    assert made.other_fields == ()
    said = [stage for stage in made.last_report.stages if stage.stage == "describe"]
    assert [stage.reason for stage in said] == ["not kept: " + ", ".join(left)]
    command = [sys.executable, "-m", "penstock", "copy", str(tmp_path / "x.tif")]
    done = subprocess.run([*command, str(tmp_path / "x.zarr")], check=True, capture_output=True, text=True)
    assert f"not copied: {', '.join(left)}" in done.stderr
    done = subprocess.run([*command, str(tmp_path / "z.tif"), "--json"], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["stages"][-1]["reason"] == "not kept: " + ", ".join(left)
    plain = penstock.write_cog(penstock.open(with_profiles(tmp_path / "plain.tif")), tmp_path / "y2.tif")
    assert all(stage.stage != "describe" for stage in plain.last_report.stages)


def test_profiles_that_are_none_are_not_kept(tmp_path: pathlib.Path) -> None:
    for xmp in ("é".encode("latin-1"), "<a/>".encode("utf-16")):
        tifffile.imwrite(tmp_path / "x.tif", image(1)[0], extratags=[(700, 1, len(xmp), xmp, True)])
        raster = penstock.open(tmp_path / "x.tif")
        assert raster.domains == {} and raster.other_fields == ("XMP that is no UTF-8 (field 700)",)
        penstock.write_cog(raster, tmp_path / "y.tif", overwrite=True)
    penstock.copy(penstock.open(with_profiles(tmp_path / "p.tif")), tmp_path / "p.zarr")
    array = penstock.open(tmp_path / "p.zarr")
    attrs = dict(array.attrs)
    attrs["raster"]["domains"]["COLOR_PROFILE"]["SOURCE_ICC_PROFILE"] = "no base64!"
    changed = penstock.create(tmp_path / "q.zarr", shape=array.shape, dtype=array.dtype, attributes=attrs)
    with pytest.raises(ValueError, match="SOURCE_ICC_PROFILE of domain COLOR_PROFILE is no base64"):
        penstock.write_cog(changed, tmp_path / "q.tif")
    assert not (tmp_path / "q.tif").exists()


def test_texts_of_their_own_fields_hold_any_character(tmp_path: pathlib.Path) -> None:
    text = "a\x0cpage\x01\r\nand more"
    tifffile.imwrite(tmp_path / "x.tif", image(1)[0], description=text, metadata=None)
    made = penstock.write_cog(penstock.open(tmp_path / "x.tif"), tmp_path / "y.tif")
    assert made.tags["TIFFTAG_IMAGEDESCRIPTION"] == text
    with rasterio.open(tmp_path / "y.tif") as file:
        assert file.tags()["TIFFTAG_IMAGEDESCRIPTION"] == text


def test_a_long_description_is_whole(tmp_path: pathlib.Path) -> None:
    text = "<OME>" + "0123456789" * 300_000 + "</OME>"
    tifffile.imwrite(tmp_path / "x.tif", image(1)[0], description=text, metadata=None)
    made = penstock.write_cog(penstock.open(tmp_path / "x.tif"), tmp_path / "y.tif")
    assert made.tags["TIFFTAG_IMAGEDESCRIPTION"] == text


def with_statistics(path: pathlib.Path) -> pathlib.Path:
    def told(file: Any) -> None:
        file.update_tags(1, STATISTICS_MAXIMUM="249", STATISTICS_MEAN="120", KIND="k")
        file.update_tags(2, STATISTICS_MAXIMUM="248", KIND="l")

    return write(path, image(2), told, **PLACE)


def test_statistics_of_other_elements_are_dropped(tmp_path: pathlib.Path) -> None:
    raster = penstock.open(with_statistics(tmp_path / "x.tif"))
    penstock.copy(raster, tmp_path / "x.zarr")
    assert penstock.open(tmp_path / "x.zarr").attrs["raster"]["bands"][0]["tags"]["STATISTICS_MAXIMUM"] == "249"
    command = [
        sys.executable,
        "-m",
        "penstock",
        "op",
        "--quiet",
        "--do",
        "multiply value=0.5",
        str(tmp_path / "x.zarr"),
    ]
    subprocess.run([*command, str(tmp_path / "half.zarr")], check=True)
    penstock.copy(
        penstock.open(tmp_path / "x.zarr"), tmp_path / "part.zarr", selection=(slice(1, 2), slice(3, 60), ...)
    )
    for name, kinds in (("half", ["k", "l"]), ("part", ["l"])):
        bands = penstock.open(tmp_path / f"{name}.zarr").attrs["raster"]["bands"]
        assert [band["tags"] for band in bands] == [{"KIND": kind} for kind in kinds]
        penstock.copy(penstock.open(tmp_path / f"{name}.zarr"), tmp_path / f"{name}.tif")
        with rasterio.open(tmp_path / f"{name}.tif") as file:
            assert [file.tags(i) for i in file.indexes] == [{"KIND": kind} for kind in kinds]


def test_a_part_of_a_zarr_copy_lies_where_it_lay(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "x.tif", image(), gcps=points(), crs="EPSG:4326")
    penstock.copy(penstock.open(tmp_path / "x.tif"), tmp_path / "x.zarr")
    part = (slice(None), slice(10, 50), slice(20, 80))
    penstock.copy(penstock.open(tmp_path / "x.zarr"), tmp_path / "by_zarr.zarr", selection=part)
    penstock.copy(penstock.open(tmp_path / "by_zarr.zarr"), tmp_path / "by_zarr.tif")
    penstock.copy(penstock.open(tmp_path / "x.tif"), tmp_path / "at_once.tif", selection=part)
    assert penstock.open(tmp_path / "by_zarr.tif").gcps == penstock.open(tmp_path / "at_once.tif").gcps


def test_keys_of_two_systems_are_two_systems(tmp_path: pathlib.Path) -> None:
    for name, crs in (("a", LAEA), ("b", LAEA.replace("12.5", "13.5")), ("c", LAEA)):
        write(tmp_path / f"{name}.tif", image(), crs=crs, transform=from_origin(7, 9, 2, 3))
    a, b, c = (penstock.open(tmp_path / f"{name}.tif").crs for name in "abc")
    assert a.name == b.name and a != b and a == c and hash(a) == hash(c)
