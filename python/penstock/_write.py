"""From memory into arrays: writes prepared, with everything checked that can be checked before, then run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _core, _memory
from ._allocator import core_memory
from ._read import fitting
from ._selection import Region

if TYPE_CHECKING:
    from ._array import Array


Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
"""What a write may do to values of another type, as NumPy's ``casting``."""


class Write:
    """One region on its way out of `value`."""

    def __init__(
        self, array: Array, region: Region, value: Any, stream: Any, casting: Casting = "unsafe", memory: Any = None
    ) -> None:
        self.array = array
        self.region = region
        index = _memory.cuda_index(value)
        self.memory = core_memory(memory, index)
        if index is None:
            if stream is not None:
                raise ValueError("stream is for values in CUDA memory")
            self._from_host(value, casting)
        else:
            self._from_device(value, index, stream)

    def _from_host(self, value: Any, casting: Casting) -> None:
        array = _host_value(self.array, value, casting)
        strides = self.region.strides(np.broadcast_to(array, self.region.shape).strides)
        memory = _memory.of(array, self.array.dtype, "value", None, writable=False)
        self.source = _core.Target(memory.address, strides, memory.keep, None, self.array._vlen)

    def _from_device(self, value: Any, index: int, stream: Any) -> None:
        if self.array._vlen:
            raise TypeError(f"data type {self.array.data_type} has variable length, which lives in host memory only")
        queue = _memory.own_stream(index) if stream is None else _memory.callers_stream(stream, index)
        memory = fitting(value, self.array.dtype, self.region, "value", queue, writable=False)
        if memory.wait_for is not None:
            queue.wait_for(_memory.callers_stream(memory.wait_for, index))
        self.source = _core.Target(memory.address, self.region.strides(memory.strides), memory.keep, queue)

    def run(self, opts: _core.Options) -> None:
        """What the write refers to stays alive until it is done."""
        self.array._last_report = _core.write_many([(self.array._core, self.region.ranges, self.source)], opts)


def _host_value(array: Array, value: Any, casting: Casting) -> npt.NDArray[Any]:
    if array._vlen:
        return np.asarray(value, object)
    if casting != "unsafe":
        value = np.asanyarray(value)
        if not np.can_cast(value.dtype, array.dtype, casting):
            raise TypeError(f"value: cannot cast {value.dtype} to {array.dtype} with casting={casting!r}")
    if isinstance(value, np.ndarray):
        return value if value.dtype == array.dtype else value.astype(array.dtype)
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value).astype(array.dtype, copy=False)
    return np.asarray(value, array.dtype)
