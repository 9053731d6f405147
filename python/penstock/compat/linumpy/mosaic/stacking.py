"""How many planes two slices share."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.linumpy._device import array_module

__all__ = ["find_z_overlap"]

_BAND_BYTES = 64 << 20
_TINY = 1e-8  # added to deviations


def find_z_overlap(
    fixed_vol: Any,
    moving_vol: Any,
    slicing_interval_mm: float,
    search_range_mm: float,
    resolution_um: float,
    use_gpu: bool = False,
) -> tuple[int, float]:
    """The number of planes that fit best: the last of ``fixed_vol`` on the first of ``moving_vol``.

    fixed_vol, moving_vol: (Z, Y, X), of the same rows and columns; stored or mapped ones are read once, a band of rows at a time.
    slicing_interval_mm, search_range_mm: overlaps are looked for that far from the one that the interval says; numbers of
        planes are cut off, as the reference does.  resolution_um: of a plane.
    use_gpu: on a GPU; needs CuPy, without which the CPU does it, with a warning.
    returns: (planes, mean product of the normalised intensities in the middle half of the image), the first of equals;
        (expected planes, 0.0) where there is nothing to look for.
    errors: ValueError (shapes, a resolution that is not above 0).
    All overlaps come from one matrix product of planes a band, so every plane is read once.
    """
    _check(fixed_vol, moving_vol, resolution_um)
    depth = min(int(fixed_vol.shape[0]), int(moving_vol.shape[0]))
    expected = depth - int(slicing_interval_mm * 1000 / resolution_um)
    reach = int(search_range_mm * 1000 / resolution_um)
    least, most = max(1, expected - reach), min(depth, expected + reach)
    if least >= most:
        return expected, 0.0
    sums = _Sums(fixed_vol, moving_vol, most, use_gpu)
    best, best_score = least, -np.inf
    for planes in range(least, most + 1):
        score = sums.score(planes)
        if score > best_score:
            best, best_score = planes, score
    return best, float(best_score)


def _check(fixed: Any, moving: Any, resolution_um: float) -> None:
    for name, vol in (("fixed_vol", fixed), ("moving_vol", moving)):
        if len(np.shape(vol)) != 3 or 0 in np.shape(vol):
            raise ValueError(f"{name} must have three dimensions with elements, not shape {np.shape(vol)}")
    if tuple(fixed.shape[1:]) != tuple(moving.shape[1:]):
        raise ValueError(f"fixed_vol has planes of {tuple(fixed.shape[1:])}, moving_vol of {tuple(moving.shape[1:])}")
    if not resolution_um > 0:
        raise ValueError(f"resolution_um must be above 0, not {resolution_um}")


class _Sums:
    """Sums over pixels of the last `planes` planes of one volume, the first of another, and their products."""

    def __init__(self, fixed: Any, moving: Any, planes: int, use_gpu: bool) -> None:
        xp = array_module(use_gpu, fixed, moving)
        height, width = (int(n) for n in fixed.shape[1:])
        margin = min(height, width) // 4
        low, high, cols = margin, height - margin, slice(margin, width - margin)
        band = max(1, _BAND_BYTES // (8 * planes * (width - 2 * margin)))
        self.pixels = (high - low) * (width - 2 * margin)
        self.products = np.zeros((planes, planes))
        self.ones: list[tuple[np.ndarray, np.ndarray]] = [(np.zeros(planes), np.zeros(planes)) for _ in range(2)]
        about: list[Any] = [None, None]
        for row in range(low, high, band):
            rows = slice(row, min(row + band, high))
            pair = []
            for k, (vol, first) in enumerate(((fixed, int(fixed.shape[0]) - planes), (moving, 0))):
                part = xp.asarray(vol[first : first + planes, rows, cols], dtype=np.float32).reshape(planes, -1)
                if about[k] is None:  # a number near the mean: what is subtracted everywhere leaves the score as it is
                    about[k] = part.mean()
                part = part - about[k]
                self.ones[k][0][:] += _host(part.sum(axis=1, dtype=np.float64))
                self.ones[k][1][:] += _host((part * part).sum(axis=1, dtype=np.float64))
                pair.append(part)
            self.products += _host(pair[0] @ pair[1].T).astype(np.float64)

    def score(self, planes: int) -> float:
        count = self.pixels * planes
        (a, aa), (b, bb) = self.ones
        mean_a, mean_b = a[-planes:].sum() / count, b[:planes].sum() / count
        var_a, var_b = aa[-planes:].sum() / count - mean_a**2, bb[:planes].sum() / count - mean_b**2
        product = np.trace(self.products, offset=planes - self.products.shape[0]) / count
        deviations = (np.sqrt(max(var_a, 0)) + _TINY) * (np.sqrt(max(var_b, 0)) + _TINY)
        return float((product - mean_a * mean_b) / deviations)


def _host(x: Any) -> Any:
    return x.get() if hasattr(x, "get") else x
