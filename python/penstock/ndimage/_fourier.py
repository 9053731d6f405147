"""What is found, or made, among frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from .._options import Bytes
from . import _held, _run
from ._filters import Axes, Precision, _one
from ._run import Machine


def phase_correlation(
    reference: Any,
    moving: Any,
    *,
    upsample_factor: int = 1,
    normalization: Literal["phase"] | None = "phase",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.float64], float, float]:
    """By how much ``moving`` must be shifted to lie on ``reference``.

    reference, moving: shape (n0, ...) both, in memory, on one device; types as in ``correlate1d``.  float32 and narrower
        are computed in float32, else in double.  Lengths with large prime factors are slow.
    upsample_factor: the shift is found to its reciprocal, in elements.  normalization: None keeps the amplitudes.
    returns: shift (elements, shape (ndim,)), error (root of 1 - the square of the normalised correlation), phase (radians).
    errors: ValueError (shapes, devices), TypeError (a stored array), UnsupportedError, BudgetError.
    memory: nine times the elements as they are computed, within ``budget``.
    source: skimage.registration.phase_cross_correlation.
    """
    if normalization not in ("phase", None):
        raise ValueError(f"normalization is 'phase' or None, not {normalization!r}")
    if _run.is_stored(reference) or _run.is_stored(moving):
        raise TypeError("every frequency is made of all elements: read the stored array, or a region of it, first")
    a = _held.take(_held.array_of(reference))
    b = _held.take(_held.array_of(moving), a.stream)
    made = _core.phase_correlation(
        a.core,
        b.core,
        upsample_factor,
        normalization == "phase",
        Machine(budget, threads).options(a.nbytes, on_host=a.stream is None),
    )
    return np.array(made[0]), made[1], made[2]


def dct(
    input: Any,
    type: Literal[2, 3] = 2,
    axes: Axes = None,
    norm: Literal["backward", "ortho"] = "backward",
    output: Any = None,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The cosine transform along axes; type 3 is the inverse of type 2 (up to a factor, which norm="ortho" makes 1).

    input: as in ``correlate1d``; of a stored array lazy, where whole lines are read.
    axes: default the last two: the transforms of many images side by side.
    returns: float32 for what it holds, else float64.  Otherwise as ``correlate1d``.  source: scipy.fft.dctn.
    """
    if isinstance(axes, Sequence) and len(axes) == 0:
        raise ValueError("axes: there are none")
    return _one("dct", input, output, budget, threads, type=type, axes=axes, norm=norm, precision=precision)
