"""Arrays in stores."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _core, _dtype, _memory, _selection
from ._future import Future, submit
from ._selection import Region, Selection

Bytes: TypeAlias = int | str
"""A size: bytes, or text with a unit ("2GiB", "500MB")."""
OnError: TypeAlias = Literal["fail", "fill"]
Progress: TypeAlias = Callable[[str, int, int], object]
"""Called with (operation, bytes done, bytes in all), at most every 50 ms and once at the end."""

# Below this many decoded bytes a call runs in the caller's thread and cannot be interrupted: it takes milliseconds.
_WATCH_FROM_BYTES = 4 << 20


def options(
    budget: Bytes | None,
    threads: int | None,
    on_error: OnError = "fail",
    progress: Progress | None = None,
    cancel: _core.CancelToken | None = None,
    *,
    watch: bool = True,
) -> _core.Options:
    """The library's options.  `watch`: answer Ctrl-C while waiting (the main thread does)."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    return _core.Options(
        size_bytes(budget, "budget"),
        threads or 0,
        on_error,
        cancel if cancel is not None else _core.CancelToken(),
        progress,
        watch and threading.current_thread() is threading.main_thread(),
    )


def size_bytes(size: Bytes | None, what: str) -> int:
    """Bytes of a size; 0 for None."""
    if size is None:
        return 0
    made = _core.parse_bytes(size) if isinstance(size, str) else int(size)
    if made <= 0:
        raise ValueError(f"{what} must be more than nothing, not {size!r}")
    return made


