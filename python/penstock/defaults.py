"""Defaults of ``CuFile``, by KvikIO's names: ``defaults.set({"num_threads": 4})``, also as a context manager.

They begin as the environment says (``KVIKIO_NTHREADS``, ``KVIKIO_TASK_SIZE``, ...), which is read strictly when they are
first needed: a text that is not wholly a value is an error, never a part of it.
"""

from __future__ import annotations

import enum
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class CompatMode(enum.IntEnum):
    """Whether GPUDirect Storage may be used.  penstock moves the same bytes either way; ``OFF`` demands nothing."""

    OFF = 0
    ON = 1
    AUTO = 2


_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_WORDS = {
    **dict.fromkeys(("on", "true", "yes", "1"), True),
    **dict.fromkeys(("off", "false", "no", "0"), False),
}


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise ValueError("a whole number is needed")
    return int(text)


def _bytes(text: str) -> int:
    match = re.fullmatch(r"([0-9]+)(B|KiB|MiB|GiB)?", text)
    if not match:
        raise ValueError("bytes are needed, as a whole number or with a unit: 4194304, 4MiB")
    return int(match[1]) * _UNITS[match[2] or ""]


def _switch(text: str) -> bool:
    if text.lower() not in _WORDS:
        raise ValueError("on or off is needed")
    return _WORDS[text.lower()]


def _mode(text: str) -> CompatMode:
    if text.lower() == "auto":
        return CompatMode.AUTO
    if text.lower() not in _WORDS:
        raise ValueError("on, off or auto is needed")
    return CompatMode.ON if _WORDS[text.lower()] else CompatMode.OFF


def _codes(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]+", part) for part in parts):
        raise ValueError("numbers with commas between them are needed: 429,503")
    return _status_codes([int(part) for part in parts])


def _status_codes(value: Any) -> list[int]:
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise TypeError(f"http_status_codes are a list of numbers, not {type(value).__name__}")
    codes = list(value)
    for code in codes:
        if isinstance(code, bool) or not isinstance(code, int):
            raise TypeError(f"an HTTP status code is a number, not {code!r}")
        if not 100 <= code <= 599:
            raise ValueError("an HTTP status code is from 100 to 599")
    return codes


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"a whole number is needed, not {type(value).__name__}")
    number = int(value.__index__())
    if number < 0:
        raise OverflowError(f"negative value: {number}")
    if number >= 1 << 63:
        raise OverflowError(f"too large: {number}")
    return number


def _positive(value: Any) -> int:
    if not (number := _whole(value)):
        raise ValueError("a positive integer is needed, not 0")
    return number


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"True or False is needed, not {value!r}")
    return value


class _Row(NamedTuple):
    variables: tuple[str, ...]
    """Of the environment; all that are set must agree."""
    parse: Callable[[str], Any]
    check: Callable[[Any], Any]
    built_in: Callable[[], Any]


_ROWS: dict[str, _Row] = {
    "compat_mode": _Row(("KVIKIO_COMPAT_MODE",), _mode, CompatMode, lambda: CompatMode.AUTO),
    "num_threads": _Row(
        ("KVIKIO_NTHREADS", "KVIKIO_NUM_THREADS"), _count, _positive, lambda: len(os.sched_getaffinity(0))
    ),
    "task_size": _Row(("KVIKIO_TASK_SIZE",), _bytes, _positive, lambda: 4 << 20),
    "gds_threshold": _Row(("KVIKIO_GDS_THRESHOLD",), _bytes, _whole, lambda: 16 << 10),
    "bounce_buffer_size": _Row(("KVIKIO_BOUNCE_BUFFER_SIZE",), _bytes, _positive, lambda: 16 << 20),
    "http_max_attempts": _Row(("KVIKIO_HTTP_MAX_ATTEMPTS",), _count, _positive, lambda: 3),
    "http_status_codes": _Row(("KVIKIO_HTTP_STATUS_CODES",), _codes, _status_codes, lambda: [429, 500, 502, 503, 504]),
    "http_timeout": _Row(("KVIKIO_HTTP_TIMEOUT",), _count, _positive, lambda: 60),
    "auto_direct_io_read": _Row(("KVIKIO_AUTO_DIRECT_IO_READ",), _switch, _bool, lambda: True),
    "auto_direct_io_write": _Row(("KVIKIO_AUTO_DIRECT_IO_WRITE",), _switch, _bool, lambda: True),
}


