"""Sums, means and extremes with scipy.ndimage's names, of all elements or along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core, _tensor
from .._array import Array
from .._options import Bytes
from . import _handed, _run
from ._filters import Axes
from ._run import Machine, call


def _reduce(
    name: str,
    x: Any,
    labels: Any,
    index: Any,
    axes: Axes,
    device: str,
    budget: Bytes | None,
    threads: int | None,
) -> Any:
    if labels is not None:
        if axes is not None:
            raise ValueError("labels and axes do not go together")
        return _handed.hand(name, "penstock does not reduce by label", x, labels, index)
    machine = Machine(budget, threads)
    if isinstance(x, Array) and axes is None:
        is_cuda, number = _core.parse_device(device)
        made = _core.reduce_array(x._core, name, [], is_cuda, number, machine.options(x.nbytes))
        return _tensor.Tensor(made).numpy()[()]
    made = _run.apply([call(name, axes=axes)], x, None, machine)
    return made[()] if isinstance(made, np.ndarray) and made.ndim == 0 else made


def sum(
    input: Any,
    labels: Any = None,
    index: Any = None,
    *,
    axes: Axes = None,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The sum of the elements.

    input: as in ``correlate1d``.  labels, index: handed to scipy, for arrays in host memory.
    axes: those that go away; None: all, for a single number.
    device: where the tiles of a stored array are summed up.
    returns: 64 bits for whole numbers (they wrap), float32 for float32, else float64; a LazyArray for a stored array and
        axes.  errors: ValueError, TypeError, UnsupportedError.  memory: at most ``budget``.
    source: scipy.ndimage.sum, numpy.sum.
    """
    return _reduce("sum", input, labels, index, axes, device, budget, threads)


def sum_labels(input: Any, labels: Any = None, index: Any = None, **how: Any) -> Any:
    """``sum``.  source: scipy.ndimage.sum_labels."""
    return sum(input, labels, index, **how)


def mean(
    input: Any,
    labels: Any = None,
    index: Any = None,
    *,
    axes: Axes = None,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The mean of the elements: float32 for float32, else float64.  Otherwise as ``sum``.  source: scipy.ndimage.mean."""
    return _reduce("mean", input, labels, index, axes, device, budget, threads)


def minimum(
    input: Any,
    labels: Any = None,
    index: Any = None,
    *,
    axes: Axes = None,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The least element; a NaN makes it NaN.  Otherwise as ``sum``.  source: scipy.ndimage.minimum."""
    return _reduce("minimum", input, labels, index, axes, device, budget, threads)


def maximum(
    input: Any,
    labels: Any = None,
    index: Any = None,
    *,
    axes: Axes = None,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The largest element; a NaN makes it NaN.  Otherwise as ``sum``.  source: scipy.ndimage.maximum."""
    return _reduce("maximum", input, labels, index, axes, device, budget, threads)


def variance(
    input: Any,
    labels: Any = None,
    index: Any = None,
    *,
    axes: Axes = None,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The mean square distance from the mean, found in two passes.  Otherwise as ``mean``.  source: scipy.ndimage.variance."""
    return _reduce("variance", input, labels, index, axes, device, budget, threads)


def standard_deviation(
    input: Any,
    labels: Any = None,
    index: Any = None,
    *,
    axes: Axes = None,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The root of the variance.  Otherwise as ``mean``.  source: scipy.ndimage.standard_deviation."""
    return _reduce("standard_deviation", input, labels, index, axes, device, budget, threads)
