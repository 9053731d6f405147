"""Chunks in CUDA memory, as CuPy arrays of bytes: decoded and encoded there in batches, and moved in one copy.

All of it is done on CuPy's current device and stream, in memory from CuPy's allocator.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from . import _core, _memory

_Task = TypeVar("_Task", bound=tuple[int, ...])

_ALIGN = 256
# Decoded bytes that are decoded or encoded in one go: bounds the scratch, which may be more than they themselves.
_WAVE_BYTES = 1 << 30


def cupy() -> Any:
    return importlib.import_module("cupy")


def decode(codec: _core.BytesCodec, sources: Sequence[Any], sizes: Sequence[int], device: int) -> list[Any]:
    """Decodes chunks of known decoded sizes.  Complete on return.

    returns: for each chunk the decoded bytes, or a text: why the device did not decode it.
    """
    queue = _memory.callers_stream(cupy().cuda.get_current_stream(), device)
    starts, total = _packed(sizes)
    out = cupy().empty(total, np.uint8)
    tasks = [
        (source.data.ptr, source.nbytes, out.data.ptr + start, size)
        for source, start, size in zip(sources, starts, sizes, strict=True)
    ]
    problems: list[str] = []
    for wave in _waves(tasks, sizes):
        room = cupy().empty(codec.room_bytes(wave), np.uint8)
        problems += codec.decode_on(wave, room.data.ptr, room.nbytes, queue)
    return [problem or out[start : start + size] for problem, start, size in zip(problems, starts, sizes, strict=True)]


def encode(codec: _core.BytesCodec, sources: Sequence[Any], threads: int, device: int) -> list[Any] | None:
    """Encodes chunks.  Complete on return.

    threads: of the CPU, with which the device is compared where PENSTOCK_ENCODE asks for it; 0: PENSTOCK_THREADS.
    returns: for each chunk the encoded bytes, or None: the device cannot encode it; None for all of them: they are the
        CPU's to encode.
    """
    queue = _memory.callers_stream(cupy().cuda.get_current_stream(), device)
    chunks = [(source.data.ptr, source.nbytes) for source in sources]
    made: list[Any] = []
    for wave in _waves(chunks, [nbytes for _, nbytes in chunks]):
        room = cupy().empty(codec.encode_room_bytes(wave), np.uint8)
        on_device, _, encoded = codec.encode_on(wave, room.data.ptr, room.nbytes, threads, queue)
        if not on_device:
            return None
        starts, total = _packed([nbytes for _, nbytes in encoded])
        out = cupy().empty(total, np.uint8)
        for (address, nbytes), start in zip(encoded, starts, strict=True):
            if address:
                _copy(out.data.ptr + start, address, nbytes)
                made.append(out[start : start + nbytes])
            else:
                made.append(None)
        cupy().cuda.get_current_stream().synchronize()  # the room is used again
    return made


def to_host(arrays: Sequence[Any]) -> list[npt.NDArray[np.uint8]]:
    """Copies in host memory."""
    starts, total = _packed([array.nbytes for array in arrays])
    host: Any = importlib.import_module("cupyx").empty_pinned(total, np.uint8)
    for array, start in zip(arrays, starts, strict=True):
        _copy(host.ctypes.data + start, array.data.ptr, array.nbytes)
    cupy().cuda.get_current_stream().synchronize()
    return [host[start : start + array.nbytes] for array, start in zip(arrays, starts, strict=True)]


def to_device(arrays: Sequence[npt.NDArray[np.uint8]]) -> list[Any]:
    """Copies in device memory."""
    starts, total = _packed([array.nbytes for array in arrays])
    host: Any = importlib.import_module("cupyx").empty_pinned(total, np.uint8)
    for array, start in zip(arrays, starts, strict=True):
        host[start : start + array.nbytes] = array
    out = cupy().empty(total, np.uint8)
    _copy(out.data.ptr, host.ctypes.data, total)
    cupy().cuda.get_current_stream().synchronize()
    return [out[start : start + array.nbytes] for array, start in zip(arrays, starts, strict=True)]


def _copy(to: int, source: int, nbytes: int) -> None:
    runtime = cupy().cuda.runtime
    runtime.memcpyAsync(to, source, nbytes, runtime.memcpyDefault, cupy().cuda.get_current_stream().ptr)


def _packed(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Where things of these sizes begin in one piece of memory, and its size."""
    starts: list[int] = []
    end = 0
    for size in sizes:
        starts.append(end)
        end += -(-size // _ALIGN) * _ALIGN
    return starts, end


def _waves(tasks: Sequence[_Task], sizes: Sequence[int]) -> list[list[_Task]]:
    """The tasks in order, cut so that as many chunks of the largest one's size have _WAVE_BYTES at most, or it is one."""
    waves: list[list[_Task]] = []
    largest = 0
    for task, size in zip(tasks, sizes, strict=True):
        if not waves or (len(waves[-1]) + 1) * max(largest, size) > _WAVE_BYTES:
            waves.append([])
            largest = 0
        waves[-1].append(task)
        largest = max(largest, size)
    return waves
