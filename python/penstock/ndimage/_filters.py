"""Filters along axes, with scipy.ndimage's names, arguments and defaults."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .._options import Bytes
from . import _checked, _complex, _held, _run
from ._run import Machine, call

Mode: TypeAlias = str | Sequence[str]
"""How an axis goes on beyond its ends: "reflect", "mirror", "nearest", "constant", "wrap", and the grid- names."""
Precision: TypeAlias = Literal["float32", "float64"]
Axes: TypeAlias = int | Sequence[int] | None


def _one(
    name: str,
    x: Any,
    output: Any,
    budget: Bytes | None,
    threads: int | None,
    **arguments: Any,
) -> Any:
    """One operator on one input."""
    x = x if hasattr(x, "dtype") else _held.array_of(x)
    _checked.check(name, len(x.shape), arguments)
    if _complex.is_complex(name, x, output, arguments):
        return _complex.by_parts(functools.partial(_real, name, budget, threads), x, output, arguments)
    made = call(name, output=_run.output_name(output), **arguments)
    return _run.apply([made], x, output, Machine(budget, threads))


def _real(name: str, budget: Bytes | None, threads: int | None, x: Any, **arguments: Any) -> Any:
    return _one(name, x, None, budget, threads, **arguments)


def correlate1d(
    input: Any,
    weights: npt.ArrayLike,
    axis: int = -1,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """Sum with weights along one axis.

    input: shape (n0, ...), bool, whole numbers, float32 or float64, of NumPy, penstock, CuPy or PyTorch; or a
        penstock.Array, which is read when the result is asked for.
    weights: shape (k,).  output: None, a data type, or memory for the result.
    precision: float32 (and narrower) elements are computed in float32; "float64" in double, as scipy does.
    returns: shape and kind of ``input``; a LazyArray for a stored array.
    errors: ValueError, TypeError, UnsupportedError.  memory: the result and at most ``budget``.
    source: scipy.ndimage.correlate1d.
    """
    _check_cval(input, cval)
    return _one(
        "correlate1d", input, output, budget, threads,
        weights=_weights(weights), axis=axis, mode=mode, cval=cval, origin=origin, precision=precision,
    )  # fmt: skip


def convolve1d(
    input: Any,
    weights: npt.ArrayLike,
    axis: int = -1,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """As ``correlate1d``, with the weights turned around.  source: scipy.ndimage.convolve1d."""
    _check_cval(input, cval)
    turned = [w.conjugate() for w in _weights(weights)[::-1]]  # correlate1d conjugates
    origin = -origin - (1 if len(turned) % 2 == 0 else 0)
    return correlate1d(
        input, turned, axis, output, mode, cval, origin, precision=precision, budget=budget, threads=threads
    )


def gaussian_filter(
    input: Any,
    sigma: float | Sequence[float],
    order: int | Sequence[int] = 0,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: Axes = None,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """A Gaussian along each axis.

    sigma: standard deviation in elements, one or one for each axis; 0 leaves an axis alone.
    order: 0, or the order of its derivative, for each axis.  truncate: radius in standard deviations.
    radius: of the weights, in elements, instead.  axes: which axes; all of them.
    Otherwise as ``correlate1d``.  source: scipy.ndimage.gaussian_filter.
    """
    return _one(
        "gaussian_filter", input, output, budget, threads,
        sigma=sigma, order=order, mode=mode, cval=cval, truncate=truncate, radius=radius, axes=axes, precision=precision,
    )  # fmt: skip


def gaussian_filter1d(
    input: Any,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """As ``gaussian_filter``, along one axis.  source: scipy.ndimage.gaussian_filter1d."""
    return _one(
        "gaussian_filter1d", input, output, budget, threads,
        sigma=sigma, axis=axis, order=order, mode=mode, cval=cval, truncate=truncate, radius=radius, precision=precision,
    )  # fmt: skip


def prewitt(
    input: Any,
    axis: int = -1,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """As ``sobel``, with neighbours along the other axes that count alike.  source: scipy.ndimage.prewitt."""
    return _one(
        "prewitt", input, output, budget, threads, axis=axis, mode=mode, cval=cval, precision=precision
    )  # fmt: skip


def sobel(
    input: Any,
    axis: int = -1,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The difference of neighbours along one axis, of elements that count 1, 2, 1 along each other axis.

    Otherwise as ``correlate1d``.  source: scipy.ndimage.sobel.
    """
    return _one("sobel", input, output, budget, threads, axis=axis, mode=mode, cval=cval, precision=precision)


def uniform_filter(
    input: Any,
    size: int | Sequence[int] = 3,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The mean of a box of ``size`` elements.  Otherwise as ``correlate1d``.  source: scipy.ndimage.uniform_filter."""
    return _one(
        "uniform_filter", input, output, budget, threads,
        size=_sizes(size), mode=mode, cval=cval, origin=origin, axes=axes, precision=precision,
    )  # fmt: skip


def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The mean along one axis.  Otherwise as ``correlate1d``.  source: scipy.ndimage.uniform_filter1d."""
    return _one(
        "uniform_filter1d", input, output, budget, threads,
        size=size, axis=axis, mode=mode, cval=cval, origin=origin, precision=precision,
    )  # fmt: skip


def minimum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The least of ``size`` elements along one axis.  source: scipy.ndimage.minimum_filter1d."""
    return _one(
        "minimum_filter1d", input, output, budget, threads, size=size, axis=axis, mode=mode, cval=cval, origin=origin
    )


def maximum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Mode = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    *,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The largest of ``size`` elements along one axis.  source: scipy.ndimage.maximum_filter1d."""
    return _one(
        "maximum_filter1d", input, output, budget, threads, size=size, axis=axis, mode=mode, cval=cval, origin=origin
    )


def _sizes(size: Any) -> Any:
    """Of a box, one or one for each axis; 0 leaves an axis alone, as 1 does."""
    return [k or 1 for k in size] if isinstance(size, Sequence | np.ndarray) and np.ndim(size) else size or 1


def _check_cval(x: Any, cval: Any) -> None:
    if isinstance(cval, complex) and not _complex.is_complex("correlate1d", x, None, {}):
        raise ValueError("cval is complex, the input is not")


def _weights(weights: npt.ArrayLike) -> list[Any]:
    array = np.asarray(weights)
    array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if array.ndim != 1 or array.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    return [w.item() for w in array]
