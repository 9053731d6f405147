"""Chunks in CUDA memory, as CuPy arrays of bytes: decoded there in batches, and moved in one copy.

All of it is done on CuPy's current device and stream, in memory from CuPy's allocator.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core, _memory

_ALIGN = 256
# Decoded bytes that are decoded in one go: bounds the scratch, which may be more than they themselves.
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
    for wave in _waves(tasks):
        room = cupy().empty(codec.room_bytes(wave), np.uint8)
        problems += codec.decode_on(wave, room.data.ptr, room.nbytes, queue)
    return [problem or out[start : start + size] for problem, start, size in zip(problems, starts, sizes, strict=True)]


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


def _waves(tasks: list[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    """The tasks in order, cut so that each piece decodes to _WAVE_BYTES at most, or is one task."""
    waves: list[list[tuple[int, int, int, int]]] = []
    held = 0
    for task in tasks:
        if not waves or held + task[3] > _WAVE_BYTES:
            waves.append([])
            held = 0
        waves[-1].append(task)
        held += task[3]
    return waves
