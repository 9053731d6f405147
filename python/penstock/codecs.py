"""zarr-python's compressors, whole batches at a time: on a GPU when the chunks are in its memory, else on all cores.

>>> import zarr, penstock.codecs
>>> zarr.config.set(penstock.codecs.settings())  # or one of them: {"codecs.zstd": "penstock.codecs.Zstd"}

They have the names and parameters of zarr-python's own codecs: stores stay readable by everybody.  With
``zarr.config.enable_gpu()`` chunks come encoded in CUDA memory and are decoded there, a batch in one launch, on CuPy's
current stream.  A batch is ``codec_pipeline.batch_size`` chunks of zarr-python's.  Chunks that are written from CUDA
memory are encoded there by ``zstd`` and ``lz4``, where PENSTOCK_ENCODE says so: ``cpu``, ``device``, or ``auto``, which
tries both on some chunks and takes the device where it is quicker and makes at most 2 % more bytes.

What is not done on the GPU is done on the CPU: a FallbackWarning says so once for each reason, ``fallbacks()`` counts,
``codec_pipeline.strict`` makes it an error.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import zarr.buffer.gpu
except ModuleNotFoundError as missing:
    missing.add_note("penstock.codecs works with zarr-python 3.1 or later: python -m pip install 'zarr>=3.1'")
    raise
import zarr.codecs
import zarr.codecs.numcodecs
from zarr.abc.codec import BytesBytesCodec
from zarr.core.config import config

from . import _codecs_cuda, _core, _memory
from ._fallback import Counter, FallbackWarning, announce, fallbacks
from ._stream import current, use_stream

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, BufferPrototype

__all__ = ["Blosc", "FallbackWarning", "Gzip", "Lz4", "Zstd", "chunk_counts", "fallbacks", "settings", "use_stream"]

_counts = Counter()


def settings(batch_size: int = 512) -> dict[str, Any]:
    """For ``zarr.config.set``: all codecs of this module, and so many chunks in a batch."""
    ours = {"zstd": Zstd, "gzip": Gzip, "blosc": Blosc, "numcodecs.lz4": Lz4}
    names = {name: f"{kind.__module__}.{kind.__qualname__}" for name, kind in ours.items()}
    # As a whole: a dot within a name would be taken for a level of the configuration.
    return {"codecs": {**config.get("codecs"), **names}, "codec_pipeline.batch_size": batch_size}


def chunk_counts() -> dict[str, int]:
    """Chunks and native calls so far in this process: {"decode zstd on cuda:0": n, "decode zstd on cuda:0, calls": m}."""
    return _counts.counts()


class _Batched(BytesBytesCodec):
    """The work of one of zarr-python's codecs, batch by batch."""

    async def decode(self, chunks_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]) -> list[Buffer | None]:
        """Decodes a batch.  Errors: CorruptDataError (the number of the chunk in the batch, the byte in the chunk)."""
        return await asyncio.to_thread(_Batch(self, chunks_and_specs).decode)

    async def encode(self, chunks_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]) -> list[Buffer | None]:
        """Encodes a batch.  Errors: MetadataError (a parameter), UnsupportedError."""
        return await asyncio.to_thread(_Batch(self, chunks_and_specs).encode)

    # Single chunks: what zarr-python's synchronous pipeline asks for.

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        made = _Batch(self, [(chunk_bytes, chunk_spec)]).decode()[0]
        assert made is not None
        return made

    def _encode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        made = _Batch(self, [(chunk_bytes, chunk_spec)]).encode()[0]
        assert made is not None
        return made

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    async def _encode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        return await asyncio.to_thread(self._encode_sync, chunk_bytes, chunk_spec)


class Zstd(_Batched, zarr.codecs.ZstdCodec):
    """``zstd``: level, checksum."""


class Gzip(_Batched, zarr.codecs.GzipCodec):
    """``gzip``: level."""


class Blosc(_Batched, zarr.codecs.BloscCodec):
    """``blosc``: typesize, cname, clevel, shuffle, blocksize."""


class Lz4(_Batched, zarr.codecs.numcodecs.LZ4):
    """``numcodecs.lz4``: acceleration."""


@functools.lru_cache(maxsize=64)
def _native(name: str, configuration: str) -> _core.BytesCodec:
    return _core.BytesCodec(name, configuration)


