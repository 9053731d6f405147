"""The depth at which tissue begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import penstock.ndimage as nd
from penstock.compat.linumpy._device import array_module

__all__ = ["find_tissue_interface"]

_SLAB_BYTES = 128 << 20
"""Of a volume at a time; what is computed of it takes a few times that."""


def find_tissue_interface(
    vol: Any,
    s_xy: float = 15,
    s_z: float = 2,
    use_log: bool = True,
    order: int = 1,
    mask: npt.NDArray[np.bool_] | None = None,
    detect_cutting_errors: bool = False,
    use_gpu: bool = False,
) -> npt.NDArray[np.int64]:
    """Where each column rises most steeply with depth.

    vol: (X, Y, Z), depth last; an array that is stored or mapped is taken slab by slab.
    s_xy: width of the box that columns are averaged over, in elements, cut off to a whole number.
    s_z: of the Gaussian along depth, in elements.  use_log: of the logarithm of what is above 0.
    order: of the Gaussian's derivative.
    mask: (X, Y, Z): only these samples of a column are filtered, side by side; the others count as 0.
    detect_cutting_errors: where the smoothed column is largest above the interface, that depth is taken.
    use_gpu: filters run on a GPU; needs CuPy, without which the CPU does it, with a warning.
    returns: (X, Y), elements, in host memory: the first steepest plus half of s_z, rounded up.  As in the reference it may
        be Z, behind the last element.
    errors: ValueError (no three dimensions, a mask of another shape, s_z not above 0).
    Computed in float32: whole numbers are not cut off, and every processor gives the same.
    memory: some 128 MiB at a time, six times.
    """
    if len(np.shape(vol)) != 3 or 0 in np.shape(vol):
        raise ValueError(f"vol must have three dimensions with elements, not shape {np.shape(vol)}")
    if not s_z > 0:
        raise ValueError(f"s_z must be above 0, not {s_z}")
    if mask is not None and np.shape(mask) != np.shape(vol):
        raise ValueError(f"mask has shape {np.shape(mask)}, vol {np.shape(vol)}")
    xp = array_module(use_gpu, vol)
    rows, cols, depth = (int(n) for n in vol.shape)
    width = int(s_xy)
    halo = width // 2 if width > 1 else 0
    fit = max(1, _SLAB_BYTES // (4 * cols * depth) - 2 * halo)
    found = np.empty((rows, cols), np.int64)
    for first in range(0, rows, fit):
        last = min(first + fit, rows)
        low, high = max(0, first - halo), min(rows, last + halo)
        inside = slice(first - low, last - low)
        slab = xp.asarray(vol[low:high], dtype=np.float32)
        if use_log:
            slab = xp.where(slab > 0, xp.log(xp.where(slab > 0, slab, np.float32(1))), slab)
        if width > 1:
            slab = nd.uniform_filter(slab, width, axes=(0, 1))
        slab = xp.ascontiguousarray(slab[inside])
        if mask is None:
            rise = _rise(slab, s_z, order)
        else:
            rise = _masked_rise(xp, slab, xp.asarray(mask[first:last], dtype=bool), s_z, order)
        steepest = np.ceil(_first_largest(xp, rise) + 0.5 * s_z).astype(np.int64)
        if detect_cutting_errors:
            largest = _first_largest(xp, xp.abs(nd.gaussian_filter1d(slab, s_z, axis=-1)))
            steepest = np.minimum(steepest, largest)
        found[first:last] = steepest
    return found


def _rise(columns: Any, s_z: float, order: int) -> Any:
    """The derivative along depth.

    Columns begin at 0, which no derivative sees: where nothing changes it is 0 then, and not what rounding leaves of sums
    of weights, which differs from processor to processor and has a largest element somewhere.
    """
    if order > 0:
        columns = columns - columns[..., :1]
    return nd.gaussian_filter1d(columns, s_z, axis=-1, order=order)


def _first_largest(xp: Any, values: Any) -> npt.NDArray[np.int64]:
    """Along depth, in host memory; what is no number is never the largest."""
    at = xp.argmax(xp.where(xp.isfinite(values), values, -np.inf), axis=-1)
    return np.asarray(at if xp is np else at.get(), dtype=np.int64)


def _masked_rise(xp: Any, slab: Any, mask: Any, s_z: float, order: int) -> Any:
    """The derivative along what the mask leaves of each column; all columns of as many samples at once."""
    depth = slab.shape[-1]
    columns, kept = slab.reshape(-1, depth), mask.reshape(-1, depth)
    counts = kept.sum(axis=-1)
    rise = xp.zeros_like(columns)
    for count in range(1, depth + 1):
        mine = xp.flatnonzero(counts == count)
        if mine.size == 0:
            continue
        samples = columns[mine][kept[mine]].reshape(-1, count)
        part = xp.zeros((mine.size, depth), np.float32)
        part[kept[mine]] = _rise(samples, s_z, order).ravel()
        rise[mine] = part
    return rise.reshape(slab.shape)
