"""What all elements of an array say together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .. import _core
from .._array import Array
from .._options import Bytes
from . import _handed, _held
from ._lazy import LazyArray
from ._run import Machine

_AT_ONCE = 31
"""Percentiles that the library looks for in one go."""


def statistics(
    input: Any,
    *,
    percentiles: Sequence[float] = (),
    bins: int = 0,
    range: tuple[float, float] | None = None,
    otsu: bool = False,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> _core.Statistics:
    """Least, largest, mean and deviation, with percentiles, a histogram and Otsu's threshold where they are asked for.

    input: elements in memory, as in ``correlate1d``; or a penstock.Array, which is read tile by tile: once for elements
        of up to 16 bits, twice for 32, four times for 64.
    percentiles: from 0 to 100, exact, as NumPy's "linear".
    bins, range: of the histogram; default from the least to the largest.
    device: where tiles of a stored array are counted.
    NaNs are counted and left out; they make the percentiles NaN.
    errors: ValueError (no elements, values), UnsupportedError (type).  memory: at most ``budget``.
    """
    return _found(input, (list(percentiles), bins, range, otsu, True), device, budget, threads)


def _found(
    input: Any,
    asked: tuple[list[float], int, tuple[float, float] | None, bool, bool],
    device: str,
    budget: Bytes | None,
    threads: int | None,
) -> _core.Statistics:
    """``asked``: percentiles, bins, range, otsu, and whether least, largest, mean and deviation are wanted."""
    machine = Machine(budget, threads)
    if isinstance(input, LazyArray):
        input = input.read(device=device, budget=budget, threads=threads)
    if isinstance(input, Array):
        is_cuda, index = _core.parse_device(device)
        return _core.statistics_of_array(input._core, *asked, is_cuda, index, machine.options(input.nbytes))
    held = _held.take(_held.array_of(input))
    return _core.statistics_of_tensor(held.core, *asked, machine.options(held.nbytes, on_host=held.stream is None))


def percentile(
    input: Any,
    q: npt.ArrayLike,
    *,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """Percentiles of all elements, exact and without a sort.

    input, device, errors, memory: as ``statistics``.  q: 0 to 100, any shape.
    returns: float64 of the shape of ``q``.  source: numpy.percentile, method "linear".
    """
    wanted = np.asarray(q, dtype=np.float64)
    flat = wanted.ravel()
    found: list[float] = []
    for at in range(0, len(flat), _AT_ONCE):
        part = [float(value) for value in flat[at : at + _AT_ONCE]]
        found += _found(input, (part, 0, None, False, False), device, budget, threads).percentiles
    made = np.array(found, dtype=np.float64).reshape(wanted.shape)
    return made[()]


def histogram(
    input: Any,
    min: float | None = None,
    max: float | None = None,
    bins: int = 256,
    labels: Any = None,
    index: Any = None,
    *,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.int64]:
    """How many elements lie in each of ``bins`` equal bins from ``min`` to ``max``, the last with its upper edge.

    input, device, errors, memory: as ``statistics``.  min, max: both or neither; default least and largest.
    labels, index: handed to scipy, for arrays in host memory.
    returns: int64, shape (bins,).  source: scipy.ndimage.histogram, numpy.histogram.
    """
    if labels is not None:
        return cast(
            "npt.NDArray[np.int64]",
            _handed.hand("histogram", "penstock does not count by label", input, min, max, bins, labels, index),
        )
    if (min is None) != (max is None):
        raise ValueError("histogram: give both min and max, or neither")
    limits = None if min is None or max is None else (float(min), float(max))
    made = _found(input, ([], bins, limits, False, False), device, budget, threads)
    return np.array(made.histogram, dtype=np.int64)


def threshold_otsu(
    input: Any,
    *,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> float:
    """Otsu's threshold: elements above it are the bright class.

    input, device, errors, memory: as ``statistics``.  Of whole numbers of 1 or 2 bytes each value is a bin, of others 256
    between least and largest.  source: skimage.filters.threshold_otsu.
    """
    made = _found(input, ([], 0, None, True, False), device, budget, threads).otsu
    assert made is not None
    return made
