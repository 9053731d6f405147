"""What arguments must be for the array at hand: said with scipy's kinds of errors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

_EACH = ("sigma", "order", "radius", "size", "origin", "mode", "shift", "zoom")
"""Arguments that are one value, or one for each axis."""
_MANY_AXES = (
    "gaussian_filter", "uniform_filter", "minimum_filter", "maximum_filter", "median_filter", "percentile_filter",
    "prewitt", "rank_filter", "shift", "sobel", "zoom",
)  # fmt: skip


def axes_of(axes: Any, ndim: int) -> list[int]:
    """Which axes are meant, from 0 on.  Errors: TypeError (no whole number), ValueError (outside, twice)."""
    if axes is None:
        return list(range(ndim))
    given = [operator.index(axis) for axis in (axes if isinstance(axes, Sequence | np.ndarray) else [axes])]
    for axis in given:
        if not -ndim <= axis < ndim:
            raise ValueError(f"axes: axis {axis} is out of range for an array of {ndim} dimensions")
    made = [axis % ndim for axis in given]
    if len(set(made)) != len(made):
        raise ValueError(f"axes must be unique: {given}")
    return made


def check(name: str, ndim: int, arguments: dict[str, Any]) -> None:
    """Errors: RuntimeError (more or fewer values than axes), those of ``axes_of``."""
    if name not in _MANY_AXES:
        return
    axes = axes_of(arguments.get("axes"), ndim)
    if arguments.get("axes") is not None:
        arguments["axes"] = axes
    for key in _EACH:
        value = arguments.get(key)
        if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or np.ndim(value) == 0:
            continue
        if len(value) != len(axes):
            raise RuntimeError(
                f"sequence argument must have length equal to input rank: {key} has {len(value)} values for "
                f"{len(axes)} axes"
            )


def in_order(mask: Any, axes: Any, ndim: int) -> Any:
    """A footprint, whose dimensions are those axes from the first to the last, in the order in which they are given.

    Errors: RuntimeError (another number of dimensions).
    """
    given = axes_of(axes, ndim)
    if mask.ndim != len(given):
        if mask.all():
            raise RuntimeError(
                f"sequence argument must have length equal to input rank: footprint.ndim ({mask.ndim}) must match "
                f"len(axes) ({len(given)})"
            )
        raise RuntimeError(f"footprint.ndim ({mask.ndim}) must match len(axes) ({len(given)})")
    return mask.transpose([sorted(given).index(axis) for axis in given])