class _State(NamedTuple):
    """Never changed, only replaced as a whole: who looks without the lock sees one moment, never two."""

    values: Mapping[str, Any]
    decided: Mapping[str, Any]
    """What somebody decided, by the environment or by `set`: the rest is chosen for each request."""
    requests: tuple[int, int]
    """num_threads and task_size as somebody decided them; 0: nobody did."""

    def changed(self, values: Mapping[str, Any], decided: Mapping[str, Any]) -> _State:
        """`decided`: those of `values` that somebody decided; nobody did the others of them."""
        kept = {name: value for name, value in self.decided.items() if name not in values}
        return _state_of({**self.values, **values}, {**kept, **decided})


def _state_of(values: Mapping[str, Any], decided: Mapping[str, Any]) -> _State:
    return _State(values, decided, (decided.get("num_threads", 0), decided.get("task_size", 0)))


_lock = threading.Lock()
"""Of who replaces `_state`."""
_state: _State | None = None
"""None: the environment has not been read."""


def _from_environment(name: str, row: _Row) -> Any:
    """None: the environment says nothing.  Errors: ValueError naming the variable."""
    found: dict[str, Any] = {}
    for variable in row.variables:
        text = os.environ.get(variable)
        if text is None:
            continue
        try:
            found[variable] = row.check(row.parse(text.strip()))
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{variable}={text!r}, for {name}: {error}") from None
    values = list(found.values())
    if any(value != values[0] for value in values[1:]):
        told = ", ".join(f"{variable}={os.environ[variable]!r}" for variable in found)
        raise ValueError(f"{told}: these are the same setting, and must not differ")
    return values[0] if values else None


def _first_state() -> _State:
    told = {name: _from_environment(name, row) for name, row in _ROWS.items()}
    decided = {name: value for name, value in told.items() if value is not None}
    return _state_of({name: row.built_in() for name, row in _ROWS.items() if name not in decided} | decided, decided)


def _known() -> _State:
    global _state
    if _state is None:
        with _lock:
            if _state is None:
                _state = _first_state()
    return _state


def _for_requests() -> tuple[int, int]:
    return (_state or _known()).requests


def _replace(values: Mapping[str, Any], decided: Mapping[str, Any]) -> _State:
    """Returns the state before."""
    global _state
    _known()
    with _lock:
        before = _state
        assert before is not None  # once known, always known
        _state = before.changed(values, decided)
    return before


def _row(name: str) -> _Row:
    if name not in _ROWS:
        raise KeyError(f"{name!r} is no default; there are {', '.join(_ROWS)}")
    return _ROWS[name]


class _Restore:
    """Puts back what stood before, at the end of a ``with``."""

    def __init__(self, names: Iterable[str], before: _State) -> None:
        self._values = {name: before.values[name] for name in names}
        self._decided = {name: before.decided[name] for name in names if name in before.decided}

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        _replace(self._values, self._decided)


def set(*config: Any) -> _Restore:
    """``set({"num_threads": 4, ...})`` or ``set("num_threads", 4)``, for the whole process from now on; as a context
    manager until its end.  All are looked at before one is changed, and change together: a request that begins after it
    has all of them.

    errors: KeyError (no such name), TypeError, ValueError, OverflowError (negative).
    """
    if len(config) == 1 and isinstance(config[0], Mapping):
        given = dict(config[0])
    elif len(config) == 2:
        given = {config[0]: config[1]}
    else:
        raise TypeError("set takes a dict, or a name and a value")
    checked = {name: _row(name).check(value) for name, value in given.items()}
    return _Restore(checked, _replace(checked, checked))


def get(name: str) -> Any:
    """The present value.  errors: KeyError."""
    _row(name)
    value = _known().values[name]
    return list(value) if isinstance(value, list) else value


def is_compat_mode_preferred() -> bool:
    """Whether requests go through host memory: penstock has no GPUDirect engine yet, so always."""
    return True


def compat_mode() -> CompatMode:
    """As ``get("compat_mode")``."""
    mode: CompatMode = get("compat_mode")
    return mode


def compat_mode_reset(mode: CompatMode) -> None:
    """As ``set("compat_mode", mode)``."""
    set("compat_mode", mode)


def get_num_threads() -> int:
    """As ``get("num_threads")``."""
    number: int = get("num_threads")
    return number


def reset_num_threads(number: int) -> None:
    """As ``set("num_threads", number)``."""
    set("num_threads", number)


def task_size() -> int:
    """As ``get("task_size")``."""
    number: int = get("task_size")
    return number
