"""Arrays that operators make of stored ones, when they are asked for."""

from __future__ import annotations

import json
import math
import numbers
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core, _dtype, _memory, _selection, _tensor
from .._array import Array
from .._create import Codec, codec_texts
from .._group import wrap
from .._options import Bytes, Durable, Progress, options
from .._selection import Selection
from .._url import location

Call = tuple[str, str]


class LazyArray:
    """An array that is made of a stored one by operators, whenever a part of it is asked for.

    shape, dtype: of what comes out.  ``a[0:64]`` reads what is needed for it, and makes it (NumPy); ``a.write(path)``
    makes all of it tile by tile in bounded memory; operators of ``penstock.ndimage`` take it on as they take arrays.
    """

    def __init__(self, source: Array, calls: Sequence[Call]) -> None:
        self._source = source
        self._calls = list(calls)
        self._core = _core.LazyArray.make(source._core, self._calls)
        self.shape: tuple[int, ...] = tuple(self._core.shape)
        self.dtype: np.dtype[Any] = _dtype.to_numpy(self._core.dtype)
        self._last_report: _core.Report | None = None

    @classmethod
    def _of(cls, x: Array | LazyArray, calls: Sequence[Call]) -> LazyArray:
        if isinstance(x, LazyArray):
            return cls(x._source, [*x._calls, *calls])
        return cls(x, calls)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def last_report(self) -> _core.Report | None:
        """What the last finished operation on this object did."""
        return self._last_report

    def __repr__(self) -> str:
        steps = " -> ".join(f"{name}{_arguments(text)}" for name, text in self._calls)
        return f"<penstock.LazyArray {self.shape} {self.dtype}: {self._source.url} -> {steps}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __getitem__(self, selection: Selection) -> Any:
        """NumPy's basic indexing: integers drop their dimension, slices take any step, ``...``.  errors: IndexError."""
        return self.read(selection)

    def __add__(self, value: float) -> Any:
        """Arithmetic with a number: float32 for what that holds, else float64.  Done in one pass with its neighbours."""
        return self._with("add", value)

    __radd__ = __add__

    def __sub__(self, value: float) -> Any:
        return self._with("subtract", value)

    def __rsub__(self, value: float) -> Any:
        return (-self)._with("add", value)

    def __mul__(self, value: float) -> Any:
        return self._with("multiply", value)

    __rmul__ = __mul__

    def __truediv__(self, value: float) -> Any:
        return self._with("divide", value)

    def __neg__(self) -> LazyArray:
        return LazyArray._of(self, [("multiply", json.dumps({"value": -1}))])

    def __abs__(self) -> LazyArray:
        return LazyArray._of(self, [("absolute", "{}")])

    def _with(self, name: str, value: float) -> Any:
        if not isinstance(value, numbers.Real):
            return NotImplemented
        return LazyArray._of(self, [(name, json.dumps({"value": float(value)}))])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """All of it in host memory.  errors: ValueError for copy=False."""
        if copy is False:
            raise ValueError("an array that is made when it is asked for cannot become a NumPy array without a copy")
        whole: npt.NDArray[Any] = self.read(...)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def read(
        self,
        selection: Selection = ...,
        *,
        device: str | None = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Makes a selection.

        selection, budget, threads: as ``Array.read``.
        device: "cpu" (default), "cuda", "cuda:1", "auto": where the operators work and the result is.
        returns: a NumPy array (a scalar for one element), or a DeviceArray, complete on return.
        errors: those of ``Array.read``; UnsupportedError.
        memory: the box of the array that the selection lies in, and at most ``budget``.
        """
        region = _selection.parse(selection, self.shape)
        box, inside = _box(region)
        is_cuda, index = _core.parse_device(device or "cpu")
        stream = _memory.own_stream(index) if is_cuda else None
        core, self._last_report = self._core.read(box, stream, options(budget, threads, progress=progress))
        if is_cuda:
            assert stream is not None
            return _tensor.DeviceArray(core, _tensor._Order(stream, ordered=False))[inside]
        made = _tensor.Tensor(core).numpy()[inside]
        return made[()] if region.scalar else made

    def write(
        self,
        url: str | os.PathLike[str],
        *,
        path: str = "",
        chunks: int | Sequence[int] | None = None,
        shards: int | Sequence[int] | None = None,
        codecs: Sequence[Codec] | None = None,
        zarr_format: int | None = None,
        overwrite: bool = False,
        device: str = "auto",
        budget: Bytes | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        durable: Durable | None = None,
    ) -> Array:
        """Makes all of it, tile by tile, and writes it as a new array.

        chunks, shards, codecs, zarr_format: as ``penstock.copy``; those of the source where they are not given.
        device: where the operators work: "cpu", "cuda", "cuda:1", "auto" (CUDA if there is one).
        budget: memory of all, bytes or "2GiB"; None: PENSTOCK_BUDGET, else a quarter of free memory.
        returns: the array, open for reading and writing; ``last_report`` says what was done.
        errors: FileExistsError; BudgetError (how much one object of the output needs); those of ``Array.read`` and
            ``Array.write``.  The metadata come last: a write that is stopped leaves no array.
        """
        is_cuda, index = _core.parse_device(device)
        _core.check_zarr_name(location(url))  # before there is a directory
        store = _core.Store.open(location(url), "a", durable)
        report = self._core.write(
            store,
            path.strip("/"),
            zarr_format,
            _shape(chunks),
            _shape(shards),
            None if codecs is None else codec_texts(codecs),
            overwrite,
            is_cuda,
            index,
            options(budget, threads, progress=progress),
        )
        made = wrap(_core.open_node(store, path.strip("/")))
        assert isinstance(made, Array)
        made._last_report = report
        return made

    def explain(
        self,
        *,
        chunks: int | Sequence[int] | None = None,
        shards: int | Sequence[int] | None = None,
        zarr_format: int | None = None,
        device: str = "auto",
        budget: Bytes | None = None,
        threads: int | None = None,
    ) -> str:
        """What ``write`` would do: operators, tiles, halos, bytes read twice, memory.  Reads no chunks."""
        is_cuda, index = _core.parse_device(device)
        return self._core.explain(zarr_format, _shape(chunks), _shape(shards), is_cuda, index, options(budget, threads))


def _arguments(text: str) -> str:
    return "(" + ", ".join(f"{name}={value!r}" for name, value in json.loads(text).items()) + ")"


def _shape(given: int | Sequence[int] | None) -> list[int] | None:
    if given is None:
        return None
    return [given] if isinstance(given, int) else list(given)


def _box(region: _selection.Region) -> tuple[list[tuple[int, int, int]], tuple[Any, ...]]:
    """The box that a selection lies in, as ranges with steps of 1, and the selection inside of it."""
    box: list[tuple[int, int, int]] = []
    inside: list[Any] = []
    for (start, count, step), dropped in zip(region.ranges, region.dropped, strict=True):
        last = start + (count - 1) * step if count else start
        low, high = min(start, last), max(start, last)
        box.append((low, high - low + 1 if count else 0, 1))
        inside.append(0 if dropped else slice(None, None, step))
    return box, tuple(inside)
