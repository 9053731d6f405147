"""Index arrays under zarr-python: the box around each chunk's selection is read and written natively, all boxes in one call.

zarr-python says for each chunk which elements of it are meant, and which of the caller's memory: with index arrays both
can be any.  NumPy takes them from the boxes, or puts them there; in the memory of a CUDA device CuPy does.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _core, _memory
from ._array import Array
from ._errors import UnsupportedError

# Bytes that the boxes may hold at a time.
_MOST_BYTES = 256 << 20


class Box:
    """The box around one chunk's selection, and the selection within it."""

    def __init__(self, array: Array, chunk: Sequence[int], selection: Any, out: Any, grid: Sequence[int]) -> None:
        """`chunk`: position in the chunk grid.  `out`: selection of the caller's memory.  `grid`: the box begins and
        ends at multiples of it."""
        parts = selection if isinstance(selection, tuple) else (selection,)
        if len(parts) != array.ndim:
            raise UnsupportedError("a selection of another rank than the array's")
        self.chunk = tuple(chunk)
        self.out = out
        self.ranges: list[tuple[int, int, int]] = []
        self.stop: list[int] = []
        self.is_full = True
        """Whether every element of the box is selected, as far as slices say so."""
        within: list[Any] = []
        for part, at, extent, step in zip(parts, chunk, array._dataset.chunk_shape, grid, strict=True):
            low, high, inside, full = _bounds(part, extent, step)
            self.ranges.append((at * extent + low, high - low, 1))
            self.stop.append(at * extent + high)
            self.is_full = self.is_full and full
            within.append(inside)
        self.within = tuple(within)
        self.shape = tuple(count for _, count, _ in self.ranges)
        self.nbytes = math.prod(self.shape) * array.dtype.itemsize


class Place:
    """Where the caller's memory and the boxes are: on the host, or on a CUDA device in the order of a stream of CuPy's."""

    def __init__(self, memory: Any, stream: Any) -> None:
        self._queue: _core.Stream | None = None
        self._module: Any = np
        if stream is not None:
            self._module = importlib.import_module("cupy")
            self._queue = _memory.callers_stream(stream, memory.device.id)

    def new(self, array: Array, boxes: Sequence[Box]) -> list[Any]:
        """Memory for the elements of the boxes."""
        return [self._module.empty(box.shape, array.dtype) for box in boxes]

    def index(self, parts: Any) -> Any:
        """A selection with its index arrays where the memory is."""
        if isinstance(parts, tuple):
            return tuple(self.index(part) for part in parts)
        return self._module.asarray(parts) if isinstance(parts, np.ndarray) else parts

    def items(self, array: Array, boxes: Sequence[Box], made: Sequence[Any]) -> list[Any]:
        """For the native calls."""
        return [
            (
                array._core,
                box.ranges,
                _core.Target(self._address(memory), list(memory.strides), memory, self._queue, array._vlen),
            )
            for box, memory in zip(boxes, made, strict=True)
        ]

    def _address(self, memory: Any) -> int:
        address: int = memory.ctypes.data if self._queue is None else memory.data.ptr
        return address


def read(
    array: Array, boxes: Sequence[Box], out: Any, place: Place, drop_axes: tuple[int, ...], opts: _core.Options
) -> int:
    """Takes the selections from the boxes into `out`; returns the number of chunks that are absent."""
    absent = 0
    for group in _groups(boxes):
        made = place.new(array, group)
        absent += _core.read_many(place.items(array, group, made), opts).absent_chunks
        for box, memory in zip(group, made, strict=True):
            taken = memory[place.index(box.within)]
            out[place.index(box.out)] = taken.squeeze(axis=drop_axes) if drop_axes else taken
    return absent


def write(
    array: Array,
    boxes: Sequence[Box],
    value: Any,
    place: Place,
    drop_axes: tuple[int, ...],
    read_opts: _core.Options,
    write_opts: _core.Options,
) -> None:
    """Reads the boxes, puts the selections of `value` into them, and writes them.

    As in zarr-python, others that write to the same chunks meanwhile may lose what they wrote.
    """
    if len({box.chunk for box in boxes}) != len(boxes):
        raise UnsupportedError("a chunk that comes twice in a selection")
    kept_axes = tuple(None if axis in drop_axes else slice(None) for axis in range(array.ndim))
    for group in _groups(boxes):
        made = place.new(array, group)
        partial = [k for k, box in enumerate(group) if not box.is_full]
        _core.read_many(place.items(array, [group[k] for k in partial], [made[k] for k in partial]), read_opts)
        for box, memory in zip(group, made, strict=True):
            taken = value if value.shape == () else value[place.index(box.out)]
            memory[place.index(box.within)] = taken[kept_axes] if drop_axes and value.shape else taken
        _core.write_many(place.items(array, group, made), write_opts)


def _groups(boxes: Sequence[Box]) -> Iterator[list[Box]]:
    """The boxes in order, as many at a time as may be held, at least one."""
    group: list[Box] = []
    held = 0
    for box in boxes:
        if group and held + box.nbytes > _MOST_BYTES:
            yield group
            group, held = [], 0
        group.append(box)
        held += box.nbytes
    if group:
        yield group


def _bounds(part: Any, extent: int, grid: int) -> tuple[int, int, Any, bool]:
    """First index and end of a selection in a chunk's dimension, the selection from there, whether it is all of it."""
    if isinstance(part, slice):
        start, stop, step = part.indices(extent)
        if step < 1 or stop <= start:
            raise UnsupportedError("a selection that is empty or runs backwards")
        low, high = _rounded(start, stop, extent, grid)
        return low, high, slice(start - low, stop - low, step), step == 1 and (low, high) == (start, stop)
    index = np.asarray(part)
    if index.dtype == bool and index.shape == (extent,):
        index = np.flatnonzero(index)
    if index.dtype.kind not in "iu" or index.size == 0:
        raise UnsupportedError(f"selections of {type(part).__name__}, {index.dtype}")
    if int(index.min()) < 0 or int(index.max()) >= extent:
        raise UnsupportedError("indices outside of their chunk")
    low, high = _rounded(int(index.min()), int(index.max()) + 1, extent, grid)
    return low, high, index - low if index.ndim else int(index) - low, False


def _rounded(low: int, high: int, extent: int, grid: int) -> tuple[int, int]:
    return low // grid * grid, min(-(-high // grid) * grid, extent)
