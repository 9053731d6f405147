"""Memory that reads go to and writes come from: NumPy arrays, DLPack, __cuda_array_interface__."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _core, _dtype
from ._errors import UnsupportedError

if TYPE_CHECKING:
    from ._tensor import Tensor

_CUDA, _CUDA_MANAGED = 2, 13
_DLPACK_VERSION = (1, 1)


class Memory:
    """Foreign memory: where it is, how it lies, what keeps it alive."""

    __slots__ = ("address", "index", "keep", "shape", "strides", "wait_for")

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: Sequence[int],
        keep: Any,
        index: int | None = None,
        wait_for: int | None = None,
    ) -> None:
        self.address = address
        self.shape = shape
        self.strides = strides
        self.keep = keep
        self.index = index
        """CUDA device; None: host."""
        self.wait_for = wait_for
        """Stream whose present work must be done first (__cuda_array_interface__)."""


def of(obj: Any, dtype: np.dtype[Any], what: str, stream: _core.Stream | None, *, writable: bool) -> Memory:
    """Looks at `obj`.  DLPack is asked to make the memory ready on `stream`.

    Errors: TypeError (no known interface, another data type), ValueError (read-only).
    """
    if isinstance(obj, np.ndarray):
        return _of_numpy(obj, dtype, what, writable=writable)
    if isinstance(getattr(obj, "_core", None), _core.Tensor):
        return _of_tensor(obj, dtype, what, writable=writable)
    if has_dlpack(obj):
        return _of_dlpack(obj, dtype, what, stream, writable=writable)
    if hasattr(obj, "__cuda_array_interface__"):
        return _of_cuda_interface(obj, dtype, what, writable=writable)
    try:
        view = np.asarray(memoryview(obj))
    except TypeError:
        raise TypeError(
            f"{what} is {type(obj).__name__}, which is neither a NumPy array nor a buffer and has neither "
            "__dlpack__ nor __cuda_array_interface__"
        ) from None
    return _of_numpy(view, dtype, what, writable=writable)


def has_dlpack(obj: Any) -> bool:
    """Whether to take `obj` by DLPack.  CuPy divides negative strides by an unsigned size there, so that they come out
    wrong; ``__cuda_array_interface__`` has them right."""
    if not hasattr(obj, "__dlpack__"):
        return False
    strides = getattr(obj, "strides", None)
    backwards = isinstance(strides, tuple) and any(stride < 0 for stride in strides)
    return not (backwards and hasattr(obj, "__cuda_array_interface__"))


def cuda_index(obj: Any) -> int | None:
    """CUDA device that `obj` is on; None: host memory, or not an array."""
    if obj is None or isinstance(obj, np.ndarray):
        return None
    if hasattr(obj, "__dlpack_device__"):
        kind, index = obj.__dlpack_device__()
        return int(index) if kind in (_CUDA, _CUDA_MANAGED) else None
    if hasattr(obj, "__cuda_array_interface__"):
        address: int = obj.__cuda_array_interface__["data"][0]
        return _core.device_of(address) if address else 0  # no address: no elements
    return None


def _check_dtype(given: np.dtype[Any], dtype: np.dtype[Any], what: str) -> None:
    if given == dtype:
        return
    if given.kind == dtype.kind == "b" or (
        given.itemsize == dtype.itemsize and dtype.name == "bfloat16" and given.kind in "uV"
    ):
        return
    raise TypeError(f"{what} holds {given}, the array {dtype}: they must be the same")


def _of_numpy(array: npt.NDArray[Any], dtype: np.dtype[Any], what: str, *, writable: bool) -> Memory:
    _check_dtype(array.dtype, dtype, what)
    if writable and not array.flags.writeable:
        raise ValueError(f"{what} is read-only")
    # The weak reference makes ndarray.resize(refcheck=False) refuse to move the memory meanwhile.
    keep = (array, weakref.ref(array))
    return Memory(array.__array_interface__["data"][0], array.shape, array.strides, keep)


def take_dlpack(obj: Any, what: str, stream: _core.Stream | None) -> _core.Tensor:
    """The tensor behind ``__dlpack__``, made ready on `stream`.  Errors: TypeError (what DLPack has and we do not)."""
    # DLPack numbers CUDA's legacy default stream 1: 0 is ambiguous and not allowed.
    given = {} if stream is None else {"stream": stream.handle or 1}
    try:
        capsule = obj.__dlpack__(**given, max_version=_DLPACK_VERSION)
    except TypeError:  # of before version 1
        capsule = obj.__dlpack__(**given)
    try:
        return _core.Tensor.from_capsule(capsule, stream)
    except UnsupportedError as error:
        raise TypeError(f"{what}: {error}") from None


def _of_dlpack(obj: Any, dtype: np.dtype[Any], what: str, stream: _core.Stream | None, *, writable: bool) -> Memory:
    index = cuda_index(obj)
    tensor = take_dlpack(obj, what, None if index is None else stream or own_stream(index))
    _check_dtype(_dtype.to_numpy(tensor.dtype), dtype, what)
    if writable and tensor.read_only:
        raise ValueError(f"{what} is read-only")
    return Memory(tensor.address, tensor.shape, tensor.strides_bytes, (tensor, obj), index)


def _of_tensor(obj: Tensor, dtype: np.dtype[Any], what: str, *, writable: bool) -> Memory:
    _check_dtype(obj.dtype, dtype, what)
    if writable and obj.read_only:
        raise ValueError(f"{what} is read-only")
    order = obj._order
    wait_for = order.stream.handle if order is not None and order.ordered else None
    return Memory(obj.address, obj.shape, obj.strides, obj, obj._index, wait_for)


def _of_cuda_interface(obj: Any, dtype: np.dtype[Any], what: str, *, writable: bool) -> Memory:
    interface = obj.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError(f"{what} has a mask")
    given = np.dtype(interface["typestr"])
    _check_dtype(given, dtype, what)
    address, read_only = interface["data"]
    if writable and read_only:
        raise ValueError(f"{what} is read-only")
    shape = tuple(interface["shape"])
    strides = interface.get("strides") or c_strides(shape, given.itemsize)
    return Memory(address, shape, strides, (obj, interface), cuda_index(obj), interface.get("stream"))


# Below this, placement stores through the cache, and alignment gains nothing.
ALIGN_FROM_BYTES = 256 << 10
_CACHE_LINE, _HUGE_PAGE = 64, 2 << 20


def new(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Memory:
    """A new NumPy array (``keep``).  A large one begins at a cache line or a huge page: placement is twice as fast."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes < ALIGN_FROM_BYTES or dtype.hasobject:
        array = np.empty(shape, dtype)
    else:
        align = _CACHE_LINE if nbytes < 2 * _HUGE_PAGE else _HUGE_PAGE
        room = np.empty(nbytes + align, np.uint8)
        start = -room.__array_interface__["data"][0] % align
        array = room[start : start + nbytes].view(dtype).reshape(shape)
    address = _core.buffer_address(array)  # three times as fast as __array_interface__
    return Memory(array.__array_interface__["data"][0] if address is None else address, shape, array.strides, array)


