"""zarr-python with penstock underneath: ``zarr.config.set({"codec_pipeline.path": "penstock.zarr.CodecPipeline"})``.

A selection becomes one native call: planning, I/O, shards, decoding and placement, on all cores, to host or (with
``zarr.config.enable_gpu()``) CUDA memory.  What penstock cannot do goes to zarr-python's own pipeline: a warning says
so once for each reason, ``fallbacks()`` counts, and ``codec_pipeline.strict`` forbids it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

try:
    import zarr.abc.codec
except ModuleNotFoundError as missing:
    missing.add_note("penstock.zarr works with zarr-python 3.1 or later: python -m pip install 'zarr>=3.1'")
    raise
from zarr.abc.store import Store
from zarr.codecs._v2 import V2Codec
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.config import config
from zarr.core.metadata import ArrayV2Metadata
from zarr.registry import register_pipeline

from . import _core, _dtype, _memory, _zarr_boxes
from ._array import Array
from ._errors import UnsupportedError
from ._fallback import Counter, FallbackWarning, announce, fallbacks
from ._penstock_store import PenstockStore
from ._read import Read, run
from ._selection import Region
from ._stream import current, use_stream
from ._write import Write
from ._zarr_store import native_store

__all__ = ["CodecPipeline", "FallbackWarning", "PenstockStore", "fallbacks", "native_calls", "use_stream"]

Batch = list[tuple[Any, Any, Any, Any, bool]]

_native = Counter()


def native_calls() -> dict[str, int]:
    """Selections that were read and written natively in this process: {"read": n, "write": n}."""
    return _native.counts()


@dataclass(eq=True)
class CodecPipeline(zarr.abc.codec.CodecPipeline):
    """A codec pipeline of zarr-python (3.1 and later) that reads and writes through penstock.

    Options, from ``zarr.config``: ``codec_pipeline.strict`` (True: raise where zarr-python's pipeline would step in),
    ``threading.max_workers`` (threads; None: all CPUs of the process).

    Errors: UnsupportedError (strict, and penstock cannot do it), CorruptDataError (names key and byte).
    """

    metadata: Any
    store: Any
    _arrays: dict[tuple[str, bool], Array] = field(default_factory=dict, init=False, repr=False, compare=False)
    _own: Any = field(default=None, init=False, repr=False, compare=False)
    _refused: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        metadata = self.metadata
        codecs: Iterable[Any]
        if isinstance(metadata, ArrayV2Metadata):
            codecs = [V2Codec(filters=metadata.filters, compressor=metadata.compressor)]
        else:
            codecs = metadata.codecs
        self._own = BatchedCodecPipeline.from_codecs(codecs)
        try:
            _check_codecs(codecs)
            self._text = _document(metadata)
            self._dataset = _core.parse_array(metadata.zarr_format, self._text)
        except (ValueError, TypeError, OSError, UnsupportedError) as error:
            # Not raised here: zarr-python would take NotImplementedError for "use the other pipeline" and say nothing.
            self._refused = str(error)

    # How zarr-python makes one.

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Store) -> CodecPipeline:
        return cls(array_metadata, store)

    @classmethod
    def from_codecs(cls, codecs: Iterable[Any]) -> Any:
        """Chains without an array (the inside of a shard, consolidated helpers) are zarr-python's own."""
        return BatchedCodecPipeline.from_codecs(codecs)

    def evolve_from_array_spec(self, array_spec: Any) -> CodecPipeline:
        self._own = self._own_evolved(array_spec)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"metadata": self.metadata, "store": self.store}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["metadata"], state["store"])  # type: ignore[misc]

    def __iter__(self) -> Iterator[Any]:
        yield from self._own

    # What goes through chunk by chunk is zarr-python's own.

    @property
    def supports_partial_decode(self) -> bool:
        return bool(self._own.supports_partial_decode)

    @property
    def supports_partial_encode(self) -> bool:
        return bool(self._own.supports_partial_encode)

    def validate(self, **kwargs: Any) -> None:
        self._own.validate(**kwargs)

    def compute_encoded_size(self, byte_length: int, array_spec: Any) -> int:
        return int(self._own.compute_encoded_size(byte_length, array_spec))

    async def decode(self, chunk_bytes_and_specs: Iterable[Any]) -> Any:
        return await self._own.decode(chunk_bytes_and_specs)

    async def encode(self, chunk_arrays_and_specs: Iterable[Any]) -> Any:
        return await self._own.encode(chunk_arrays_and_specs)

    # What is done here.

    async def read(self, batch_info: Iterable[Any], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        """Reads the chunks' selections into ``out``; the results say "present" or "missing" for each chunk."""
        batch: Batch = list(batch_info)
        if not batch:
            return ()
        try:
            absent = await asyncio.to_thread(self._read, batch, out, drop_axes)
        except UnsupportedError as refusal:
            announce("penstock leaves this to zarr-python", str(refusal))
            return await self._own_evolved(batch[0][1]).read(batch, out, drop_axes)
        if absent and not getattr(batch[0][1].config, "read_missing_chunks", True):
            return await self._own_evolved(batch[0][1]).read(batch, out, drop_axes)  # knows which ones
        return tuple({"status": "present"} for _ in batch)

    async def write(self, batch_info: Iterable[Any], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        """Writes ``value`` to the chunks' selections."""
        batch: Batch = list(batch_info)
        if not batch:
            return
        if self.store.read_only is True:
            raise ValueError(f"{self.store} was opened read-only and does not take writes")
        try:
            await asyncio.to_thread(self._write, batch, value, drop_axes)
        except UnsupportedError as refusal:
            announce("penstock leaves this to zarr-python", str(refusal))
            await self._own_evolved(batch[0][1]).write(batch, value, drop_axes)

    def _own_evolved(self, array_spec: Any) -> Any:
        # As a list: zarr-python 3.1 loses the codecs of a generator.
        codecs = [codec.evolve_from_array_spec(array_spec) for codec in self._own]
        return BatchedCodecPipeline.from_codecs(codecs)

    def _read(self, batch: Batch, out: Any, drop_axes: tuple[int, ...]) -> int:
        """Returns the number of chunks that are absent."""
        memory = self._memory_of(out, batch)
        array, first = self._array_of(batch, writable=False)
        region = None if drop_axes else _region(array, batch, first, memory.shape)
        if region is not None:
            array = self._reaching(array, region, writable=False)
            absent = self._read_region(array, region, memory)
        else:
            absent = self._read_boxes(array, batch, memory, drop_axes)
        _native.add("read")
        return absent

    def _read_region(self, array: Array, region: Region, memory: _Memory) -> int:
        if array._vlen:
            memory.array[...] = run(Read(array, region, None, None, None), _options())
        else:
            run(Read(array, region, memory.native, None, memory.stream), _options())
            memory.finish()
        assert array._last_report is not None
        return array._last_report.absent_chunks

    def _read_boxes(self, array: Array, batch: Batch, memory: _Memory, drop_axes: tuple[int, ...]) -> int:
        """Index arrays: the box around each chunk's selection is read, and the selection taken from it."""
        boxes = _boxes(array, batch, [1] * array.ndim)
        array = self._reaching_far(array, [box.stop for box in boxes], writable=False)
        with memory.context():
            absent = _zarr_boxes.read(array, boxes, memory.array, memory.place(), drop_axes, _options())
        if memory.stream is not None:
            memory.stream.synchronize()
        return absent

    def _write(self, batch: Batch, value: Any, drop_axes: tuple[int, ...]) -> None:
        memory = self._memory_of(value, batch)
        array, first = self._array_of(batch, writable=True)
        region = None if drop_axes else _region(array, batch, first, memory.shape or _extent(batch))
        if memory.stream is not None and not memory.shape:
            memory = _Memory(memory.array.get(stream=memory.stream))
        opts = _options(store_fill_chunks=bool(batch[0][1].config.write_empty_chunks))
        if region is not None:
            array = self._reaching(array, region, writable=True)
            Write(array, region, memory.array, memory.stream).run(opts)
        else:
            # Whole innermost chunks: those that the boxes hold in part would be read once more.
            boxes = _boxes(array, batch, self._dataset.inner_chunk_shape)
            array = self._reaching_far(array, [box.stop for box in boxes], writable=True)
            with memory.context():
                _zarr_boxes.write(array, boxes, memory.array, memory.place(), drop_axes, _options(), opts)
        _native.add("write")

    # Arrays as the native side knows them.

    def _memory_of(self, buffer: Any, batch: Batch) -> _Memory:
        if self._refused:
            raise UnsupportedError(self._refused)
        try:
            _core.check_process()
        except RuntimeError:
            raise UnsupportedError(
                "this process was forked from one in which penstock had threads; 'spawn' and 'forkserver' keep it native"
            ) from None
        prototype = batch[0][1].prototype
        for kind in (prototype.buffer, prototype.nd_buffer):
            if not kind.__module__.startswith("zarr."):
                raise UnsupportedError(f"buffers of class {kind.__module__}.{kind.__qualname__}")
        memory = _Memory(buffer.as_ndarray_like())
        wanted = _dtype.to_numpy(self._dataset.dtype)
        found = memory.array.dtype
        if self._dataset.dtype.is_vlen:
            if found.kind not in "OT" or memory.stream is not None:
                raise UnsupportedError(f"data type {self._dataset.dtype.name} in memory of type {found}")
        elif found.newbyteorder("=") != wanted.newbyteorder("="):
            raise UnsupportedError(f"data type {self._dataset.dtype.name} in memory of type {found}")
        if not hasattr(batch[0][0], "path"):
            raise UnsupportedError(f"chunks from {type(batch[0][0]).__name__}")
        return memory

    def _array_of(self, batch: Batch, *, writable: bool) -> tuple[Array, list[int]]:
        """The array, and the grid position of the batch's first chunk."""
        prefix, first = _split_key(batch[0][0].path, self._dataset)
        # Whole chunks: what zarr-python's metadata says of the shape may be newer than ours, and a chunk at the edge is
        # then changed in part, never replaced.
        return self._array(prefix, self.metadata.shape, writable=writable), first

    def _array(self, prefix: str, shape: Sequence[int], *, writable: bool) -> Array:
        chunk = self._dataset.chunk_shape
        known = self._arrays.get((prefix, writable))
        if known is not None and all(a <= b for a, b in zip(shape, known.shape, strict=True)):
            return known
        rounded = [max(1, math.ceil(n / c)) * c for n, c in zip(shape, chunk, strict=True)]
        store = native_store(self.store, writable=writable)
        core = _core.Array.with_metadata(store, prefix, self.metadata.zarr_format, self._text, rounded)
        array = Array(core)
        self._arrays[prefix, writable] = array
        return array

    def _reaching(self, array: Array, region: Region, *, writable: bool) -> Array:
        return self._reaching_far(array, [[a + (n - 1) * s + 1 for a, n, s in region.ranges]], writable=writable)

    def _reaching_far(self, array: Array, stops: list[list[int]], *, writable: bool) -> Array:
        """The array, with a shape that holds these stops: zarr-python may have resized it."""
        stop = [max(column) for column in zip(array.shape, *stops, strict=True)] if array.shape else []
        return self._array(array.path, stop, writable=writable)


class _Memory:
    """The memory of a buffer of zarr-python as the native side takes it."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = tuple(array.shape)
        self.stream: Any = None
        self.swapped = not array.dtype.isnative
        self.native = array
        index = _memory.cuda_index(array)
        if index is not None:
            self.stream = current(index)
            if self.swapped:
                raise UnsupportedError("foreign byte order in device memory")
        elif not isinstance(array, np.ndarray):
            raise UnsupportedError(f"buffers of type {type(array).__name__}")
        elif self.swapped:
            self.native = array.view(array.dtype.newbyteorder("="))

    def place(self) -> _zarr_boxes.Place:
        return _zarr_boxes.Place(self.array, self.stream)

    @contextlib.contextmanager
    def context(self) -> Iterator[None]:
        """Within it CuPy works on the memory's device, in the order of its stream."""
        if self.stream is None:
            yield
        else:
            with self.array.device, self.stream:
                yield

    def finish(self) -> None:
        """The elements arrived in native order; puts them in the order of the memory."""
        if self.swapped:
            self.native.byteswap(inplace=True)


def _boxes(array: Array, batch: Batch, grid: Sequence[int]) -> list[_zarr_boxes.Box]:
    return [
        _zarr_boxes.Box(array, _split_key(getter.path, array._dataset)[1], selection, out, grid)
        for getter, _, selection, out, _ in batch
    ]


def _options(*, store_fill_chunks: bool = False) -> _core.Options:
    workers = config.get("threading.max_workers", None)
    return _core.Options(threads=workers or 0, store_fill_chunks=store_fill_chunks)


def _extent(batch: Batch) -> tuple[int, ...]:
    """Shape that a scalar is spread over: chunks come in C order, so the last one ends it."""
    parts = batch[-1][3]
    return tuple(part.stop for part in parts if isinstance(part, slice)) if isinstance(parts, tuple) else ()


def _region(array: Array, batch: Batch, first: list[int], shape: tuple[int, ...]) -> Region | None:
    """The rectangle that the batch makes up, if it is one."""
    found = _core.rectangle(array._core, batch, first, list(shape))
    if found is None:
        return None
    ranges, dropped = found
    return Region(ranges, shape, tuple(dropped), scalar=False)


def _split_key(path: str, dataset: _core.Dataset) -> tuple[str, list[int]]:
    """Path of the array and grid position of a chunk, from the chunk's path in the store."""
    rank, separator = len(dataset.shape), re.escape(dataset.separator)
    numbers = separator.join([r"(\d+)"] * rank)
    if dataset.key_kind == "default":
        name = f"c{separator}{numbers}" if rank else "c"
    else:
        name = numbers if rank else "0"
    match = re.fullmatch(rf"(?:(?P<array>.*)/)?{name}", path)
    if match is None:
        raise UnsupportedError(f"chunk key {path!r}")
    chunk = [int(text) for text in match.groups()[1:]]
    return match.group("array") or "", chunk


def _check_codecs(codecs: Iterable[Any]) -> None:
    """Errors: UnsupportedError for codec classes that are not zarr-python's: somebody wants just those."""
    for codec in codecs:
        kind = type(codec)
        if kind.__module__.partition(".")[0] not in ("zarr", "numcodecs", "penstock"):
            raise UnsupportedError(f"codec class {kind.__module__}.{kind.__qualname__}")
        _check_codecs(getattr(codec, "codecs", ()))
        if getattr(codec, "subchunk_write_order", "morton") != "morton":
            raise UnsupportedError(f"order {codec.subchunk_write_order} of the chunks within a shard")


def _document(metadata: Any) -> str:
    """The metadata document as zarr-python would store it."""
    from zarr.core.buffer import default_buffer_prototype

    documents = metadata.to_buffer_dict(default_buffer_prototype())
    name = "zarr.json" if metadata.zarr_format == 3 else ".zarray"
    return bytes(documents[name].to_bytes()).decode()


register_pipeline(CodecPipeline)  # as the entry point does, for programs that import this module first
