"""Calls of operators on whatever holds elements: the result is of the same kind as the input."""

from __future__ import annotations

import functools
import json
import marshal
import math
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import _core, _dtype
from .._array import Array
from .._options import Bytes, options
from . import _held
from ._lazy import LazyArray

Call: TypeAlias = tuple[str, str]
"""An operator's name, and its arguments as JSON."""

_STORED = (Array, LazyArray)
_LONG_BYTES = 32 << 20
"""Smaller arrays are done before anyone has pressed Ctrl-C."""


class Machine:
    """How a call may use the machine."""

    __slots__ = ("budget", "threads")

    def __init__(self, budget: Bytes | None = None, threads: int | None = None) -> None:
        self.budget = budget
        self.threads = threads

    def options(self, nbytes: int, *, on_host: bool = True) -> _core.Options:
        """For work on so many bytes.  Work of a device is put into its stream, which takes no time; waiting for Ctrl-C
        meanwhile takes a thread."""
        if on_host and nbytes >= _LONG_BYTES:
            return options(self.budget, self.threads)
        return _unwatched(self.budget, self.threads)


@functools.lru_cache(maxsize=16)
def _unwatched(budget: Bytes | None, threads: int | None) -> _core.Options:
    """Of calls that nobody stops: those that say the same have the same."""
    return options(budget, threads, watch=False)


_texts: dict[bytes, str] = {}
"""Arguments as JSON, of calls that were made before: to write numbers takes longer than the work on few elements."""
_MOST_TEXTS = 256


_PLAIN = frozenset((bool, int, float, str, type(None)))


def call(name: str, **arguments: Any) -> Call:
    """An operator with those of its arguments that are not None.  Errors: TypeError (no number, word or list)."""
    for value in arguments.values():
        if type(value) not in _PLAIN and not (type(value) in (list, tuple) and _PLAIN.issuperset(map(type, value))):
            return name, _text(arguments)
    key = marshal.dumps(arguments, 2)  # tells 1 from 1.0 and from True, as JSON does
    text = _texts.get(key)
    if text is None:
        text = _text(arguments)
        if len(_texts) >= _MOST_TEXTS:
            _texts.clear()
        _texts[key] = text
    return name, text


def _text(arguments: dict[str, Any]) -> str:
    return json.dumps({key: _plain(value) for key, value in arguments.items() if value is not None})


def _plain(value: Any) -> Any:
    if type(value) in (int, float, str, bool):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    try:
        return operator.index(value)
    except TypeError:
        return float(value)


def is_stored(x: Any) -> bool:
    """Whether it is an array that is read when it is needed."""
    return isinstance(x, _STORED)


def output_name(output: Any) -> str | None:
    """The data type that ``output`` asks for, as the library names it; None: none."""
    if output is None:
        return None
    given = output.dtype if _held.is_memory(output) else output
    return _name_of(given) if isinstance(given, np.dtype | type | str) else _name_of.__wrapped__(given)


@functools.lru_cache(maxsize=64)
def _name_of(dtype: Any) -> str:
    return str(_dtype.from_numpy(np.dtype(_held.numpy_dtype(dtype)).newbyteorder("="))[0].name)


class _Bound:
    """Operators for inputs of one data type and shape, and what comes out of them."""

    __slots__ = ("core", "dtype", "shape")

    def __init__(self, core: _core.BoundOperators) -> None:
        self.core = core
        self.dtype = _dtype.to_numpy(core.dtype)
        self.shape: tuple[int, ...] = tuple(core.shape)


@functools.lru_cache(maxsize=64)
def _bound(calls: tuple[Call, ...], dtype: np.dtype[Any], shape: tuple[int, ...]) -> _Bound:
    """Kept, for on few elements it takes longer than the work."""
    return _Bound(_core.BoundOperators.make(list(calls), _held.core_dtype(dtype), shape))


def apply(calls: Sequence[Call], x: Any, output: Any = None, machine: Machine | None = None) -> Any:
    """The operators one after the other.

    x: NumPy, penstock, CuPy, PyTorch, or a list: the result is of the same kind, and on the same device.  A
        penstock.Array or LazyArray: a LazyArray; nothing is read.
    output: None, a data type (which the calls know already), or memory for the result, which is returned.
    """
    machine = machine or Machine()
    into: Any = output if _held.is_memory(output) else None
    if is_stored(x):
        if into is not None:
            raise TypeError("output: the result of a stored array is made when it is asked for; write(), or index it")
        return LazyArray._of(x, calls)
    x = _held.array_of(x)
    held = _held.take(x)
    bound = _bound(tuple(calls), held.dtype, held.shape)
    result, target = into, None
    if into is None:
        result, target = _held.new(x, held, bound.dtype, bound.shape)
    else:
        target = _held.output(into, held, bound.shape)
    if target is None or target.dtype != bound.dtype:  # the caller's memory holds another type
        made, between = _held.new(x, held, bound.dtype, bound.shape)
        _run(bound, held, between, machine)
        into[...] = made
    else:
        _run(bound, held, target, machine)
    return result


def _run(bound: _Bound, held: _held.Held, target: _held.Held, machine: Machine) -> None:
    elements = max(math.prod(held.shape), math.prod(bound.shape))
    nbytes = elements * max(held.dtype.itemsize, bound.dtype.itemsize)
    bound.core.apply(held.core, target.core, machine.options(nbytes, on_host=held.stream is None))
    _held.finish(held, target)