def c_strides(shape: Sequence[int], item_bytes: int) -> list[int]:
    """Strides in bytes of C order."""
    strides: list[int] = []
    step = item_bytes
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return strides[::-1]


_streams = threading.local()


def own_stream(index: int) -> _core.Stream:
    """This thread's stream of a device, for calls that name none."""
    made: dict[int, _core.Stream] = _streams.__dict__.setdefault("by_index", {})
    if index not in made:
        made[index] = _core.Stream.create(index)
    return made[index]


def callers_stream(stream: Any, index: int) -> _core.Stream:
    """The caller's stream: an address, or an object of torch, CuPy, cuda.core or penstock.

    Errors: TypeError (something else), ValueError (of another device).
    """
    # torch's streams have a device_index, CuPy's a device_id (-1: the default streams).
    given = stream.index if isinstance(stream, _core.Stream) else getattr(stream, "device_index", None)
    given = getattr(stream, "device_id", -1) if given is None else given
    if given not in (index, -1):
        raise ValueError(f"the stream is one of cuda:{given}, the memory is on cuda:{index}")
    if isinstance(stream, _core.Stream):
        return stream
    handle = stream
    if hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    elif hasattr(stream, "cuda_stream"):
        handle = stream.cuda_stream
    elif hasattr(stream, "ptr"):
        handle = stream.ptr
    if not isinstance(handle, int) or isinstance(handle, bool):
        raise TypeError(
            f"stream is {type(stream).__name__}; known are an int (cudaStream_t), torch.cuda.Stream, cupy.cuda.Stream, "
            "objects with __cuda_stream__, and penstock.Stream"
        )
    return _core.Stream.wrap(index, handle)
