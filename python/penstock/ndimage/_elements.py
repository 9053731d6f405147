"""Arithmetic on each element by itself; in a chain on a stored array all of it is one pass."""

from __future__ import annotations

from typing import Any

from .._options import Bytes
from ._filters import _one


def cast(input: Any, dtype: Any, *, budget: Bytes | None = None, threads: int | None = None) -> Any:
    """Elements of another type: fractions are rounded to the nearest, what does not fit becomes the nearest that does.

    input: as in ``correlate1d``.  returns: shape and kind of ``input``; a LazyArray for a stored array.
    errors: UnsupportedError (type).  memory: the result and at most ``budget``.
    """
    return _one("cast", input, dtype, budget, threads)


def clip(
    input: Any,
    min: float | None = None,
    max: float | None = None,
    output: Any = None,
    *,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """At least ``min``, at most ``max``.  Otherwise as ``cast``.  source: numpy.clip."""
    return _one("clip", input, output, budget, threads, min=min, max=max)


def scale(
    input: Any,
    low: float,
    high: float,
    to_low: float = 0.0,
    to_high: float = 1.0,
    output: Any = None,
    *,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """``low`` becomes ``to_low``, ``high`` ``to_high``, what lies between in proportion; nothing is cut off.

    returns: ``output``, else the input's type, or the one with fractions that holds it.  Otherwise as ``cast``.
    """
    return _one("scale", input, output, budget, threads, low=low, high=high, to_low=to_low, to_high=to_high)


def log(input: Any, output: Any = None, *, budget: Bytes | None = None, threads: int | None = None) -> Any:
    """The natural logarithm.  returns: as ``scale``.  source: numpy.log."""
    return _one("log", input, output, budget, threads)


def exp(input: Any, output: Any = None, *, budget: Bytes | None = None, threads: int | None = None) -> Any:
    """The exponential.  returns: as ``scale``.  source: numpy.exp."""
    return _one("exp", input, output, budget, threads)


def sqrt(input: Any, output: Any = None, *, budget: Bytes | None = None, threads: int | None = None) -> Any:
    """The square root.  returns: as ``scale``.  source: numpy.sqrt."""
    return _one("sqrt", input, output, budget, threads)
