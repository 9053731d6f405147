"""Allocators of other libraries, as the library takes memory from them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from . import _core

_Allocate = Callable[[int, int], tuple[int, Any]]
_Free = Callable[[int, Any, int, int], None]


@runtime_checkable
class Allocator(Protocol):
    """What ``memory=`` takes of anybody: an address for so many bytes, at a multiple of 256, and back.

    stream: cudaStream_t in whose order the memory is used; 0 for the host.  Threads call it, with the GIL.
    device: "cpu" or "cuda:0"; without it, the device that the call reads to or writes from.
    """

    def allocate(self, nbytes: int, stream: int) -> int: ...
    def deallocate(self, address: int, nbytes: int, stream: int) -> None: ...


def core_memory(memory: Any, index: int | None) -> _core.Memory | None:
    """The library's face of `memory` for a CUDA device (None: the host).

    Errors: TypeError (no allocator), ValueError (of another device).
    """
    if memory is None:
        return None
    if hasattr(memory, "caching_allocator_alloc"):
        allocate, free = _torch(memory, _on_device(index, "PyTorch's"))
    elif hasattr(memory, "malloc"):
        allocate, free = _cupy(memory.malloc, _on_device(index, "CuPy's"))
    elif isinstance(memory, Allocator):
        _check_device(memory, index)
        allocate, free = _plain(memory)
    elif callable(memory):
        allocate, free = _cupy(memory, _on_device(index, "CuPy's"))
    else:
        raise TypeError(
            f"memory is {type(memory).__name__}; known are CuPy's pools and allocator functions, torch.cuda, and objects "
            "with allocate and deallocate (penstock.Allocator)"
        )
    return _core.foreign_memory(index is not None, index or 0, allocate, free)


def _on_device(index: int | None, whose: str) -> int:
    if index is None:
        raise ValueError(f"memory is {whose}, of CUDA devices; these elements are in host memory")
    return index


def _check_device(memory: Any, index: int | None) -> None:
    given = getattr(memory, "device", None)
    if given is None:
        return
    is_cuda, number = _core.parse_device(given)
    if (number if is_cuda else None) != index:
        place = "host memory" if index is None else f"cuda:{index}"
        raise ValueError(f"memory is of {given}, the elements are in {place}")


def _plain(memory: Allocator) -> tuple[_Allocate, _Free]:
    def allocate(nbytes: int, stream: int) -> tuple[int, Any]:
        return memory.allocate(nbytes, stream), None

    def free(address: int, _: Any, nbytes: int, stream: int) -> None:
        memory.deallocate(address, nbytes, stream)

    return allocate, free


def _torch(memory: Any, index: int) -> tuple[_Allocate, _Free]:
    def allocate(nbytes: int, stream: int) -> tuple[int, Any]:
        return memory.caching_allocator_alloc(nbytes, index, stream), None

    def free(address: int, _: Any, nbytes: int, stream: int) -> None:
        memory.caching_allocator_delete(address)

    return allocate, free


def _cupy(malloc: Callable[[int], Any], index: int) -> tuple[_Allocate, _Free]:
    """CuPy's memory is taken on its current device and stream, and goes back with its pointer object."""
    cuda: Any = importlib.import_module("cupy").cuda

    def allocate(nbytes: int, stream: int) -> tuple[int, Any]:
        with cuda.Device(index), cuda.ExternalStream(stream, index):
            pointer = malloc(nbytes)
        return int(pointer.ptr), pointer.mem

    def free(address: int, holder: Any, nbytes: int, stream: int) -> None:
        """The pool gets the memory back when the last reference goes: the caller's, after this."""

    return allocate, free
