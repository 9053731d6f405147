"""TIFF files as they should not be, made byte by byte: what is wrong is named with file, tile and byte, what is merely
unusual is read, and no file makes more than it is allowed to."""

from __future__ import annotations

import os
import pathlib
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tifffile
from numcodecs import Zstd
from numpy.typing import NDArray

import penstock

SIDE, TILE = 64, 32
SHORT, LONG, LONG8 = 3, 4, 16
CODES = {"none": 1, "lzw": 5, "deflate": 8, "packbits": 32773, "zstd": 50000}
Place = tuple[int, int]


def image() -> NDArray[np.uint8]:
    y, x = np.mgrid[:SIDE, :SIDE]
    return ((y * 3 + x * 5) % 23).astype("u1")


def tiles_of(data: NDArray[np.uint8]) -> list[bytes]:
    return [data[y : y + TILE, x : x + TILE].tobytes() for y in range(0, SIDE, TILE) for x in range(0, SIDE, TILE)]


def tiff(
    tiles: list[bytes], codec: str = "none", *, places: Callable[[list[Place]], list[Place]] | None = None, big: bool = False,
    **tags: int,
) -> bytes:  # fmt: skip
    """A file of tiles, behind each other; `places` changes what the tables say of them, `tags` (t256=...) fields."""
    word, pointer = (8, "<Q") if big else (4, "<I")
    head = 16 if big else 8
    lies, at = [], head
    for tile in tiles:
        lies.append((at, len(tile)))
        at += len(tile)
    said = places(lies) if places else lies
    fields: dict[int, tuple[int, list[int]]] = {
        256: (LONG, [SIDE]), 257: (LONG, [SIDE]), 258: (SHORT, [8]), 259: (SHORT, [CODES[codec]]), 262: (SHORT, [1]),
        277: (SHORT, [1]), 322: (LONG, [TILE]), 323: (LONG, [TILE]),
        324: (LONG8 if big else LONG, [o for o, _ in said]), 325: (LONG8 if big else LONG, [n for _, n in said]),
    }  # fmt: skip
    for name, value in tags.items():
        fields[int(name[1:])] = (LONG, [value])
    ifd, far = at, at + (8 if big else 2) + len(fields) * (20 if big else 12) + word
    body, behind = struct.pack("<Q" if big else "<H", len(fields)), b""
    for tag, (kind, values) in sorted(fields.items()):
        packed = struct.pack(f"<{len(values)}{({SHORT: 'H', LONG: 'I', LONG8: 'Q'})[kind]}", *values)
        body += struct.pack("<HH", tag, kind) + struct.pack(pointer, len(values))
        body += packed.ljust(word, b"\0") if len(packed) <= word else struct.pack(pointer, far + len(behind))
        behind += packed if len(packed) > word else b""
    start = struct.pack("<2sHHHQ", b"II", 43, 8, 0, ifd) if big else struct.pack("<2sHI", b"II", 42, ifd)
    return start + b"".join(tiles) + body + bytes(word) + behind


def packed(codec: str, tile: bytes) -> bytes:
    if codec == "deflate":
        return zlib.compress(tile)
    if codec == "zstd":
        return bytes(Zstd().encode(tile))
    return tile


def opened(path: pathlib.Path, content: bytes) -> Any:
    path.write_bytes(content)
    return penstock.open(path)


def other(number: int, place: Place) -> Callable[[list[Place]], list[Place]]:
    """Tile `number` lies elsewhere."""
    return lambda lies: [*lies[:number], place, *lies[number + 1 :]]


@pytest.mark.parametrize("codec", ["none", "deflate", "zstd"])
@pytest.mark.parametrize("big", [False, True])
def test_the_maker_makes_files(codec: str, big: bool, tmp_path: pathlib.Path) -> None:
    content = tiff([packed(codec, tile) for tile in tiles_of(image())], codec, big=big)
    np.testing.assert_array_equal(opened(tmp_path / "x.tif", content)[0], image())


@pytest.mark.parametrize("place", [(1 << 20, 100), (8, 1 << 20), ((1 << 64) - 8, 16), (1 << 63, 1 << 63), (0, 1 << 40)])
def test_tiles_beyond_the_end_are_named(place: Place, tmp_path: pathlib.Path) -> None:
    raster = opened(tmp_path / "x.tif", tiff(tiles_of(image()), big=True, places=other(2, place)))
    np.testing.assert_array_equal(raster[0, :TILE], image()[:TILE])
    with pytest.raises(penstock.CorruptDataError, match=r"x\.tif.*chunk 2"):
        raster[...]


