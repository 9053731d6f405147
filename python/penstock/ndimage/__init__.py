"""Image operators with scipy.ndimage's names, on the CPU and on CUDA, for arrays in memory and in stores.

>>> import penstock as ps, penstock.ndimage as nd
>>> y = nd.gaussian_filter(x, 2)           # NumPy, DeviceArray, CuPy, PyTorch in: the same out
>>> a = ps.open("big.zarr")                # a stored array: nothing is read
>>> b = nd.resize(nd.gaussian_filter(a, 2), scale=0.5)
>>> b.write("small.zarr", budget="2GiB")   # tile by tile; b[0:64] makes a part
"""

import sys
from typing import Any

from . import _handed
from ._elements import cast, clip, exp, log, scale, sqrt
from ._filters import (
    convolve1d,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    maximum_filter1d,
    minimum_filter1d,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from ._footprint import maximum_filter, median_filter, minimum_filter, percentile_filter, rank_filter
from ._fourier import dct, phase_correlation
from ._interpolation import (
    affine_transform,
    apply_displacement_field,
    map_coordinates,
    shift,
    spline_filter,
    spline_filter1d,
    zoom,
)
from ._lazy import LazyArray
from ._reductions import maximum, mean, minimum, standard_deviation, sum, sum_labels, variance
from ._resize import downsample, resize
from ._statistics import histogram, percentile, statistics, threshold_otsu

__all__ = [
    "LazyArray",
    "affine_transform",
    "apply_displacement_field",
    "cast",
    "clip",
    "convolve1d",
    "correlate1d",
    "dct",
    "downsample",
    "exp",
    "gaussian_filter",
    "gaussian_filter1d",
    "histogram",
    "log",
    "map_coordinates",
    "maximum",
    "maximum_filter",
    "maximum_filter1d",
    "mean",
    "median_filter",
    "minimum",
    "minimum_filter",
    "minimum_filter1d",
    "percentile",
    "percentile_filter",
    "phase_correlation",
    "prewitt",
    "rank_filter",
    "resize",
    "scale",
    "shift",
    "sobel",
    "spline_filter",
    "spline_filter1d",
    "sqrt",
    "standard_deviation",
    "statistics",
    "sum",
    "sum_labels",
    "threshold_otsu",
    "uniform_filter",
    "uniform_filter1d",
    "variance",
    "zoom",
]


def __getattr__(name: str) -> Any:
    """Other names of scipy.ndimage: its own functions, for arrays in host memory, with one warning."""
    if name in _handed.names():
        return _handed.function(name)
    missing = "" if _handed.names() else ", and scipy, whose names are handed to it, is not installed"
    # Name and module let Python say which name is near.
    raise AttributeError(f"penstock.ndimage has no {name!r}{missing}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*__all__, *_handed.names()})
