"""The CUDA stream of a caller whose work zarr-python does on a thread of its own."""

from __future__ import annotations

import contextlib
import contextvars
import importlib
from collections.abc import Iterator
from typing import Any

_used: contextvars.ContextVar[Any] = contextvars.ContextVar("penstock stream", default=None)


@contextlib.contextmanager
def use_stream(stream: Any) -> Iterator[None]:
    """Within it, what zarr-python does in CUDA memory through penstock is done in the order of ``stream``.

    CuPy's current stream belongs to a thread, and zarr-python's synchronous interface works on another one.  Without
    this it is CUDA's default stream, which does not wait for streams made with ``non_blocking=True``: writing from an
    array that such a stream is still making needs it.  Reads are complete on return with and without it.

    stream: ``cupy.cuda.Stream`` of the device that the arrays are on.
    """
    token = _used.set(stream)  # asyncio hands the context of the calling thread on to zarr-python's
    try:
        yield
    finally:
        _used.reset(token)


def current(index: int) -> Any:
    """The stream of ``use_stream``, else CuPy's current one of this thread on device ``index``."""
    used = _used.get()
    return importlib.import_module("cupy").cuda.get_current_stream(index) if used is None else used
