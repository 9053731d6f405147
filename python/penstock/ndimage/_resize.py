"""Arrays of another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from .._options import Bytes
from ._filters import Precision, _one


def resize(
    input: Any,
    output_shape: int | Sequence[int] | None = None,
    *,
    scale: float | Sequence[float] | None = None,
    order: int = 1,
    align: Literal["half_pixel", "corners"] = "half_pixel",
    anti_aliasing: bool | None = None,
    mode: str | None = None,
    cval: float = 0.0,
    output: Any = None,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The same image with another number of elements.

    input: as in ``correlate1d``.  output_shape, or scale: one number, or one for each axis; the shape is rounded.
    order: 1 linear, 0 nearest (labels).
    align: "half_pixel": the edges of the image stay, sample k lies at (k + 1/2) in / out - 1/2; "corners": the centres
        of its first and last elements do, sample k lies at k (in - 1) / (out - 1).
    anti_aliasing: axes that get shorter are smoothed first, with sigma (in / out - 1) / 2; default for order 1.
    mode: beyond the ends; default "mirror", for corners "reflect".
    Whole numbers are computed with fractions and rounded once, at the end.
    returns, errors, memory: as ``correlate1d``.
    source: skimage.transform.resize (half_pixel); scipy.ndimage.zoom without its last plane of zeros (corners).
    """
    if output_shape is None and scale is None:
        raise ValueError("resize: give either output_shape or scale")
    return _one(
        "resize", input, output, budget, threads,
        output_shape=output_shape, scale=scale, order=order, align=align, anti_aliasing=anti_aliasing, mode=mode,
        cval=cval, precision=precision,
    )  # fmt: skip


def downsample(
    input: Any,
    factor: int | Sequence[int] = 2,
    *,
    method: Literal["mean", "gaussian", "mode", "nearest"] = "mean",
    axes: int | Sequence[int] | None = None,
    output: Any = None,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """Blocks of elements become one, as from level to level of a pyramid (``penstock.write_pyramid`` makes those).

    input: as in ``correlate1d``.  factor: elements of a block along each axis, or one number for all; what is left over at
        an end is a smaller block, so that axes become ceil(n / factor) long.
    method: "mean" averages a block (whole numbers are rounded, halves away from zero); "mode" takes the element that is
        there most often, of equals the first (labels); "nearest" the first; "gaussian" weights it and as many around with
        a Gaussian of a third of the factor, mirrored at the ends.
    returns, errors, memory: as ``correlate1d``; "mean" and "gaussian" of whole numbers of 8 bytes and bool: UnsupportedError.
    source: skimage.measure.block_reduce; tensorstore's downsample driver.
    """
    return _one("downsample", input, output, budget, threads, factor=factor, method=method, axes=axes)
