"""What penstock leaves to others under zarr-python: announced once for each reason, counted, and forbidden by ``strict``."""

from __future__ import annotations

import collections
import threading
import warnings

from zarr.core.config import config

from ._errors import UnsupportedError


class FallbackWarning(UserWarning):
    """Work went another way than the one that was asked for; the result is the same."""


class Counter:
    """How often what happened, in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: collections.Counter[str] = collections.Counter()

    def add(self, what: str, count: int = 1) -> bool:
        """Returns whether this is the first time."""
        with self._lock:
            first = what not in self._counts
            self._counts[what] += count
            return first

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)


_announced = Counter()


def fallbacks() -> dict[str, int]:
    """Reason -> how often, in this process."""
    return _announced.counts()


def announce(instead: str, reason: str) -> None:
    """Warns the first time that `reason` makes `instead` happen, and counts.

    Errors: UnsupportedError when ``codec_pipeline.strict`` is set.
    """
    if config.get("codec_pipeline.strict", False):
        raise UnsupportedError(reason)
    if _announced.add(reason):
        warnings.warn(f"{instead}: {reason}", FallbackWarning, stacklevel=3)
