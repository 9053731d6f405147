"""Interpolation: elements on a device give elements on that device, those of the host give NumPy arrays.

``use_gpu``: elements of the host are computed on a GPU where there is one, else by the CPU, which gives the same.  Results are
float32; only with ``use_gpu=False`` do affine_transform and map_coordinates keep the type of elements of the host.
Beyond the first and last elements everything is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import penstock.ndimage as nd
from penstock.compat.linumpy._device import back, on_device, placed

__all__ = ["affine_transform", "apply_displacement_field", "map_coordinates", "resample_volume", "resize"]


def resize(
    image: Any, output_shape: Sequence[int], order: int = 1, anti_aliasing: bool = True, use_gpu: bool = True
) -> Any:
    """Another number of elements, the first and the last of each axis staying where they are.

    image: 1 to 8 dimensions.  output_shape: of all of them.  order: of the spline, 0 to 5.
    anti_aliasing: axes that get shorter are smoothed first, with sigma (in / out - 1) / 2.
    returns: float32.  The last elements are never the zeros that rounding makes of them in scipy.
    errors: ValueError (a shape of another length or of zeros), RuntimeError (order).
    """
    shape = tuple(int(n) for n in output_shape)
    if len(shape) != np.ndim(image) or min(shape, default=1) < 1:
        raise ValueError(f"output_shape {shape} for an array of {np.ndim(image)} dimensions")
    x, to_host = placed(image, use_gpu)
    x = nd.cast(x, np.float32)
    if anti_aliasing:
        sigmas = [max(0.0, (n / m - 1) / 2) for n, m in zip(x.shape, shape, strict=True)]
        x = nd.gaussian_filter(x, sigmas) if any(sigmas) else x
    if order <= 1:
        made = nd.resize(x, shape, order=order, align="corners", anti_aliasing=False)
    else:
        made = nd.zoom(x, [m / n for n, m in zip(x.shape, shape, strict=True)], order=order)
    return back(made, to_host)


def _typed(x: Any, use_gpu: bool, given: Any) -> Any:
    """float32, or what the elements of the host are, where nobody asked for a GPU."""
    return x if not use_gpu and not on_device(given) else nd.cast(x, np.float32)


def affine_transform(
    image: Any,
    matrix: npt.ArrayLike,
    output_shape: Sequence[int] | None = None,
    order: int = 1,
    use_gpu: bool = True,
) -> Any:
    """Output element o is the image's at ``matrix @ o``.

    matrix: (n, n), in array order.  output_shape: None: that of the image.
    errors: RuntimeError (matrix, order), ValueError.
    """
    x, to_host = placed(image, use_gpu)
    values = np.asarray(matrix.get() if on_device(matrix) and hasattr(matrix, "get") else matrix, dtype=np.float64)
    made = nd.affine_transform(_typed(x, use_gpu, image), values, output_shape=output_shape, order=order)
    return back(made, to_host)


def map_coordinates(image: Any, coords: Any, order: int = 1, use_gpu: bool = True) -> Any:
    """The image's values at coordinates.

    coords: (n, ...), in elements.  returns: shape ``coords.shape[1:]``, where ``image`` is.
    errors: ValueError, RuntimeError (order).
    """
    x, to_host = placed(image, use_gpu)
    points = coords if on_device(x) == on_device(coords) else _beside(coords, x)
    return back(nd.map_coordinates(_typed(x, use_gpu, image), points, order=order), to_host)


def apply_displacement_field(image: Any, displacement: Any, order: int = 1, use_gpu: bool = True) -> Any:
    """Output element o is the image's at ``o + displacement[:, o]``.

    displacement: (n, ...), in elements; else as ``map_coordinates``.
    """
    x, to_host = placed(image, use_gpu)
    points = displacement if on_device(x) == on_device(displacement) else _beside(displacement, x)
    return back(nd.apply_displacement_field(_typed(x, use_gpu, image), points, order=order), to_host)


def _beside(coords: Any, x: Any) -> Any:
    """Coordinates in the memory that holds the image."""
    if not on_device(x):
        raise ValueError("coordinates on a device for an image in host memory")
    from penstock import _tensor

    host = _tensor.asarray(np.ascontiguousarray(coords, dtype=np.float64))
    return host.to(_tensor.asarray(x).device)


def resample_volume(
    volume: Any,
    current_resolution: float | Sequence[float],
    target_resolution: float | Sequence[float],
    order: int = 1,
    anti_aliasing: bool = True,
    use_gpu: bool = True,
) -> Any:
    """``resize`` to another distance of elements; shapes are cut off, not rounded.

    current_resolution, target_resolution: in one unit, one number or one for each axis.
    """
    now = np.broadcast_to(np.asarray(current_resolution, float), (np.ndim(volume),))
    then = np.broadcast_to(np.asarray(target_resolution, float), (np.ndim(volume),))
    shape = [max(1, int(n * a / b)) for n, a, b in zip(np.shape(volume), now, then, strict=True)]
    return resize(volume, shape, order=order, anti_aliasing=anti_aliasing, use_gpu=use_gpu)
