"""TIFF files as GDAL (by rasterio) and tifffile write them, read by penstock: every value equal."""

import itertools
import pathlib
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest
import rasterio
import tifffile
import zarr
from rasterio.transform import Affine, from_origin

import penstock

warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)

TYPES = (
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
CODECS = [("NONE", 1), ("PACKBITS", 1), *itertools.product(("LZW", "DEFLATE", "ZSTD"), (1, 2, 3))]


def values(bands: int, dtype: str, height: int = 70, width: int = 90) -> np.ndarray:
    walk = np.random.default_rng(bands).normal(0, 3, (bands, height, width)).cumsum(-1) + 50
    return (np.abs(walk) if dtype.startswith("u") else walk).astype(dtype)


def layouts() -> list[dict]:
    tiles = {"tiled": True, "blockxsize": 32, "blockysize": 16}
    return [
        {"bands": 1, **tiles},
        {"bands": 1, "blockysize": 16, "ENDIANNESS": "BIG"},
        {"bands": 3, "interleave": "PIXEL", "BIGTIFF": "YES", **tiles},
        {"bands": 3, "interleave": "PIXEL", "blockysize": 16},
        {"bands": 3, "interleave": "BAND", "ENDIANNESS": "BIG", "BIGTIFF": "YES", **tiles},
        {"bands": 2, "interleave": "BAND", "blockysize": 7},
    ]


@pytest.mark.parametrize("codec,predictor", CODECS)
def test_what_gdal_writes(codec: str, predictor: int, tmp_path: pathlib.Path) -> None:
    for dtype, layout in itertools.product(TYPES, layouts()):
        if (predictor == 3 and not dtype.startswith("float")) or (predictor == 2 and dtype.startswith("complex")):
            continue
        data = values(layout["bands"], dtype)
        options = {k: v for k, v in layout.items() if k != "bands"} | {"compress": codec}
        if predictor > 1:
            options["predictor"] = predictor
        with rasterio.open(
            tmp_path / "x.tif", "w", driver="GTiff", height=70, width=90, count=len(data), dtype=dtype, **options
        ) as file:
            file.write(data)
        array = penstock.open(tmp_path / "x.tif")
        assert array.shape == data.shape
        np.testing.assert_array_equal(np.asarray(array[...]), data, str((dtype, layout)))
        np.testing.assert_array_equal(np.asarray(array[-1, 13:67, 5:50:3]), data[-1, 13:67, 5:50:3])


@pytest.mark.parametrize("compression", [None, "lzw", "deflate", "zstd", "packbits"])
def test_what_tifffile_writes(compression: str | None, tmp_path: pathlib.Path) -> None:
    for dtype, options in itertools.product(
        ("uint8", "int16", "float16", "float64"), ({"tile": (32, 16)}, {"rowsperstrip": 9}, {"byteorder": ">"})
    ):
        data = values(1, dtype)[0]
        tifffile.imwrite(tmp_path / "x.tif", data, compression=compression, **options)
        np.testing.assert_array_equal(np.asarray(penstock.open(tmp_path / "x.tif")[0]), data)


def stored_whole(path: pathlib.Path) -> int:
    """Makes the last strip of a little-endian TIFF one of all rows, which go on behind the image.  Returns its bytes."""
    content = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        counts = page.tags["StripByteCounts"]
        last = page.dataoffsets[-1], page.databytecounts[-1]
        whole = page.databytecounts[0]
        letter = {3: "H", 4: "I"}[counts.dtype]
        at = counts.valueoffset + struct.calcsize(letter) * (counts.count - 1)
        offset_at = page.tags["StripOffsets"].valueoffset + 4 * (counts.count - 1)
    rows = bytes(content[last[0] : sum(last)]).ljust(whole, b"\7")
    struct.pack_into("<I", content, offset_at, len(content))
    struct.pack_into(f"<{letter}", content, at, whole)
    path.write_bytes(content + rows)
    return whole


@pytest.mark.parametrize("bands,planar", [(1, "contig"), (3, "contig"), (3, "separate")])
def test_a_last_strip_stored_whole(bands: int, planar: str, tmp_path: pathlib.Path) -> None:
    data = values(bands, "uint16")
    pixels = data[0] if bands == 1 else data if planar == "separate" else np.moveaxis(data, 0, -1)
    tifffile.imwrite(
        tmp_path / "x.tif", pixels, rowsperstrip=16, photometric="minisblack", byteorder="<",
        planarconfig=None if bands == 1 else planar,
    )  # fmt: skip
    assert stored_whole(tmp_path / "x.tif") > 0
    np.testing.assert_array_equal(np.asarray(penstock.open(tmp_path / "x.tif")[...]), data)
    with rasterio.open(tmp_path / "x.tif") as file:
        np.testing.assert_array_equal(file.read(), data)


@pytest.mark.parametrize(
    "layout", [{"tiled": True, "blockxsize": 32, "blockysize": 48}, {"blockysize": 16}, {"blockysize": 32}]
)
@pytest.mark.parametrize("bands,kind", [(1, "MINISBLACK"), (3, "YCBCR"), (3, "RGB"), (4, "MINISBLACK")])
def test_jpeg(layout: dict, bands: int, kind: str, tmp_path: pathlib.Path) -> None:
    data = np.clip(values(bands, "float32") * 3, 0, 255).astype("uint8")
    for interleave in ("PIXEL",) if kind == "YCBCR" else ("PIXEL", "BAND"):
        with rasterio.open(
            tmp_path / "x.tif", "w", driver="GTiff", height=70, width=90, count=bands, dtype="uint8", compress="JPEG",
            photometric=kind, interleave=interleave, JPEG_QUALITY=80, **layout,
        ) as file:  # fmt: skip
            file.write(data)
        with rasterio.open(tmp_path / "x.tif") as file:
            want = file.read()
        if kind == "YCBCR":  # whose JPEG library enlarges colours otherwise than libjpeg-turbo, that of GDAL in Debian
            want = tifffile.imread(tmp_path / "x.tif").transpose(2, 0, 1)
        np.testing.assert_array_equal(penstock.open(tmp_path / "x.tif")[...], want)
    damaged = bytearray((tmp_path / "x.tif").read_bytes())
    with tifffile.TiffFile(tmp_path / "x.tif") as tiff:
        offset, size = tiff.pages[0].dataoffsets[0], tiff.pages[0].databytecounts[0]
    damaged[offset + size // 2 : offset + size] = bytes(size - size // 2)
    (tmp_path / "y.tif").write_bytes(damaged)
    with pytest.raises(penstock.CorruptDataError, match=r"y\.tif.*tiff\.jpeg.*JPEG"):
        penstock.open(tmp_path / "y.tif")[...]


@pytest.mark.parametrize("codec", ["none", "lzw", "zip", "packbits"])
def test_bits_in_the_other_order(codec: str, tmp_path: pathlib.Path) -> None:
    data = values(1, "uint16")[0]
    tifffile.imwrite(tmp_path / "x.tif", data)
    subprocess.run(["tiffcp", "-f", "lsb2msb", "-c", codec, tmp_path / "x.tif", tmp_path / "y.tif"], check=True)
    with tifffile.TiffFile(tmp_path / "y.tif") as tiff:
        assert tiff.pages[0].fillorder == 2
    np.testing.assert_array_equal(penstock.open(tmp_path / "y.tif")[0], data)


@pytest.mark.parametrize("codec", ["none", "lzw", "zip", "packbits"])
@pytest.mark.parametrize("rows", [7, 16, 70])
def test_a_mask_of_bits_in_the_other_order(codec: str, rows: int, tmp_path: pathlib.Path) -> None:
    data, mask = values(1, "uint16")[0], np.random.default_rng(3).random((70, 90)) > 0.4
    with tifffile.TiffWriter(tmp_path / "x.tif") as file:
        file.write(data, photometric="minisblack")
        file.write(mask, photometric=4, subfiletype=4)
    command = ["tiffcp", "-f", "lsb2msb", "-c", codec, "-r", str(rows), tmp_path / "x.tif", tmp_path / "y.tif"]
    subprocess.run(command, check=True)
    with tifffile.TiffFile(tmp_path / "y.tif") as tiff:
        assert (tiff.pages[1].fillorder, tiff.pages[1].bitspersample) == (2, 1)
    raster = penstock.open(tmp_path / "y.tif")
    np.testing.assert_array_equal(raster[0], data)
    np.testing.assert_array_equal(raster.mask[0], np.where(mask, 255, 0))


def test_windows_of_many_files_in_one_call(tmp_path: pathlib.Path) -> None:
    rasters, wanted = [], []
    for i in range(3):
        data = values(2, "uint16") + i
        path = tmp_path / f"{i}.tif"
        with rasterio.open(
            path, "w", driver="GTiff", height=70, width=90, count=2, dtype="uint16", compress="LZW", tiled=True,
            blockxsize=32, blockysize=16,
        ) as file:  # fmt: skip
            file.write(data)
        for y, x in ((0, 0), (13, 40), (50, 60)):
            rasters.append((penstock.open(path), (slice(None), slice(y, y + 20), slice(x, x + 30))))
            wanted.append(data[:, y : y + 20, x : x + 30])
    for got, want in zip(penstock.read_many(rasters), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_absent_tiles_are_nodata(tmp_path: pathlib.Path) -> None:
    with rasterio.open(
        tmp_path / "x.tif", "w", driver="GTiff", height=64, width=64, count=1, dtype="int16", nodata=-7,
        tiled=True, blockxsize=16, blockysize=16, SPARSE_OK=True,
    ) as file:  # fmt: skip
        file.write(np.full((16, 16), 3, "i2"), 1, window=rasterio.windows.Window(16, 32, 16, 16))
    want = np.full((64, 64), -7, "i2")
    want[32:48, 16:32] = 3
    array = penstock.open(tmp_path / "x.tif")
    np.testing.assert_array_equal(np.asarray(array[0]), want)
    assert array.fill_value == -7


def test_the_place_is_told(tmp_path: pathlib.Path) -> None:
    with rasterio.open(
        tmp_path / "x.tif", "w", driver="GTiff", height=4, width=5, count=1, dtype="uint8", crs="EPSG:32633",
        transform=from_origin(500000, 5000000, 10, 20),
    ) as file:  # fmt: skip
        file.write(np.zeros((1, 4, 5), "u1"))
        transform = file.transform
    attributes = penstock.open(tmp_path / "x.tif").attrs
    assert attributes["proj:code"] == "EPSG:32633"
    assert Affine(*attributes["spatial:transform"]) == transform
    assert attributes["spatial:dimensions"] == ["y", "x"]


def test_a_copy_is_zarr(tmp_path: pathlib.Path) -> None:
    data = values(3, "uint16")
    with rasterio.open(
        tmp_path / "x.tif", "w", driver="GTiff", height=70, width=90, count=3, dtype="uint16", compress="LZW",
        predictor=2, interleave="PIXEL", tiled=True, blockxsize=32, blockysize=16,
    ) as file:  # fmt: skip
        file.write(data)
    penstock.copy(penstock.open(tmp_path / "x.tif"), tmp_path / "x.zarr")
    there = zarr.open_array(str(tmp_path / "x.zarr"))
    np.testing.assert_array_equal(there[...], data)
    assert there.metadata.dimension_names == ("band", "y", "x")


def test_damage_of_an_overview_or_mask_names_its_directory(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    penstock.write_cog(values(1, "uint16", 300, 300), path, block=64, mask=np.ones((300, 300), "u1"))
    content = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as tiff:
        image, mask = [page for page in tiff.pages if page.shape == (150, 150)]
        for page in (image, mask):
            content[page.dataoffsets[2] + 3 : page.dataoffsets[2] + 9] = b"\xff" * 6
    path.write_bytes(content)
    raster = penstock.open(path)
    raster[...]
    for array, page in ((raster.levels[1], image), (raster.levels[1].mask, mask)):
        with pytest.raises(
            penstock.CorruptDataError, match=rf"x\.tif: IFD at byte {page.offset}: .*chunk 2: .* at byte"
        ):
            array[...]
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "verify", path], check=False, capture_output=True, text=True
    )
    assert done.returncode == 65 and done.stdout.count("1 bad") == 2
    assert f"IFD at byte {image.offset}" in done.stdout and f"IFD at byte {mask.offset}" in done.stdout


def test_damage_is_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    with rasterio.open(path, "w", driver="GTiff", height=64, width=64, count=1, dtype="uint8", compress="LZW",
                       tiled=True, blockxsize=16, blockysize=16) as file:  # fmt: skip
        file.write(values(1, "uint8", 64, 64))
    whole = path.read_bytes()
    with tifffile.TiffFile(path) as tiff:
        offset = tiff.pages[0].dataoffsets[5]
    path.write_bytes(whole[: offset + 1] + b"\xff\xff" + whole[offset + 3 :])
    with pytest.raises(penstock.CorruptDataError, match=r"x\.tif: IFD at byte \d+: inner chunk 5.*tiff\.lzw.*at byte"):
        penstock.open(path)[...]
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(penstock.CorruptDataError):
        penstock.open(path)[...]
    path.write_bytes(whole[:100])
    with pytest.raises(penstock.CorruptDataError, match="IFD at byte"):
        penstock.open(path)
