"""Memory that callers hand in and get back: of NumPy, CuPy, PyTorch, penstock, and of whoever speaks DLPack."""

from __future__ import annotations

import functools
import importlib
import math
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core, _dtype, _memory, _tensor


class Held:
    """Elements of a caller as the library sees them."""

    __slots__ = ("core", "dtype", "library", "shape", "stream")

    def __init__(
        self,
        core: _core.Tensor,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        stream: _core.Stream | None,
        library: str,
    ) -> None:
        self.core = core
        self.dtype = dtype
        self.shape = shape
        self.stream = stream
        """In whose order elements of a device are complete; None: the host."""
        self.library = library
        """"cupy" or "torch", whose current stream it is, so that nobody need wait for what is put into it; else ""."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def device(self) -> str:
        return "cpu" if self.stream is None else f"cuda:{self.stream.index}"


def is_memory(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return True
    if x is None or isinstance(x, type):  # np.float64 has a shape, too
        return False
    return isinstance(x, _tensor.Tensor) or (
        hasattr(x, "shape") and (hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"))
    )


def array_of(x: Any) -> Any:
    """`x` where it is memory, else NumPy's array of it.  Errors: TypeError (a path), those of ``numpy.asarray``."""
    if is_memory(x):
        return x
    if isinstance(x, str | bytes | os.PathLike):
        raise TypeError(f"a path is no array; penstock.open({os.fspath(x)!r}) opens what is there")
    return np.asarray(x)


def take(x: Any, stream: _core.Stream | None = None) -> Held:
    """The elements of `x`, which is memory.  `stream`: in whose order they must be complete; None: that of their library.

    Errors: TypeError (no such type), those of ``penstock.asarray``.
    """
    if isinstance(x, np.ndarray):
        x = x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
        # The weak reference makes ndarray.resize(refcheck=False) refuse to move the memory meanwhile.
        keep = (x, weakref.ref(x))
        address = x.__array_interface__["data"][0]
        return _of_address(x, address, keep, None, "", read_only=not x.flags.writeable)
    library = _library_of(x)
    if library:
        stream = stream or current_stream(x, library)
        if library == "cupy":
            return _of_address(x, x.data.ptr, x, stream, library, read_only=False)
        core = _memory.take_dlpack(x, "x", stream)
        return Held(core, _dtype.to_numpy(core.dtype), core.shape, stream, library)
    if stream is not None and _memory.has_dlpack(x) and _memory.cuda_index(x) == stream.index:
        core = _memory.take_dlpack(x, "x", stream)
        return Held(core, _dtype.to_numpy(core.dtype), core.shape, stream, "")
    tensor = _tensor.asarray(x)
    own = None if tensor._order is None else tensor._order.stream
    if stream is not None and own is not None and own.index == stream.index:
        stream.wait_for(own)
        own = stream
    return Held(tensor._core, tensor.dtype, tensor.shape, own, "")


def _of_address(x: Any, address: int, keep: Any, stream: _core.Stream | None, library: str, *, read_only: bool) -> Held:
    dtype, shape = x.dtype, x.shape
    core = _core.Tensor.from_address(address, core_dtype(dtype), shape, x.strides, keep, stream, read_only)
    return Held(core, dtype, shape, stream, library)


@functools.lru_cache(maxsize=64)
def core_dtype(dtype: np.dtype[Any]) -> _core.DType:
    """The library's data type.  Errors: TypeError (object)."""
    if dtype.hasobject:
        raise TypeError(f"no elements of type {dtype}")
    return _dtype.from_numpy(dtype)[0]


def numpy_dtype(given: Any) -> Any:
    """What NumPy takes for a data type; those of torch have NumPy's names."""
    text = str(given)
    return text.removeprefix("torch.") if text.startswith("torch.") else given


def _library_of(x: Any) -> str:
    """ "cupy" or "torch" where it is such an array on a device, else ""."""
    library = type(x).__module__.partition(".")[0]
    if library == "cupy" or (library == "torch" and x.is_cuda):
        return str(library)
    return ""


def _index_of(x: Any) -> int | None:
    """The device that it is on; None: host memory.  CuPy and PyTorch know without asking the driver."""
    library = _library_of(x)
    if library == "cupy":
        return int(x.device.id)
    return int(x.device.index) if library == "torch" else _memory.cuda_index(x)


def current_stream(x: Any, library: str) -> _core.Stream:
    """Where the library puts this thread's work on the device of `x`."""
    cuda = sys.modules[library].cuda
    if library == "cupy":
        index = x.device.id
        return _stream(index, cuda.get_current_stream(index).ptr)
    index = x.device.index
    return _stream(index, cuda.current_stream(index).cuda_stream)


@functools.lru_cache(maxsize=64)
def _stream(index: int, handle: int) -> _core.Stream:
    return _core.Stream.wrap(index, handle)


def new(x: Any, held: Held, dtype: np.dtype[Any], shape: tuple[int, ...]) -> tuple[Any, Held]:
    """New memory beside `held`, which is `x`, of the same kind: as callers get it, and as the library sees it."""
    if held.library:
        made = _new_of_library(x, held, dtype, shape)
        return made, take(made, held.stream)
    if held.stream is None:
        array = _memory.new(shape, dtype).keep
        return like(x)(array), take(array)
    array = _tensor.DeviceArray.empty(shape, core_dtype(dtype), held.stream)
    return like(x)(array), Held(array._core, dtype, shape, held.stream, "")


def _new_of_library(x: Any, held: Held, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """From the library's own pool, so that it lives as all its arrays do."""
    module = sys.modules[held.library]
    if held.library == "torch":
        return module.empty(shape, dtype=getattr(module, dtype.name), device=x.device)
    index = x.device.id
    if index == module.cuda.runtime.getDevice():
        return module.empty(shape, dtype)
    with module.cuda.Device(index):
        return module.empty(shape, dtype)


def like(x: Any) -> Callable[[Any], Any]:
    """Makes a NumPy array or a DeviceArray what `x` is, without a copy."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch":
        from_dlpack: Callable[[Any], Any] = importlib.import_module("torch").from_dlpack
        return from_dlpack
    if isinstance(x, _tensor.Tensor):
        return _tensor.asarray
    return lambda made: made


def output(into: Any, held: Held, shape: Sequence[int]) -> Held | None:
    """The memory `into` for a result beside `held`; None: NumPy's in the other byte order, into which it must be cast.

    Errors: RuntimeError (shape), ValueError (another device, read-only).
    """
    if tuple(into.shape) != tuple(shape):
        raise RuntimeError(f"output shape not correct: {tuple(into.shape)}, the result has {tuple(shape)}")
    if isinstance(into, np.ndarray):
        if not into.flags.writeable:
            raise ValueError("output is read-only")
        if not into.dtype.isnative and held.stream is None:
            return None
    index = _index_of(into)
    target = take(into, held.stream if held.stream is not None and index == held.stream.index else None)
    if target.device != held.device:
        raise ValueError(f"output is on {target.device}, the input on {held.device}")
    if target.core.read_only:
        raise ValueError("output is read-only")
    return target


def finish(held: Held, target: Held) -> None:
    """Before the caller gets `target`: its own stream comes after what was put there, others must find it complete."""
    if held.stream is not None and not (held.library and held.library == target.library):
        held.stream.synchronize()


def numpy_of(x: Any) -> npt.NDArray[Any]:
    """Its elements in host memory."""
    if isinstance(x, np.ndarray):
        return x
    if _library_of(x) == "cupy":
        return np.asarray(x.get())
    return np.asarray(_tensor.asarray(x).numpy()) if is_memory(x) else np.asarray(x)
