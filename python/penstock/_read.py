"""From arrays into memory: reads prepared, with everything checked that can be checked before, then run together."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _memory, _selection
from ._allocator import core_memory
from ._options import Bytes, Deadline, Decode, OnError, Progress, options
from ._selection import Region, Selection
from ._tensor import DeviceArray, Tensor

if TYPE_CHECKING:
    from ._array import Array


class Read:
    """One region on its way into `out`, or into new memory."""

    def __init__(
        self, array: Array, region: Region, out: Any, device: str | None, stream: Any, memory: Any = None
    ) -> None:
        self.array = array
        self.region = region
        self._new = out is None
        self._own: _core.Stream | None = None  # to wait for before the result is given away
        self.result: Any = out
        index = device_index(out, device)
        self.memory = core_memory(memory, index)
        if index is None:
            if stream is not None:
                raise ValueError("stream is for CUDA devices; this read goes to host memory")
            self._to_host()
        else:
            if array._vlen:
                raise TypeError(f"data type {array.data_type} has variable length, which lives in host memory only")
            self._to_device(index, stream)

    def _to_host(self) -> None:
        array = self.array
        if self._new:
            with self._naming_what_was_asked("memory"):
                memory = self._new_in_host()
            self.result = memory.keep
        elif array._vlen and not isinstance(self.result, np.ndarray):
            name = type(self.result).__name__
            raise TypeError(f"out is {name}; for data type {array.data_type} it must be a NumPy object array")
        else:
            memory = fitting(self.result, array.dtype, self.region, "out", None, writable=True)
        strides = self.region.strides(memory.strides)
        self.target = _core.Target(memory.address, strides, memory.keep, None, array._vlen)

    def _naming_what_was_asked(self, place: str) -> contextlib.AbstractContextManager[None]:
        """For memory of our own; the error of an allocator that was given says more."""
        return new_memory(self.array, self.region.shape, place) if self.memory is None else contextlib.nullcontext()

    def _new_in_host(self) -> _memory.Memory:
        shape, array = self.region.shape, self.array
        if self.memory is None:
            return _memory.new(shape, array.dtype)
        if array._vlen:
            raise TypeError(f"data type {array.data_type} has variable length; its memory is NumPy's own")
        core = _core.Tensor.allocate(array._dataset.dtype, list(shape), _core.Stream(), None, self.memory)
        made = Tensor(core).numpy()
        return _memory.Memory(core.address, shape, made.strides, made)

    def _to_device(self, index: int, stream: Any) -> None:
        own = stream is None
        queue = _memory.own_stream(index) if own else _memory.callers_stream(stream, index)
        shape, dtype = self.region.shape, self.array.dtype
        if self._new:
            with self._naming_what_was_asked(f"cuda:{index}"):
                made = DeviceArray.empty(shape, self.array._dataset.dtype, queue, stream, self.memory)
            memory = _memory.Memory(made.address, shape, _memory.c_strides(shape, dtype.itemsize), made)
            self.result = made
        else:
            memory = fitting(self.result, dtype, self.region, "out", queue, writable=True)
            if memory.wait_for is not None:
                queue.wait_for(_memory.callers_stream(memory.wait_for, index))
        self._own = queue if own else None
        self._queue = queue
        self.target = _core.Target(memory.address, self.region.strides(memory.strides), memory.keep, queue)

    def finished(self) -> Any:
        """The result; called when the library has done its part."""
        if self._own is not None:
            self._own.synchronize()
        elif isinstance(self.result, DeviceArray):
            self.result._follow(self._queue)
        if self._new and self.region.scalar and isinstance(self.result, np.ndarray):
            return self.result[()]
        return self.result


def run(read: Read, opts: _core.Options) -> Any:
    """Runs a prepared read.  What it refers to stays alive until it is done."""
    read.array._last_report = _core.read_many([(read.array._core, read.region.ranges, read.target)], opts)
    return read.finished()


def read_many(
    items: Sequence[tuple[Array, Selection] | tuple[Array, Selection, Any]],
    *,
    device: str | None = None,
    stream: Any = None,
    budget: Bytes | None = None,
    threads: int | None = None,
    on_error: OnError = "fail",
    progress: Progress | None = None,
    decode: Decode | None = None,
    deadline: Deadline | None = None,
    memory: Any = None,
) -> list[Any]:
    """Several regions, of one array or many, in one call: their chunks share workers and budget.

    items: (array, selection) or (array, selection, out); arrays, results and ``out`` as in ``Array.read``.
    device, stream, memory: of all items.
    returns: as ``Array.read``, in the order of the items.
    errors: those of ``Array.read``; the first one ends the whole call.
    memory: the results plus at most ``budget``.
    """
    job = _core.ReadJob()
    arrays: set[Array] = set()
    results: list[Any] = []  # what is new and plain; else a Read
    new_in_host = device is None and stream is None and memory is None
    given: _core.Memory | None = None
    for item in items:
        array, selection, *rest = _checked_item(item)
        arrays.add(array)
        out = rest[0] if rest else None
        made = _add_plain(job, array, selection) if new_in_host and out is None else None
        if made is None:
            made = Read(array, _selection.parse(selection, array.shape), out, device, stream, memory)
            given = given or made.memory
            job.add(array._core, made.region.ranges, made.target)
        results.append(made)
    report = job.run(options(budget, threads, on_error, progress, decode=decode, deadline=deadline, memory=given))
    for array in arrays:
        array._last_report = report
    return [made.finished() if isinstance(made, Read) else made for made in results]


def _checked_item(item: Any) -> Any:
    from ._array import Array

    if isinstance(item, tuple | list) and len(item) in (2, 3) and isinstance(item[0], Array):
        return item
    raise TypeError(f"items are (array, selection) or (array, selection, out), not {type(item).__name__}")


def _add_plain(job: _core.ReadJob, array: Array, selection: Selection) -> Any:
    """Adds slices into small, new host memory, which is returned; None for all that a Read is needed for.

    Without a Read for each: of thousands of small regions, preparing them was a fifth of the time.
    """
    if array._vlen:
        return None
    try:
        return job.add_slices(array._core, array.shape, selection, np.empty, array.dtype, _memory.ALIGN_FROM_BYTES)
    except (MemoryError, ValueError):
        return None  # a Read says what was asked for


@contextlib.contextmanager
def new_memory(array: Array, shape: tuple[int, ...], place: str) -> Iterator[None]:
    """Memory for elements is made in it: when there is not so much, the error says for what and how much was asked."""
    nbytes = math.prod(shape) * array.dtype.itemsize
    why = None
    if nbytes <= sys.maxsize:
        try:
            yield
            return
        except (MemoryError, ValueError) as error:  # NumPy's ValueError: more than any machine has
            why = error
    text = f"{array.url}: {nbytes} bytes for {shape} of the array's {array.shape}, data type {array.data_type}"
    cure = "read a region, or use dask.array.from_array(a, chunks=a.chunks)"
    raise MemoryError(f"{text}: more than {place} holds; {cure}") from why


def fitting(
    obj: Any, dtype: np.dtype[Any], region: Region, what: str, stream: _core.Stream | None, *, writable: bool
) -> _memory.Memory:
    """The memory of `obj`, which must have the data type and the shape of the region."""
    memory = _memory.of(obj, dtype, what, stream, writable=writable)
    if tuple(memory.shape) != region.shape:
        raise ValueError(f"{what} has shape {tuple(memory.shape)}, the selection {region.shape}")
    return memory


def device_index(out: Any, device: str | None) -> int | None:
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
