"""TIFF files into CUDA memory: as into the host's, the same errors, and never what nobody wrote.  Only where there is a GPU."""

import pathlib

import numpy as np
import pytest
import tifffile

import penstock

SIDE, BLOCK = 640, 64


def image(dtype: str, bands: int = 1) -> np.ndarray:
    walk = np.random.default_rng(bands).normal(0, 3, (bands, SIDE, SIDE)).cumsum(-1) + 90
    return walk.astype(dtype)


def damaged(path: pathlib.Path, number: int, part: int) -> None:
    """Ones in a tile of the image, `part` tenths behind its begin."""
    with tifffile.TiffFile(path) as file:
        at, size = file.pages[0].dataoffsets[number], file.pages[0].databytecounts[number]
    content = bytearray(path.read_bytes())
    begin = at + size * part // 10
    content[begin : begin + 8] = b"\xff" * 8
    path.write_bytes(content)


@pytest.mark.parametrize("codec", ["none", "lzw", "deflate", "zstd"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex64"])
def test_levels_masks_and_windows(codec: str, dtype: str, tmp_path: pathlib.Path) -> None:
    data = image(dtype, 2)
    mask = (np.arange(SIDE) % 17 > 3).astype("u1") * np.ones((SIDE, 1), "u1")
    raster = penstock.write_cog(
        data, tmp_path / "x.tif", codec=codec, block=BLOCK, mask=mask, method="nearest", crs=32633,
        transform=(10, 0, 5e5, 0, -10, 5e6),
    )  # fmt: skip
    for level in raster.levels:
        np.testing.assert_array_equal(level.read(device="cuda").numpy(), level[...])
        np.testing.assert_array_equal(level.mask.read(device="cuda").numpy(), level.mask[...])
    window = raster.window(500_100, 4_995_000, 502_000, 4_999_000)
    np.testing.assert_array_equal(raster.read(window, device="cuda").numpy(), data[window])


@pytest.mark.parametrize("codec", ["lzw", "deflate", "zstd"])
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_beside_a_bad_tile(codec: str, dtype: str, tmp_path: pathlib.Path) -> None:
    data, path = image(dtype), tmp_path / "x.tif"
    penstock.write_cog(data, path, codec=codec, block=BLOCK, overviews=0, nodata=7)
    content = path.read_bytes()
    other = penstock.write_cog(np.full_like(data, 99), tmp_path / "y.tif", codec="none")
    row, column = 2 * BLOCK, 3 * BLOCK  # of tile 23
    refused = 0
    for part in range(2, 10):
        path.write_bytes(content)
        damaged(path, 23, part)
        raster = penstock.open(path)
        want = raster.read(on_error="fill")
        problems = [str(p) for p in raster.last_report.problems]
        refused += len(problems)
        if problems:
            assert (want[0, row : row + BLOCK, column : column + BLOCK] == 7).all()
            with pytest.raises(penstock.CorruptDataError, match=r"x\.tif: IFD at byte \d+: inner chunk 23") as host:
                raster[...]
            with pytest.raises(penstock.CorruptDataError) as device:
                raster.read(device="cuda")
            assert str(device.value) == str(host.value)
        around = want.copy()
        around[0, row : row + BLOCK, column : column + BLOCK] = data[0, row : row + BLOCK, column : column + BLOCK]
        np.testing.assert_array_equal(around, data)
        into = other.read(device="cuda")
        assert raster.read(out=into, on_error="fill") is into
        np.testing.assert_array_equal(into.numpy(), want)
        assert [str(p) for p in raster.last_report.problems] == problems
    assert refused > 0 or codec == "zstd"  # which has no checksum
