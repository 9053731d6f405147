"""Elements in memory of the host or of a device: what other libraries hand in, and what reads on a device give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core, _dtype, _memory, _selection
from ._errors import UnsupportedError
from ._selection import Selection

_CPU, _CUDA = 1, 2
_LEGACY_DEFAULT = 1
"""DLPack's number of CUDA's default stream, which cudaStream_t writes as 0; 2 is the per-thread one."""


class _Order:
    """The stream in whose order elements of a device are complete; shared by all views of the memory."""

    __slots__ = ("ordered", "stream")

    def __init__(self, stream: _core.Stream, *, ordered: bool) -> None:
        self.stream = stream
        self.ordered = ordered
        """False: they are complete already."""


class _Shown:
    """Memory as NumPy takes it."""

    def __init__(self, interface: dict[str, Any], keep: Any) -> None:
        self.__array_interface__ = interface
        self.keep = keep


class Tensor:
    """Elements in memory, shared with whoever has it: what ``penstock.asarray`` gives.

    shape, dtype: of the elements; strides: in bytes, of any sign.
    ``t[1, ::-2]`` is a view of the same memory (NumPy's basic indexing).  NumPy, CuPy, PyTorch and others take it without
    a copy: ``np.asarray(t)`` (host), ``torch.from_dlpack(t)``, ``cupy.asarray(t)``.
    stream: on a device, consumers that ask by DLPack or ``__cuda_array_interface__`` come after the work that makes it.
    memory: lives as long as the last of its views and consumers.
    """

    def __init__(self, core: _core.Tensor, order: _Order | None = None) -> None:
        self._core = core
        self._order = order
        self.shape: tuple[int, ...] = core.shape
        self.strides: tuple[int, ...] = core.strides_bytes
        self.dtype: np.dtype[Any] = _dtype.to_numpy(core.dtype)

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
    def device(self) -> str:
        """ "cpu", "cuda:0" """
        return self._core.device

    @property
    def address(self) -> int:
        """Of element 0, in the device's memory."""
        return self._core.address

    @property
    def read_only(self) -> bool:
        return self._core.read_only

    def __repr__(self) -> str:
        return f"<penstock.{type(self).__name__} {self.shape} {self.dtype} on {self.device}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __getitem__(self, selection: Selection) -> Tensor:
        """A view: integers drop their dimension, slices take any step, ``...``.  errors: IndexError."""
        region = _selection.parse(selection, self.shape)
        return type(self)(self._core.slice(_indices(region)), self._order)

    def contiguous(self) -> Tensor:
        """Itself where the elements follow each other in C order, else a copy in new memory of the same device.

        errors: MemoryError, DeviceError.
        """
        return self if self._core.contiguous else self._copied(self._index)

    def to(self, device: str) -> Tensor:
        """Itself where it is on ``device`` ("cpu", "cuda", "cuda:1", "auto"), else a copy there, complete on return.

        errors: ValueError (no such name), DeviceError, MemoryError.
        """
        is_cuda, number = _core.parse_device(device)
        index = number if is_cuda else None
        return self if index == self._index else self._copied(index)

    def numpy(self) -> npt.NDArray[Any]:
        """On the host a NumPy view of the same memory, else a copy in host memory: complete on return, after the work
        that is in the device's default stream now.

        errors: TypeError (variable length).
        """
        return self._shown() if self._index is None else self.to("cpu")._shown()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """As ``numpy``.  errors: ValueError for copy=False where one is needed."""
        if copy is False and (self._index is not None or (dtype is not None and np.dtype(dtype) != self.dtype)):
            raise ValueError(f"elements on {self.device} cannot become a NumPy array of {dtype} without a copy")
        made = self.numpy()
        made = made if dtype is None else made.astype(dtype, copy=False)
        return made.copy() if copy and made.base is not None else made

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CPU, 0) if self._index is None else (_CUDA, self._index)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """``dl_device`` (1, 0) gives a copy in host memory where the elements are on a device.

        errors: BufferError (a data type, strides or a device that DLPack or this memory does not have, copy=True on a
        device, read-only memory for consumers before version 1).
        """
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if dl_device[0] != _CPU or copy is False:
                raise BufferError(f"elements on {self.device} are not given away on DLPack device {tuple(dl_device)}")
            return self.to("cpu").__dlpack__(max_version=max_version)
        if copy:
            if self._index is not None:
                raise BufferError(f"elements on {self.device} are given away without a copy only")
            return self._copied(None).__dlpack__(max_version=max_version)
        if self._order is not None and self._order.ordered and stream != -1:
            handle = 0 if stream in (None, _LEGACY_DEFAULT) else int(stream or 0)
            _core.Stream.wrap(self._order.stream.index, handle).wait_for(self._order.stream)
        try:
            return self._core.to_capsule(max_version is not None and max_version[0] >= 1)
        except UnsupportedError as error:
            raise BufferError(str(error)) from None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._order is None:
            raise AttributeError("elements in host memory have no __cuda_array_interface__")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, self.read_only),
            "strides": None if self._core.contiguous else self.strides,
            "version": 3,
            "stream": (self._order.stream.handle or _LEGACY_DEFAULT) if self._order.ordered else None,
        }

    @property
    def _index(self) -> int | None:
        return None if self._order is None else self._order.stream.index

    def _follow(self, stream: _core.Stream) -> None:
        """Work of `stream` puts elements here: whoever uses or frees the memory comes after it."""
        if self._order is not None:
            if stream.handle != self._order.stream.handle:
                self._order.stream.wait_for(stream)
            self._order.ordered = True

    def _shown(self) -> npt.NDArray[Any]:
        if self.dtype.hasobject:
            raise TypeError(f"elements of variable length ({self._core.dtype.name}) are no NumPy elements")
        if 0 in self.shape:  # nothing may have no address, by which NumPy takes memory
            return np.empty(self.shape, self.dtype)
        # As bytes of the elements' size: NumPy's interface has no words for some of its own data types.
        interface = {
            "version": 3,
            "shape": self.shape,
            "typestr": f"|V{self.dtype.itemsize}",
            "data": (self.address, self.read_only),
            "strides": self.strides,
        }
        return np.asarray(_Shown(interface, self._core)).view(self.dtype)

    def _copied(self, index: int | None) -> Tensor:
        """In new memory of a device (None: the host), complete on return."""
        if self._order is not None:  # what others still do to it, on the stream that means nothing else
            self._order.stream.wait_for(_core.Stream.wrap(self._order.stream.index, 0))
        if index is None:
            made = _of_numpy(_memory.new(self.shape, self.dtype).keep, self._core.dtype)
        else:
            made = DeviceArray.empty(self.shape, self._core.dtype, _memory.own_stream(index))
        _core.copy_elements(self._core, made._core)
        if made._order is not None:
            made._order.stream.synchronize()
        return made


