"""The benchmarks' data: one seeded uint16 volume in several layouts, written by tensorstore.

Every program reads the same files, and none of them wrote them.
"""

import shutil
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from demo_data import planes

SEED = 14
CHUNK = (128, 128, 128)
SHARD = (256, 256, 256)
SMALL_CHUNK = (32, 32, 32)
TINY_CHUNK = (4, 4, 4)
FRAME = (32, 128, 128)  # 1 MiB

ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
BLOSC = {
    "name": "blosc",
    "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0},
}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def sharded(inner: tuple[int, ...], codecs: list[dict]) -> dict:
    return {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": list(inner),
            "codecs": codecs,
            "index_codecs": [BYTES, {"name": "crc32c"}],
            "index_location": "end",
        },
    }


# name -> (chunk shape of the grid, codecs)
LAYOUTS = {
    "raw": (CHUNK, [BYTES]),
    "zstd": (CHUNK, [BYTES, ZSTD]),
    "sharded-zstd": (SHARD, [sharded(CHUNK, [BYTES, ZSTD])]),
    "blosc-lz4": (CHUNK, [BYTES, BLOSC]),
    "frame": (FRAME, [BYTES, ZSTD]),
    "tiny": (TINY_CHUNK, [BYTES]),
    "small-sharded-zstd": (SHARD, [sharded(SMALL_CHUNK, [BYTES, ZSTD])]),
}


def metadata(layout: str, shape: tuple[int, ...]) -> dict:
    """zarr.json of the array, for tensorstore and for writers that take it as it is."""
    chunk, codecs = LAYOUTS[layout]
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": codecs,
        "fill_value": 0,
        "attributes": {},
    }


def reference(folder: Path, shape: tuple[int, ...]) -> np.ndarray:
    """The volume as a memory-mapped file below `folder`, made when it is not there."""
    name = "x".join(map(str, shape)) + f"-{SEED}.npy"
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = np.lib.format.open_memmap(str(path) + ".part", "w+", np.uint16, shape)
        for z, plane in enumerate(planes(shape, SEED)):
            part[z] = plane
        part.flush()
        Path(str(path) + ".part").rename(path)
    return np.load(path, mmap_mode="r")


def make(folder: Path, layout: str, shape: tuple[int, ...]) -> Path:
    """The array in this layout below `folder`, written when it is not there."""
    import tensorstore

    path = folder / ("x".join(map(str, shape)) + f"-{SEED}-{layout}.zarr")
    if not path.exists():
        volume = reference(folder, shape)
        part = path.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(part)}}
        members = {k: v for k, v in metadata(layout, shape).items() if k not in ("zarr_format", "node_type")}
        array = tensorstore.open(spec | {"metadata": members}, create=True).result()
        rows = LAYOUTS[layout][0][0]
        for z in range(0, shape[0], rows):
            stop = min(z + rows, shape[0])
            array[z:stop].write(volume[z:stop]).result()
        part.rename(path)
    return path


def warm(path: Path) -> int:
    """Reads every file once, so that it lies in the page cache; returns the stored bytes."""
    total = 0
    buffer = bytearray(16 << 20)
    for file in sorted(path.rglob("*")):
        if file.is_file():
            with open(file, "rb", buffering=0) as stream:
                while n := stream.readinto(buffer):
                    total += n
    return total
