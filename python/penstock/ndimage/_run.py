"""Calls of operators on whatever holds elements: the result is of the same kind as the input."""

from __future__ import annotations

import functools
import importlib
import json
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _core, _dtype, _memory, _tensor
from .._array import Array
from .._options import Bytes, options
from ._lazy import LazyArray

Call: TypeAlias = tuple[str, str]
"""An operator's name, and its arguments as JSON."""

_LONG_BYTES = 32 << 20
"""Smaller arrays are done before anyone has pressed Ctrl-C."""


class Machine:
    """How a call may use the machine."""

    __slots__ = ("budget", "threads")

    def __init__(self, budget: Bytes | None = None, threads: int | None = None) -> None:
        self.budget = budget
        self.threads = threads

    def options(self, nbytes: int, device: str = "cpu") -> _core.Options:
        """For work on so many bytes.  Work of a device is put into its stream, which takes no time; waiting for Ctrl-C
        meanwhile takes a thread."""
        if device == "cpu" and nbytes >= _LONG_BYTES:
            return options(self.budget, self.threads)
        return _unwatched(self.budget, self.threads)


@functools.lru_cache(maxsize=16)
def _unwatched(budget: Bytes | None, threads: int | None) -> _core.Options:
    """Of calls that nobody stops: those that say the same have the same."""
    return options(budget, threads, watch=False)


def call(name: str, **arguments: Any) -> Call:
    """An operator with those of its arguments that are not None.  Errors: TypeError (no number, word or list)."""
    return name, json.dumps({key: _plain(value) for key, value in arguments.items() if value is not None})


def _plain(value: Any) -> Any:
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
    return isinstance(x, Array | LazyArray)


def output_name(output: Any) -> str | None:
    """The data type that ``output`` asks for, as the library names it; None: none."""
    if output is None:
        return None
    given = output.dtype if _is_memory(output) else output
    return _dtype.from_numpy(np.dtype(_numpy_dtype(given)).newbyteorder("="))[0].name


def _numpy_dtype(given: Any) -> Any:
    """Also of torch, whose data types have NumPy's names."""
    text = str(given)
    return text.removeprefix("torch.") if text.startswith("torch.") else given


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
    return _Bound(_core.BoundOperators.make(list(calls), _dtype.from_numpy(dtype)[0], shape))


def apply(calls: Sequence[Call], x: Any, output: Any = None, machine: Machine | None = None) -> Any:
    """The operators one after the other.

    x: NumPy, penstock, CuPy, PyTorch, or a list: the result is of the same kind, and on the same device.  A
        penstock.Array or LazyArray: a LazyArray; nothing is read.
    output: None, a data type (which the calls know already), or memory for the result, which is returned.
    """
    machine = machine or Machine()
    into: Any = output if _is_memory(output) else None
    if is_stored(x):
        if into is not None:
            raise TypeError("output: the result of a stored array is made when it is asked for; write(), or index it")
        return LazyArray._of(x, calls)
    if not _is_memory(x):
        x = np.asarray(x)
    tensor = _input(x)
    bound = _bound(tuple(calls), tensor.dtype, tensor.shape)
    dtype, shape = bound.core.dtype, bound.shape
    result, target = _result(x, tensor, dtype, shape) if into is None else (into, _target(into, tensor, shape))
    made = target
    if target.dtype != bound.dtype or not target.dtype.isnative:
        made = _new(tensor, dtype, shape)[1]  # the caller's memory holds another type
    nbytes = max(tensor.nbytes, math.prod(shape) * bound.dtype.itemsize)
    bound.core.apply(tensor._core, made._core, machine.options(nbytes, tensor.device))
    if made is not target:
        into[...] = made.numpy() if tensor.device == "cpu" else made
    if tensor._order is not None:
        tensor._order.stream.synchronize()
    return result


def _is_memory(x: Any) -> bool:
    if isinstance(x, type):  # np.float64 has a shape, too
        return False
    return isinstance(x, np.ndarray | _tensor.Tensor) or (
        hasattr(x, "shape") and (hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"))
    )


def _input(x: Any) -> _tensor.Tensor:
    if isinstance(x, np.ndarray) and not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    return _tensor.asarray(x)


class _NumpyTarget:
    """NumPy memory in the other byte order, or of a type that must be cast to."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype


def _target(into: Any, tensor: _tensor.Tensor, shape: Sequence[int]) -> Any:
    if tuple(into.shape) != tuple(shape):
        raise RuntimeError(f"output shape not correct: {tuple(into.shape)}, the result has {tuple(shape)}")
    if isinstance(into, np.ndarray):
        if not into.flags.writeable:
            raise ValueError("output is read-only")
        if not into.dtype.isnative:
            return _NumpyTarget(into.dtype)
    target = _tensor.asarray(into)
    if target.device != tensor.device:
        raise ValueError(f"output is on {target.device}, the input on {tensor.device}")
    if target.read_only:
        raise ValueError("output is read-only")
    return target


def _new(tensor: _tensor.Tensor, dtype: _core.DType, shape: Sequence[int]) -> tuple[Any, _tensor.Tensor]:
    """New memory beside the tensor's: (NumPy array, Tensor) in host memory, else a DeviceArray twice."""
    if tensor._order is None:
        memory = _memory.new(tuple(shape), _dtype.to_numpy(dtype))
        return memory.keep, _tensor.asarray(memory.keep)
    made = _tensor.DeviceArray.empty(tuple(shape), dtype, tensor._order.stream)
    return made, made


def _result(x: Any, tensor: _tensor.Tensor, dtype: _core.DType, shape: Sequence[int]) -> tuple[Any, _tensor.Tensor]:
    made, target = _new(tensor, dtype, shape)
    return like(x)(made), target


def like(x: Any) -> Callable[[Any], Any]:
    """Makes a NumPy array or a DeviceArray what `x` is, without a copy."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch":
        from_dlpack: Callable[[Any], Any] = importlib.import_module("torch").from_dlpack
        return from_dlpack
    if library == "cupy":
        asarray: Callable[[Any], Any] = importlib.import_module("cupy").asarray
        return asarray
    if isinstance(x, _tensor.Tensor):
        return _tensor.asarray
    return lambda made: made


def numpy_of(x: Any) -> npt.NDArray[Any]:
    """Its elements in host memory."""
    if isinstance(x, np.ndarray):
        return x
    return np.asarray(_tensor.asarray(x).numpy()) if _is_memory(x) else np.asarray(x)