class DeviceArray(Tensor):
    """Elements in CUDA memory: the Tensor that ``read(device="cuda")`` gives, in C order.

    The memory is freed with the last object that uses it, after the work that is then in the stream of the read, in the
    device's default stream and in all streams that wait for that; work in other streams must be done before.
    """

    @classmethod
    def empty(
        cls,
        shape: tuple[int, ...],
        dtype: _core.DType,
        stream: _core.Stream,
        callers: Any = None,
        memory: _core.Memory | None = None,
    ) -> DeviceArray:
        """New memory.  `callers`: the caller's object of `stream`; None: the stream is our own, and whoever fills the
        memory waits for it.  `memory`: where it comes from; None: the library's own pool."""
        core = _core.Tensor.allocate(dtype, shape, stream, callers, memory)
        return cls(core, _Order(stream, ordered=callers is not None))


def asarray(x: Any) -> Tensor:
    """The elements of ``x`` as a Tensor, without a copy.

    x: a Tensor, a NumPy array, anything with ``__dlpack__`` (CuPy, PyTorch, JAX), ``__cuda_array_interface__`` (Numba)
        or Python's buffer protocol (bytes, array.array); of the CPU or a CUDA device, any strides.
    returns: shape, dtype and strides as those of ``x``; read-only where ``x`` is.
    stream: elements of a device are complete in the order of the calling thread's own stream, which waits for what
        ``x`` names as its own.
    errors: TypeError (none of these, or a data type, device or rank that penstock does not have), ValueError.
    memory: none; ``x`` is kept alive.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, np.ndarray):
        return _of_numpy(x)
    index = _memory.cuda_index(x)
    stream = None if index is None else _memory.own_stream(index)
    order = None if stream is None else _Order(stream, ordered=True)
    if _memory.has_dlpack(x):
        return Tensor(_memory.take_dlpack(x, "x", stream), order)
    if hasattr(x, "__cuda_array_interface__") and stream is not None:
        dtype = np.dtype(x.__cuda_array_interface__["typestr"])
        memory = _memory.of(x, dtype, "x", stream, writable=False)
        if memory.wait_for is not None:
            stream.wait_for(_memory.callers_stream(memory.wait_for, stream.index))
        read_only = bool(x.__cuda_array_interface__["data"][1])
        core = _core.Tensor.from_address(
            memory.address, _native(dtype), memory.shape, memory.strides, memory.keep, stream, read_only
        )
        return Tensor(core, order)
    try:
        return _of_numpy(np.asarray(memoryview(x)))
    except TypeError:
        raise TypeError(
            f"x is {type(x).__name__}, which is neither a NumPy array nor a buffer and has neither "
            "__dlpack__ nor __cuda_array_interface__"
        ) from None


def _of_numpy(array: npt.NDArray[Any], dtype: _core.DType | None = None) -> Tensor:
    memory = _memory.of(array, array.dtype, "x", None, writable=False)
    core = _core.Tensor.from_address(
        memory.address,
        _native(array.dtype) if dtype is None else dtype,
        memory.shape,
        memory.strides,
        memory.keep,
        None,
        not array.flags.writeable,
    )
    return Tensor(core)


def _native(dtype: np.dtype[Any]) -> _core.DType:
    """Errors: TypeError (object, and the other byte order)."""
    made, _ = _dtype.from_numpy(dtype)
    if not dtype.isnative:
        raise TypeError(
            f"x holds {dtype.str}, in the other byte order; x.astype({dtype.newbyteorder('=').str!r}) first"
        )
    return made


def _indices(region: _selection.Region) -> list[int | slice]:
    out: list[int | slice] = []
    for (start, count, step), dropped in zip(region.ranges, region.dropped, strict=True):
        stop = start + count * step
        out.append(start if dropped else slice(start, None if stop < 0 else stop, step))
    return out
