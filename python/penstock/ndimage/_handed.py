"""What scipy.ndimage has and penstock has not: handed to scipy where the elements are in host memory, else refused."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _memory, _tensor
from .._errors import UnsupportedError
from . import _held, _run

_warned: set[str] = set()


def _scipy() -> Any:
    return importlib.import_module("scipy.ndimage")


def names() -> list[str]:
    """Of scipy.ndimage; none where scipy is not installed."""
    try:
        return list(_scipy().__all__)
    except ImportError:
        return []


def _host(name: str, value: Any) -> Any:
    """An argument as scipy takes it.  Errors: UnsupportedError (a stored array, elements of a device)."""
    if _run.is_stored(value):
        raise UnsupportedError(f"{name}: penstock has no such operator, and scipy takes no stored array: read it first")
    if isinstance(value, np.ndarray) or not _held.is_memory(value):
        return value
    if _memory.cuda_index(value) is not None:
        raise UnsupportedError(f"{name}: penstock has no such operator for elements on a device")
    return np.asarray(_tensor.asarray(value).numpy())


def hand(name: str, why: str, *arguments: Any, **named: Any) -> Any:
    """Calls scipy's function, with one warning for each."""
    given = [_host(name, value) for value in arguments]
    also = {key: _host(name, value) for key, value in named.items()}
    try:
        function = getattr(_scipy(), name)
    except ImportError:
        raise UnsupportedError(f"{name}: {why}, and scipy, which has it, is not installed") from None
    if name not in _warned:
        _warned.add(name)
        warnings.warn(f"{name}: {why}; scipy.ndimage.{name} is called", UserWarning, stacklevel=3)
    return function(*given, **also)


def function(name: str) -> Callable[..., Any]:
    """scipy's function of that name, as ``hand`` calls it."""

    @functools.wraps(getattr(_scipy(), name))
    def handed(*arguments: Any, **named: Any) -> Any:
        return hand(name, "penstock has no such operator", *arguments, **named)

    return handed
