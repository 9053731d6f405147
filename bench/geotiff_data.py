"""Rasters for bench/geotiff.py: seeded terrain, and files of it in which no two tiles share their bytes."""

from __future__ import annotations

import functools
import struct
from pathlib import Path

import numpy as np

import penstock

BASE = 4096  # elements along a side of what is made; larger rasters repeat it
TILE = 256


def terrain(seed: int, side: int = BASE) -> np.ndarray:
    """float32, fractal: amplitudes fall with the frequency to the power of 1.8; metres in steps of 1/128."""
    random = np.random.default_rng(seed)
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None])
    frequency[0, 0] = 1
    spectrum = np.exp(2j * np.pi * random.random(frequency.shape, dtype="f4")) * frequency**-1.8
    heights = np.fft.irfft2(spectrum, (side, side)).astype("f4")
    heights *= 700 / heights.std()
    return np.round((heights - heights.min()) * 128) / np.float32(128)


@functools.cache
def raster(dtype: str) -> np.ndarray:
    """ "float32": the terrain; "uint16": as a satellite sees it, with the noise of its sensor."""
    heights = terrain(15)
    if dtype == "float32":
        return heights
    noise = np.random.default_rng(16).standard_normal(heights.shape, dtype="f4")
    return np.clip(np.round(heights * 3 + 2000 + 25 * noise), 0, 65535).astype("u2")


def encoder() -> str:
    """Whose tiles the files have: GDAL's where rasterio is installed, else penstock's."""
    try:
        import rasterio
    except ImportError:  # bench/geotiff.py says why
        return "penstock"
    return f"GDAL {rasterio.__gdal_version__}"


def _write_base(path: Path, base: np.ndarray, codec: str, predictor: int) -> None:
    if encoder() == "penstock":
        penstock.write_cog(
            base, path, codec=codec, predictor=predictor, block=TILE, overviews=0, bigtiff=True, overwrite=True
        )
        return
    import rasterio

    with rasterio.open(
        path, "w", driver="GTiff", height=BASE, width=BASE, count=1, dtype=base.dtype, tiled=True, blockxsize=TILE,
        blockysize=TILE, compress=codec, predictor=predictor, BIGTIFF="YES", num_threads="ALL_CPUS",
    ) as file:  # fmt: skip
        file.write(base, 1)


def _places(content: bytes) -> list[tuple[int, int]]:
    """Offset and size of each tile of the first image of a little-endian BigTIFF."""
    assert content[:4] == b"II\x2b\0"
    start = struct.unpack_from("<Q", content, 8)[0]
    columns: dict[int, tuple[int, ...]] = {}
    for i in range(struct.unpack_from("<Q", content, start)[0]):
        field = start + 8 + 20 * i
        tag, kind, count = struct.unpack_from("<HHQ", content, field)
        if tag in (324, 325):
            letter = {3: "H", 4: "I", 16: "Q"}[kind]
            inline = count * struct.calcsize(letter) <= 8
            at = field + 12 if inline else struct.unpack_from("<Q", content, field + 12)[0]
            columns[tag] = struct.unpack_from(f"<{count}{letter}", content, at)
    return list(zip(columns[324], columns[325], strict=True))


def write(path: Path, dtype: str, codec: str, repeats: tuple[int, int]) -> int:
    """A BigTIFF of tiles of 256, encoded by `encoder()` with the predictor that suits, in which the base raster stands
    `repeats` times down and across, each time with bytes of its own.  Returns the bytes of the raster."""
    base = raster(dtype)
    predictor = 3 if dtype == "float32" else 2
    small = path.with_name(path.stem + "-base.tif")
    _write_base(small, base, codec, predictor)
    content = small.read_bytes()
    small.unlink()
    places = _places(content)
    across, down = repeats[1], repeats[0]
    columns = BASE // TILE
    offsets, sizes, at = [], [], 16
    with path.open("wb") as file:
        file.seek(at)
        for row in range(down * columns):
            line = places[row % columns * columns : (row % columns + 1) * columns]
            data = b"".join(content[o : o + n] for o, n in line)
            for _ in range(across):
                for _, size in line:
                    offsets.append(at)
                    sizes.append(size)
                    at += size
                file.write(data)
        at += -at % 8
        file.seek(at)
        file.write(_directory(at, base.dtype, codec, predictor, down * BASE, across * BASE, offsets, sizes))
        file.seek(0)
        file.write(struct.pack("<2sHHHQ", b"II", 43, 8, 0, at))
    return base.nbytes * down * across


def _directory(
    at: int, dtype: np.dtype, codec: str, predictor: int, height: int, width: int, offsets: list, sizes: list
) -> bytes:
    short, long4, long8, double = ("H", 3), ("I", 4), ("Q", 16), ("d", 12)
    fields = [
        (256, long4, [width]), (257, long4, [height]), (258, short, [dtype.itemsize * 8]),
        (259, short, [5 if codec == "lzw" else 8]), (262, short, [1]), (277, short, [1]), (284, short, [1]),
        (317, short, [predictor]), (322, short, [TILE]), (323, short, [TILE]), (324, long8, offsets),
        (325, long8, sizes),
        (339, short, [3 if dtype.kind == "f" else 1]), (33550, double, [10.0, 10.0, 0.0]),
        (33922, double, [0.0, 0.0, 0.0, 5e5, 5e6, 0.0]), (34735, short, [1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32633]),
    ]  # fmt: skip
    far = at + 8 + 20 * len(fields) + 8
    body, behind = struct.pack("<Q", len(fields)), b""
    for tag, (letter, kind), values in fields:
        packed = struct.pack(f"<{len(values)}{letter}", *values)
        body += struct.pack("<HHQ", tag, kind, len(values))
        body += packed.ljust(8, b"\0") if len(packed) <= 8 else struct.pack("<Q", far + len(behind))
        behind += (packed + bytes(-len(packed) % 8)) if len(packed) > 8 else b""
    return body + bytes(8) + behind