class _Batch:
    """The chunks of one call, by where they are."""

    def __init__(self, codec: _Batched, chunks_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]) -> None:
        document: Any = codec.to_dict()
        self._name: str = document["name"]
        self._native = _native(self._name, json.dumps(document.get("configuration", {}), sort_keys=True))
        self._threads: int = config.get("threading.max_workers", None) or 0
        self._sources: list[Any] = []
        self._specs: list[ArraySpec] = []
        self._places: dict[int | None, list[int]] = {}  # CUDA device, None: host -> chunks
        for i, (chunk, spec) in enumerate(chunks_and_specs):
            source = None if chunk is None else chunk.as_array_like()
            self._sources.append(source)
            self._specs.append(spec)
            if source is not None:
                self._places.setdefault(_memory.cuda_index(source), []).append(i)
        # Of the calling thread: CuPy's current stream is another one on every thread.
        self._streams = {device: current(device) for device in self._places if device is not None}

    def decode(self) -> list[Buffer | None]:
        return self._run(self._decode_on_host, self._decode_on_device)

    def encode(self) -> list[Buffer | None]:
        return self._run(self._encode_on_host, self._encode_on_device)

    def _run(
        self,
        on_host: Callable[[list[int], list[Any]], list[Any]],
        on_device: Callable[[list[int], list[Any], int], list[Any]],
    ) -> list[Buffer | None]:
        results: list[Buffer | None] = [None] * len(self._sources)
        for device, chunks in self._places.items():
            sources = [self._sources[i] for i in chunks]
            if device is None:
                made = on_host(chunks, sources)
            else:
                with _codecs_cuda.cupy().cuda.Device(device), self._streams[device]:
                    made = on_device(chunks, sources, device)
            for i, array in zip(chunks, made, strict=True):
                results[i] = _buffer(array, self._specs[i].prototype)
        return results

    def _decode_on_host(self, chunks: list[int], sources: list[Any]) -> list[Any]:
        made = self._native.decode(sources, [_decoded_bytes(self._specs[i]) for i in chunks], self._threads)
        self._count("decode", "cpu", len(chunks))
        return list(made)

    def _encode_on_host(self, chunks: list[int], sources: list[Any]) -> list[Any]:
        made = self._native.encode(sources, self._threads)
        self._count("encode", "cpu", len(chunks))
        return list(made)

    def _decode_on_device(self, chunks: list[int], sources: list[Any], device: int) -> list[Any]:
        if self._native.device_decoder is None:
            return self._by_host(self._decode_on_host, chunks, sources, "has no decoder for CUDA with these parameters")
        sizes = [_decoded_bytes(self._specs[i]) for i in chunks]
        if None in sizes:
            return self._by_host(self._decode_on_host, chunks, sources, "does not know the decoded size")
        made = _codecs_cuda.decode(self._native, sources, [size or 0 for size in sizes], device)
        # What it refuses has another size than expected, or is damaged: the CPU tells them apart.
        refused = [k for k, array in enumerate(made) if isinstance(array, str)]
        self._count("decode", f"cuda:{device}", len(chunks) - len(refused))
        if refused:
            why = f"gets a chunk that its decoder for CUDA refuses ({made[refused[0]]})"
            self._again_by_host(made, refused, self._decode_on_host, chunks, sources, why)
        return made

    def _encode_on_device(self, chunks: list[int], sources: list[Any], device: int) -> list[Any]:
        if self._native.device_encoder is None:
            return self._by_host(self._encode_on_host, chunks, sources, "has no encoder for CUDA")
        made = None
        if self._native.wants_device(len(chunks)):
            made = _codecs_cuda.encode(self._native, sources, self._threads, device)
        if made is None:  # as PENSTOCK_ENCODE says: no fallback
            return _codecs_cuda.to_device(self._encode_on_host(chunks, _codecs_cuda.to_host(sources)))
        refused = [k for k, array in enumerate(made) if array is None]
        self._count("encode", f"cuda:{device}", len(chunks) - len(refused))
        if refused:
            why = "gets a chunk that its encoder for CUDA refuses"
            self._again_by_host(made, refused, self._encode_on_host, chunks, sources, why)
        return made

    def _by_host(
        self, work: Callable[[list[int], list[Any]], list[Any]], chunks: list[int], sources: list[Any], why: str
    ) -> list[Any]:
        """Device memory by way of the CPU, announced once it has worked: damaged chunks are no reason."""
        made = _codecs_cuda.to_device(work(chunks, _codecs_cuda.to_host(sources)))
        announce("penstock does it on the CPU", f"codec {self._name} {why}")
        return made

    def _again_by_host(
        self,
        made: list[Any],
        refused: list[int],
        work: Callable[[list[int], list[Any]], list[Any]],
        chunks: list[int],
        sources: list[Any],
        why: str,
    ) -> None:
        """Puts what the CPU makes of the refused chunks into ``made``."""
        again = self._by_host(work, [chunks[k] for k in refused], [sources[k] for k in refused], why)
        for k, array in zip(refused, again, strict=True):
            made[k] = array

    def _count(self, operation: str, place: str, chunks: int) -> None:
        _counts.add(f"{operation} {self._name} on {place}", chunks)
        _counts.add(f"{operation} {self._name} on {place}, calls")


def _decoded_bytes(spec: ArraySpec) -> int | None:
    """Size of the chunk when no other codec changes it; None: elements of variable length."""
    item_bytes: int | None = getattr(spec.dtype, "item_size", None)
    return None if item_bytes is None else math.prod(spec.shape) * item_bytes


def _buffer(array: Any, prototype: BufferPrototype) -> Buffer:
    """The bytes as the caller wants them: nearly always where they are."""
    wants_cuda = issubclass(prototype.buffer, zarr.buffer.gpu.Buffer)
    if wants_cuda and isinstance(array, np.ndarray):
        array = _codecs_cuda.to_device([array])[0]
    elif not wants_cuda and not isinstance(array, np.ndarray):
        array = _codecs_cuda.to_host([array])[0]
    return prototype.buffer.from_array_like(array)