def attributes_json(attributes: Mapping[str, Any] | None) -> str:
    """Attributes as JSON text; NumPy scalars and arrays become numbers and lists."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise TypeError(f"attribute of type {type(value).__name__} has no form in JSON")

    return json.dumps(dict(attributes or {}), default=plain)


class Array:
    """An array in a store.  Threads may use it together.

    ``a[...]`` reads with NumPy's basic indexing and gives a NumPy array; ``a[...] = v`` writes.  ``read`` and ``write``
    are the same with all choices; ``read_async`` and ``write_async`` return at once.
    """

    def __init__(self, core: _core.Array) -> None:
        self._core = core
        self._last_report: _core.Report | None = None
        self._refresh()

    def _refresh(self) -> None:
        dataset = self._core.dataset
        self._dataset = dataset
        self._vlen = dataset.dtype.is_vlen
        self.dtype: np.dtype[Any] = _dtype.to_numpy(dataset.dtype)
        """Of elements in memory: native byte order; object for variable-length text and bytes."""
        self.shape: tuple[int, ...] = tuple(dataset.shape)
        self.chunks: tuple[int, ...] = tuple(dataset.inner_chunk_shape)
        """Shape of the smallest unit that can be read alone."""

    # What the metadata says.

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, decoded (16 an element for variable length)."""
        return self.size * self._dataset.dtype.size_bytes

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of a shard; None when each chunk is an object of its own."""
        outer = tuple(self._dataset.chunk_shape)
        return outer if self._dataset.codecs and _is_sharded(self._dataset) else None

    @property
    def data_type(self) -> str:
        """Name in zarr v3 ("uint16", "bfloat16", "string"), else a readable one ("S10")."""
        return self._dataset.dtype.name

    @property
    def fill_value(self) -> Any:
        """What absent chunks read as; None where a v2 array has none (they read as zeros)."""
        return _dtype.element_value(self._dataset.fill, self._dataset.dtype)

    @property
    def codecs(self) -> list[dict[str, Any]]:
        """Codecs in encoding order, as zarr v3 spells them."""
        return [{"name": name, "configuration": json.loads(text)} for name, text in self._dataset.codecs]

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        return tuple(self._dataset.dimension_names) or None

    @property
    def zarr_format(self) -> int:
        return self._dataset.zarr_format

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the attributes; ``set_attributes`` writes."""
        attributes: dict[str, Any] = json.loads(self._dataset.attributes)
        return attributes

    @property
    def url(self) -> str:
        return self._core.url

    @property
    def path(self) -> str:
        """Path in its store; "" is the root."""
        return self._core.path

    @property
    def last_report(self) -> _core.Report | None:
        """What the last finished operation on this object did: str() is a table, ``.json`` the same for programs."""
        return self._last_report

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as where it is, and is opened again there (in another process, not for memory://)."""
        store = self._core.store
        return _reopen, (store.url, self.path, "r+" if store.writable else "r")

    def __repr__(self) -> str:
        return f"<penstock.Array {self.url} {self.shape} {self.data_type}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    # Reading.

    def __getitem__(self, selection: Selection) -> Any:
        """NumPy's basic indexing: integers drop their dimension, slices take any step, ``...``.

        shape: that of ``numpy_array[selection]``; one element: a NumPy scalar.
        errors: IndexError; those of ``read``.
        memory: the result, and the working memory of ``read``.
        """
        return self.read(selection)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """All of the array in host memory.  errors: ValueError for copy=False; those of ``read``."""
        if copy is False:
            raise ValueError("an array in a store cannot become a NumPy array without a copy")
        whole: npt.NDArray[Any] = self.read(...)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def read(
        self,
        selection: Selection = ...,
        *,
        out: Any = None,
        device: str | None = None,
        stream: Any = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        on_error: OnError = "fail",
        progress: Progress | None = None,
    ) -> Any:
        """Reads a selection.

        selection: as ``__getitem__``; shape of the result: that of ``numpy_array[selection]``.
        out: memory for the result, of exactly its shape and dtype, any strides: a NumPy array, a buffer, or anything
            with ``__dlpack__`` or ``__cuda_array_interface__``.  None: new memory.
        device: "cpu" (default), "cuda", "cuda:1", "auto" (CUDA if there is one).
        stream: CUDA only.  The caller's stream: the result is complete in its order.  None: complete on return.
        budget: working memory beyond the result, bytes or "2GiB"; None: PENSTOCK_BUDGET, else a quarter of free memory.
        threads: None: PENSTOCK_THREADS, else the CPUs that this process may use.
        on_error: "fail", or "fill": a chunk that cannot be decoded reads as the fill value and is listed in
            ``last_report.problems``.
        returns: ``out``; else a NumPy array (a scalar for one element), or a DeviceArray on a CUDA device.
        errors: IndexError, FileNotFoundError, OSError, CorruptDataError (key and byte), BudgetError (how much is
            needed), DeviceError, CancelledError; TypeError or ValueError when ``out`` does not fit.
        memory: the result plus at most ``budget``.  The GIL is released; Ctrl-C stops the read.
        """
        region = _selection.parse(selection, self.shape)
        opts = options(budget, threads, on_error, progress, watch=self._is_long(region))
        return self._reader(region, out, device, stream, opts)()

    def read_async(
        self,
        selection: Selection = ...,
        *,
        out: Any = None,
        device: str | None = None,
        stream: Any = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        on_error: OnError = "fail",
        progress: Progress | None = None,
    ) -> Future[Any]:
        """As ``read``, in the background: ``await`` the result, or use it as a ``concurrent.futures.Future``.

        errors: of the arguments at once, of the read from the future.
        memory: ``out`` is kept alive, and in use, until the future is done.
        """
        region = _selection.parse(selection, self.shape)
        token = _core.CancelToken()
        opts = options(budget, threads, on_error, progress, token, watch=False)
        return submit(self._reader(region, out, device, stream, opts), token)

    def _is_long(self, region: Region) -> bool:
        item = self._dataset.dtype.size_bytes
        return _selection.touched_bytes(region.ranges, self.chunks, item) >= _WATCH_FROM_BYTES

    def _reader(
        self, region: Region, out: Any, device: str | None, stream: Any, opts: _core.Options
    ) -> Callable[[], Any]:
        """The read as a call without arguments; everything that can be checked before is checked here."""
        index = _device_index(out, device)
        if stream is not None and index is None:
            raise ValueError("stream is for CUDA devices; this read goes to host memory")
        if self._vlen:
            return self._object_reader(region, out, index, opts)
        if index is not None:
            return self._device_reader(region, out, index, stream, opts)
        result = np.empty(region.shape, self.dtype) if out is None else out
        memory = self._fitting(result, region, "out", None, writable=True)
        target = _core.Target(memory.address, region.strides(memory.strides), memory.keep)
        core = self._core

        def call() -> Any:
            self._last_report = core.read(region.ranges, target, opts)
            return result[()] if region.scalar and out is None else result

        return call

    def _fitting(
        self, obj: Any, region: Region, what: str, stream: _core.Stream | None, *, writable: bool
    ) -> _memory.Memory:
        memory = _memory.of(obj, self.dtype, what, stream, writable=writable)
        if tuple(memory.shape) != region.shape:
            raise ValueError(f"{what} has shape {tuple(memory.shape)}, the selection {region.shape}")
        return memory

    def _object_reader(self, region: Region, out: Any, index: int | None, opts: _core.Options) -> Callable[[], Any]:
        if index is not None:
            raise TypeError(f"data type {self.data_type} has variable length, which lives in host memory only")
        if out is not None and not isinstance(out, np.ndarray):
            raise TypeError(
                f"out is {type(out).__name__}; for data type {self.data_type} it must be a NumPy object array"
            )
        result: npt.NDArray[Any] = np.empty(region.shape, object) if out is None else out
        memory = self._fitting(result, region, "out", None, writable=True)
        strides = region.strides(memory.strides)
        core = self._core

        def call() -> Any:
            held = memory.keep
            self._last_report = core.read_objects(region.ranges, memory.address, strides, opts)
            del held
            return result[()] if region.scalar and out is None else result

        return call

    def _device_reader(
        self, region: Region, out: Any, index: int, stream: Any, opts: _core.Options
    ) -> Callable[[], Any]:
        own = stream is None
        queue = _memory.own_stream(index) if own else _memory.callers_stream(stream, index)
        result = out
        if out is None:
            result = _memory.DeviceArray(region.shape, self.dtype, index, queue, ordered=not own)
            memory = _memory.Memory(
                result.address, region.shape, _memory.c_strides(region.shape, self.dtype.itemsize), result
            )
        else:
            memory = self._fitting(out, region, "out", queue, writable=True)
            if memory.wait_for is not None:
                queue.wait_for(_memory.callers_stream(memory.wait_for, index))
        target = _core.Target(memory.address, region.strides(memory.strides), memory.keep, queue)
        core = self._core

        def call() -> Any:
            self._last_report = core.read(region.ranges, target, opts)
            if own:
                queue.synchronize()
            return result

        return call

    # Writing.

    def __setitem__(self, selection: Selection, value: Any) -> None:
        """As ``write``."""
        self.write(selection, value)

    def write(
        self,
        selection: Selection,
        value: Any,
        *,
        stream: Any = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Writes a selection.

        value: broadcast to the selection's shape and cast to the array's dtype, as NumPy's assignment does; CUDA memory
            (``__dlpack__``, ``__cuda_array_interface__``) must have exactly that shape and dtype.
        stream: CUDA only: the stream that makes ``value``.
        errors: those of ``read``; PermissionError when the array was opened read-only.
        memory: at most ``budget``.  Chunks covered in part are read, changed and written; every object is replaced as a
            whole, and a stopped write leaves old or new objects, never half of one.
        """
        region = _selection.parse(selection, self.shape)
        opts = options(budget, threads, "fail", progress, watch=self._is_long(region))
        self._writer(region, value, stream, opts)()

    def write_async(
        self,
        selection: Selection,
        value: Any,
        *,
        stream: Any = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Future[None]:
        """As ``write``, in the background.  ``value`` is kept alive, and must not change, until the future is done."""
        region = _selection.parse(selection, self.shape)
        token = _core.CancelToken()
        opts = options(budget, threads, "fail", progress, token, watch=False)
        return submit(self._writer(region, value, stream, opts), token)

    def _writer(self, region: Region, value: Any, stream: Any, opts: _core.Options) -> Callable[[], None]:
        core = self._core
        index = _memory.cuda_index(value)
        if index is not None:
            queue = _memory.own_stream(index) if stream is None else _memory.callers_stream(stream, index)
            memory = self._fitting(value, region, "value", queue, writable=False)
            if memory.wait_for is not None:
                queue.wait_for(_memory.callers_stream(memory.wait_for, index))
            source = _core.Target(memory.address, region.strides(memory.strides), memory.keep, queue)
        else:
            if stream is not None:
                raise ValueError("stream is for values in CUDA memory")
            array = self._host_value(value)
            shaped = np.broadcast_to(array, region.shape)
            strides = region.strides(shaped.strides)
            memory = _memory.of(array, self.dtype, "value", None, writable=False)
            if self._vlen:
                return self._object_writer(region, memory, strides, opts)
            source = _core.Target(memory.address, strides, memory.keep)

        def call() -> None:
            self._last_report = core.write(region.ranges, source, opts)

        return call

    def _object_writer(
        self, region: Region, memory: _memory.Memory, strides: list[int], opts: _core.Options
    ) -> Callable[[], None]:
        core = self._core

        def call() -> None:
            held = memory.keep
            self._last_report = core.write_objects(region.ranges, memory.address, strides, opts)
            del held

        return call

    def _host_value(self, value: Any) -> npt.NDArray[Any]:
        if self._vlen:
            return np.asarray(value, object)
        if isinstance(value, np.ndarray):
            return value if value.dtype == self.dtype else value.astype(self.dtype)
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value).astype(self.dtype, copy=False)
        return np.asarray(value, self.dtype)

    # The rest.

    def plan(
        self,
        selection: Selection = ...,
        *,
        device: str | None = None,
        budget: Bytes | None = None,
        threads: int | None = None,
    ) -> _core.Plan:
        """What ``read`` would do, without reading chunks: str() is a table, ``.json`` the same for programs."""
        region = _selection.parse(selection, self.shape)
        is_cuda, index = _core.parse_device(device or "cpu")
        return self._core.plan(region.ranges, is_cuda, index, options(budget, threads))

    def verify(
        self, *, budget: Bytes | None = None, threads: int | None = None, progress: Progress | None = None
    ) -> _core.Report:
        """Decodes every chunk; ``problems`` of the report lists those that are wrong."""
        report = self._core.verify(options(budget, threads, progress=progress))
        self._last_report = report
        return report

    def resize(self, shape: Sequence[int]) -> None:
        """Changes the shape; chunks outside are removed."""
        self._core.resize(list(shape))
        self._refresh()

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Replaces all attributes.  Errors: TypeError, ValueError for what JSON does not have (NaN)."""
        self._core.set_attributes(attributes_json(attributes))
        self._refresh()

    def flush(self) -> None:
        """Makes what was written durable and complete; a zip archive gets its directory here, and only here."""
        self._core.store.flush()

    def __enter__(self) -> Array:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Flushes, unless an exception is on its way."""
        if kind is None and self._core.store.writable:
            self.flush()


def _reopen(url: str, path: str, mode: str) -> Array:
    return Array(_core.Array.open(_core.Store.open(url, mode), path))


def _is_sharded(dataset: _core.Dataset) -> bool:
    return any(name == "sharding_indexed" for name, _ in dataset.codecs)


def _device_index(out: Any, device: str | None) -> int | None:
    """CUDA device of a read; None: the host.  Errors: ValueError when `out` is on another device; DeviceError."""
    wanted: int | None = None
    if device is not None:
        is_cuda, number = _core.parse_device(device)
        wanted = number if is_cuda else None
    if out is None:
        return wanted
    index = _memory.cuda_index(out)
    if device is not None and index != wanted:
        place = "host memory" if index is None else f"cuda:{index}"
        raise ValueError(f"device={device!r}, but out is in {place}")
    return index


def read_many(
    items: Sequence[tuple[Array, Selection] | tuple[Array, Selection, Any]],
    *,
    budget: Bytes | None = None,
    threads: int | None = None,
    on_error: OnError = "fail",
    progress: Progress | None = None,
) -> list[Any]:
    """Several regions, of one array or many, in one call: their chunks share workers and budget.

    items: (array, selection) or (array, selection, out); host memory; no variable-length data types.
    returns: as ``Array.read``, in the order of the items.
    errors: those of ``Array.read``; the first one ends the whole call.
    memory: the results plus at most ``budget``.
    """
    made: list[tuple[_core.Array, list[tuple[int, int, int]], _core.Target]] = []
    results: list[tuple[Any, bool]] = []
    arrays: list[Array] = []
    for array, selection, *rest in items:
        out = rest[0] if rest else None
        region = _selection.parse(selection, array.shape)
        if array._vlen:
            raise TypeError(f"data type {array.data_type} has variable length: read {array.url} with Array.read")
        if _device_index(out, None) is not None:
            raise ValueError("read_many reads to host memory")
        result = np.empty(region.shape, array.dtype) if out is None else out
        memory = array._fitting(result, region, "out", None, writable=True)
        made.append(
            (array._core, region.ranges, _core.Target(memory.address, region.strides(memory.strides), memory.keep))
        )
        results.append((result, region.scalar and out is None))
        arrays.append(array)
    report = _core.read_many(made, options(budget, threads, on_error, progress))
    for array in arrays:
        array._last_report = report
    return [result[()] if scalar else result for result, scalar in results]