@pytest.mark.parametrize("codec", ["none", "deflate", "zstd", "lzw", "packbits"])
def test_tiles_of_too_few_bytes_are_errors(codec: str, tmp_path: pathlib.Path) -> None:
    tiles = [packed(codec, tile) for tile in tiles_of(image())]
    if codec in ("lzw", "packbits"):
        tiles = [tile_by_tifffile(tmp_path / "t.tif", codec)] * 4
    for keep in (1, 2, len(tiles[1]) // 2):
        cut = [tiles[0], tiles[1][:keep], *tiles[2:]]
        raster = opened(tmp_path / "x.tif", tiff(cut, codec))
        with pytest.raises(penstock.CorruptDataError, match=r"x\.tif.*chunk 1"):
            raster[...]
        read = np.full((1, SIDE, SIDE), 99, "u1")
        raster.read(out=read, on_error="fill")
        assert (read[0, :TILE, TILE:] == 0).all(), "what nobody wrote"
        np.testing.assert_array_equal(read[0, TILE:], raster[0, TILE:])


def tile_by_tifffile(path: pathlib.Path, codec: str) -> bytes:
    tifffile.imwrite(path, image()[:TILE, :TILE], tile=(TILE, TILE), compression=codec)
    with tifffile.TiffFile(path) as file:
        at, size = file.pages[0].dataoffsets[0], file.pages[0].databytecounts[0]
    return path.read_bytes()[at : at + size]


@pytest.mark.parametrize("codec", ["deflate", "zstd"])
def test_a_tile_ends_when_it_is_full(codec: str, tmp_path: pathlib.Path) -> None:
    tiles = tiles_of(image())
    unusual = [
        packed(codec, tiles[0] + bytes(5000)),  # as long as a taller strip
        packed(codec, tiles[1]) + b"\0\0\0",  # filled up
        packed(codec, tiles[2]) + packed(codec, tiles[0]),
        packed(codec, tiles[3]),
    ]
    np.testing.assert_array_equal(opened(tmp_path / "x.tif", tiff(unusual, codec))[0], image())
    damaged = bytearray(packed(codec, tiles[1]))
    damaged[len(damaged) // 2] ^= 0x10
    with pytest.raises(penstock.CorruptDataError, match=r"x\.tif.*chunk 1.*byte"):
        opened(tmp_path / "x.tif", tiff([packed(codec, tiles[0]), bytes(damaged), *unusual[2:]], codec))[...]


def test_a_wrong_checksum_is_damage(tmp_path: pathlib.Path) -> None:
    tiles = [zlib.compress(tile) for tile in tiles_of(image())]
    tiles[3] = tiles[3][:-1] + bytes([tiles[3][-1] ^ 1])
    with pytest.raises(penstock.CorruptDataError, match=r"x\.tif.*chunk 3.*check"):
        opened(tmp_path / "x.tif", tiff(tiles, "deflate"))[...]


def test_damage_that_makes_a_stream_longer(tmp_path: pathlib.Path) -> None:
    """The tile is full before the checksum comes."""
    tiles = [zlib.compress(tile) for tile in tiles_of(image())]
    for more in (1, 500):
        longer = bytearray(zlib.compress(tiles_of(image())[2] + bytes(more)))
        np.testing.assert_array_equal(
            opened(tmp_path / "x.tif", tiff([*tiles[:2], bytes(longer), tiles[3]], "deflate"))[0], image()
        )
        longer[-1] ^= 1
        with pytest.raises(penstock.CorruptDataError, match=r"x\.tif.*chunk 2.*check"):
            opened(tmp_path / "x.tif", tiff([*tiles[:2], bytes(longer), tiles[3]], "deflate"))[...]


def test_sizes_inside_of_streams_are_not_believed(tmp_path: pathlib.Path) -> None:
    """A zstd frame that says it holds 2^60 bytes: nothing is allocated for it."""
    tiles = [bytes(Zstd().encode(tile)) for tile in tiles_of(image())]
    tiles[0] = struct.pack("<IB", 0xFD2FB528, 0xC0) + b"\x88" + struct.pack("<Q", 1 << 60) + b"\x01\x00\x00"
    with pytest.raises(penstock.CorruptDataError, match=r"x\.tif.*chunk 0"):
        opened(tmp_path / "x.tif", tiff(tiles, "zstd"))[...]


def test_tiles_larger_than_the_image(tmp_path: pathlib.Path) -> None:
    one = opened(tmp_path / "x.tif", tiff([bytes(256 * 256)], t322=256, t323=256))
    assert (one[...] == 0).all()
    with pytest.raises(penstock.MetadataError, match=r"x\.tif.*they may have 67108864"):
        opened(tmp_path / "x.tif", tiff([bytes(16)], t322=65520, t323=65520))[...]


@pytest.mark.parametrize("field", ["t256", "t257", "t322", "t323"])
@pytest.mark.parametrize("size", [0, 1, 31, 65536, 0x7FFFFFFF, 0xFFFFFFFF])
def test_any_size_is_read_or_refused(field: str, size: int, tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.tif").write_bytes(tiff(tiles_of(image()), **{field: size}))
    try:
        shape = penstock.open(tmp_path / "x.tif").shape
    except (penstock.MetadataError, penstock.CorruptDataError) as error:
        assert "x.tif" in str(error)
    else:
        assert shape[0] == 1 and size in (*shape, 31, 65536)


def test_tiles_may_be_shared_but_not_without_bound(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """16,384 x 16,384 elements of one tile of 45 bytes."""
    side, tile = 16384, 1024
    count = (side // tile) ** 2
    one = zlib.compress(bytes([7]) * tile * tile, 9)
    path = tmp_path / "x.tif"
    shared = tiff([one], "deflate", places=lambda lies: lies * count, t256=side, t257=side, t322=tile, t323=tile)
    raster = opened(path, shared)
    assert len(shared) < 10_000
    assert (raster[0, 5000:5010, 9000:9010] == 7).all()
    monkeypatch.setenv("PENSTOCK_MAX_DECODED", "64MiB")
    assert (raster[0, 5000:5010, 9000:9010] == 7).all()
    parts = [(raster, (0, slice(i * tile, (i + 1) * tile))) for i in range(6)]
    for call in (
        lambda: raster[...],
        lambda: raster.verify(),
        lambda: penstock.read_many(parts),
        lambda: penstock.copy(raster, tmp_path / "x.zarr"),
        lambda: penstock.write_cog(raster, tmp_path / "y.tif"),
    ):
        with pytest.raises(penstock.BudgetError, match=r"max_decoded allows 64\.0 MiB"):
            call()
    assert not (tmp_path / "y.tif").exists()
    with pytest.raises(FileNotFoundError):
        penstock.open(tmp_path / "x.zarr")
    command = [sys.executable, "-m", "penstock", "verify", str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode != 0 and "max_decoded" in done.stderr
    monkeypatch.setenv("PENSTOCK_MAX_DECODED", "unlimited")
    assert raster[0, :, 0].sum() == 7 * side


def test_every_truncation_and_flipped_bit_is_an_error_or_an_image(tmp_path: pathlib.Path) -> None:
    good = tiff([packed("deflate", tile) for tile in tiles_of(image())], "deflate")
    path = tmp_path / "x.tif"
    start = time.monotonic()
    for size in range(len(good)):
        with pytest.raises((penstock.PenstockError, OSError)):
            opened(path, good[:size])[...]
    for bit in range(0, 8 * len(good), 3):
        flipped = bytearray(good)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            raster = penstock.open(path)
            if np.prod(raster.shape) <= 1 << 24:
                assert raster[...].shape == raster.shape
        except (penstock.PenstockError, MemoryError):
            pass
    assert time.monotonic() - start < 60


def test_what_is_not_read_is_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.tif"
    with tifffile.TiffWriter(path) as file:
        for page in range(3):
            file.write(np.full((9, 7 + page), page, "u1"), photometric="minisblack")
    assert penstock.open(path).sidecars == ()
    for suffix in (".ovr", ".aux.xml"):
        (tmp_path / f"x.tif{suffix}").write_bytes(b"?")
    raster = penstock.open(path)
    np.testing.assert_array_equal(raster[0], np.zeros((9, 7)))
    assert raster.sidecars == ("x.tif.ovr", "x.tif.aux.xml")
    assert [image.split(": ")[1] for image in raster.other_images] == ["1 x 9 x 8", "1 x 9 x 9"]
    command = [sys.executable, "-m", "penstock", "cog", "info", str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "x.tif.ovr" in told and "1 x 9 x 8" in told


def test_a_tile_that_claims_much_of_a_large_file(tmp_path: pathlib.Path) -> None:
    """A tile of 1 KiB that is said to have 1 GiB of encoded bytes, which the file holds: they are not read."""
    path = tmp_path / "x.tif"
    for codec in ("none", "deflate", "zstd", "lzw", "packbits"):
        path.write_bytes(tiff(tiles_of(image()), codec, big=True, places=other(2, (16, 1 << 30))))
        os.truncate(path, 2 << 30)
        raster = penstock.open(path)
        with pytest.raises(penstock.CorruptDataError, match=r"x\.tif.*chunk 2"):
            raster.read((0, slice(TILE, None), slice(0, TILE)), budget="32MiB")


def test_one_tile_that_begins_as_old_lzw(tmp_path: pathlib.Path) -> None:
    """Which way codes lie is decided once a file, by its first tile: another one that begins so is damaged."""
    tile = tile_by_tifffile(tmp_path / "t.tif", "lzw")
    tiles = [tile, b"\x00\x01" + tile[2:], tile, tile]
    raster = opened(tmp_path / "x.tif", tiff(tiles, "lzw"))
    np.testing.assert_array_equal(raster[0, TILE:, :TILE], image()[:TILE, :TILE])
    with pytest.raises(penstock.CorruptDataError, match=r"x\.tif.*chunk 1.*LZW"):
        raster[...]
