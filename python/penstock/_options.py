"""How an operation may use the machine: what every call that takes time accepts."""

from __future__ import annotations

import datetime
import math
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from . import _core

Bytes: TypeAlias = int | str
"""A size: bytes, or text with a unit ("2GiB", "500MB")."""
OnError: TypeAlias = Literal["fail", "fill"]
Decode: TypeAlias = Literal["auto", "cpu", "device", "nvcomp"]
"""Who decodes chunks that go to a device: what is quicker, the CPU, the device, or the device by nvCOMP."""
Encode: TypeAlias = Literal["auto", "cpu", "device"]
"""Who encodes chunks that come from a device."""
Deadline: TypeAlias = float | datetime.timedelta
"""Time from now, in seconds or as a timedelta, after which the call ends with TimeoutError."""
Durable: TypeAlias = Literal["none", "metadata", "all"]
"""What is safe from a power cut when a write returns; None: the setting ``durable``."""
Links: TypeAlias = Literal["follow", "inside"]
"""Symbolic links in a directory store: every one, or none that leads out of it; None: the setting ``links``."""
Progress: TypeAlias = Callable[[str, int, int], object]
"""Called with (operation, done, total) in bytes, of `track` in seeds; at most every 50 ms and once at the end."""


def options(
    budget: Bytes | None,
    threads: int | None,
    on_error: OnError = "fail",
    progress: Progress | None = None,
    cancel: _core.CancelToken | None = None,
    *,
    watch: bool = True,
    decode: Decode | None = None,
    encode: Encode | None = None,
    deadline: Deadline | None = None,
    memory: _core.Memory | None = None,
) -> _core.Options:
    """The library's options.  `watch`: answer Ctrl-C while waiting (the main thread does)."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    return _core.Options(
        size_bytes(budget, "budget"),
        threads or 0,
        on_error,
        cancel if cancel is not None else _core.CancelToken(),
        progress,
        watch and threading.current_thread() is threading.main_thread(),
        decode=decode,
        encode=encode,
        seconds=_seconds(deadline),
        memory=memory,
    )


def _seconds(deadline: Deadline | None) -> float | None:
    if deadline is None:
        return None
    if isinstance(deadline, datetime.timedelta):
        return deadline.total_seconds()
    if isinstance(deadline, bool) or not isinstance(deadline, int | float):
        raise TypeError(f"deadline is a number of seconds or a datetime.timedelta, not {type(deadline).__name__}")
    if math.isnan(deadline):
        raise ValueError("deadline is not a number")
    return float(deadline)


def size_bytes(size: Bytes | None, what: str) -> int:
    """Bytes of a size; 0 for None."""
    if size is None:
        return 0
    made = _core.parse_bytes(size) if isinstance(size, str) else int(size)
    if made <= 0:
        raise ValueError(f"{what} must be more than nothing, not {size!r}")
    return made
