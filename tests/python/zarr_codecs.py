"""What the tests of penstock.codecs share: on the CPU (test_zarr_codecs.py) and with CuPy (test_cuda_zarr_codecs.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import zarr.codecs
import zarr.codecs.numcodecs
import zarr.storage
from zarr.core.array_spec import ArrayConfig, ArraySpec
from zarr.core.buffer import BufferPrototype, default_buffer_prototype
from zarr.core.dtype import parse_dtype

import penstock.codecs

OURS: dict[str, Any] = {
    "zstd": penstock.codecs.Zstd(level=3, checksum=False),
    "zstd-checksum": penstock.codecs.Zstd(level=1, checksum=True),
    "gzip": penstock.codecs.Gzip(level=4),
    "lz4": penstock.codecs.Lz4(acceleration=2),
    "blosc-lz4": penstock.codecs.Blosc(typesize=2, cname="lz4", clevel=5, shuffle="shuffle"),
    "blosc-zstd": penstock.codecs.Blosc(typesize=2, cname="zstd", clevel=3, shuffle="bitshuffle"),
    "blosc-zlib": penstock.codecs.Blosc(typesize=2, cname="zlib", clevel=5, shuffle="noshuffle"),
    "blosc-blosclz": penstock.codecs.Blosc(typesize=2, cname="blosclz", clevel=5, shuffle="shuffle"),
}
BASES: dict[str, Any] = {
    "zstd": zarr.codecs.ZstdCodec,
    "gzip": zarr.codecs.GzipCodec,
    "lz4": zarr.codecs.numcodecs.LZ4,
    "blosc": zarr.codecs.BloscCodec,
}
STORES = {"local": zarr.storage.LocalStore, "memory": lambda path: zarr.storage.MemoryStore()}


def zarrs_own(codec: Any) -> Any:
    """zarr-python's codec with the same parameters."""
    base = next(base for base in BASES.values() if isinstance(codec, base))
    return base.from_dict(codec.to_dict())


def spec(shape: tuple[int, ...], dtype: Any, prototype: BufferPrototype | None = None) -> ArraySpec:
    """What a codec is told of a chunk."""
    return ArraySpec(
        shape=shape,
        dtype=parse_dtype(np.dtype(dtype), zarr_format=3),
        fill_value=0,
        config=ArrayConfig(order="C", write_empty_chunks=False),
        prototype=prototype or default_buffer_prototype(),
    )


class Counted:
    """Chunks and native calls within a ``with``: "decode zstd on cpu" -> number."""

    def __enter__(self) -> Counted:
        self._before = penstock.codecs.chunk_counts()
        return self

    def __exit__(self, *_: object) -> None:
        after = penstock.codecs.chunk_counts()
        self.counts = {k: n - self._before.get(k, 0) for k, n in after.items() if n != self._before.get(k, 0)}
