"""Filters under a footprint, with scipy.ndimage's names, arguments and defaults."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._options import Bytes
from . import _checked
from ._filters import Axes, Mode, _one, _sizes

Size = int | Sequence[int] | None


def _footprint(x: Any, size: Size, footprint: npt.ArrayLike | None, axes: Axes) -> dict[str, Any]:
    """`size`, and `footprint` flat where it is no box.  Errors: RuntimeError (neither, dimensions), ValueError (empty)."""
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        return {"size": size}
    if size is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=3)
    mask = np.asarray(footprint, dtype=bool)
    if not mask.any():
        raise ValueError("All-zero footprint is not supported.")
    mask = _checked.in_order(mask, axes, len(x.shape) if hasattr(x, "shape") else np.ndim(x))
    if mask.all():
        return {"size": list(mask.shape)}
    return {"size": list(mask.shape), "footprint": [int(v) for v in mask.ravel()]}


def _box(given: dict[str, Any]) -> dict[str, Any]:
    return given if "footprint" in given else {"size": _sizes(given["size"])}


def median_filter(
    input: Any,
    size: Size = None,
    footprint: npt.ArrayLike | None = None,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The middle one of the elements under a footprint.

    size: of a box, one number or one for each axis; or footprint: shape (k0, ...), elements that are not 0 count.
    origin: moves the footprint.  NaNs are larger than all numbers.  Otherwise as ``correlate1d``.
    source: scipy.ndimage.median_filter.
    """
    return _one(
        "median_filter", input, output, budget, threads,
        **_footprint(input, size, footprint, axes), mode=mode, cval=cval, origin=origin, axes=axes,
    )  # fmt: skip


def percentile_filter(
    input: Any,
    percentile: float,
    size: Size = None,
    footprint: npt.ArrayLike | None = None,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """A percentile of the elements under a footprint; negative ones count from 100.  Otherwise as ``median_filter``.

    source: scipy.ndimage.percentile_filter.
    """
    return _one(
        "percentile_filter", input, output, budget, threads,
        percentile=percentile, **_footprint(input, size, footprint, axes), mode=mode, cval=cval, origin=origin, axes=axes,
    )  # fmt: skip


def rank_filter(
    input: Any,
    rank: int,
    size: Size = None,
    footprint: npt.ArrayLike | None = None,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The rank-th smallest of the elements under a footprint; -1 is the largest.  Otherwise as ``median_filter``.

    source: scipy.ndimage.rank_filter.
    """
    return _one(
        "rank_filter", input, output, budget, threads,
        rank=operator.index(rank), **_footprint(input, size, footprint, axes), mode=mode, cval=cval, origin=origin, axes=axes,
    )  # fmt: skip


def minimum_filter(
    input: Any,
    size: Size = None,
    footprint: npt.ArrayLike | None = None,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The least element under a footprint.  Otherwise as ``median_filter``.  source: scipy.ndimage.minimum_filter."""
    return _one(
        "minimum_filter", input, output, budget, threads,
        **_box(_footprint(input, size, footprint, axes)), mode=mode, cval=cval, origin=origin, axes=axes,
    )  # fmt: skip


def maximum_filter(
    input: Any,
    size: Size = None,
    footprint: npt.ArrayLike | None = None,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The largest element under a footprint.  Otherwise as ``median_filter``.  source: scipy.ndimage.maximum_filter."""
    return _one(
        "maximum_filter", input, output, budget, threads,
        **_box(_footprint(input, size, footprint, axes)), mode=mode, cval=cval, origin=origin, axes=axes,
    )  # fmt: skip
