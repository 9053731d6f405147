"""Complex elements in memory: what is linear is done to the real and the imaginary parts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _held

LINEAR = (
    "affine_transform", "correlate1d", "gaussian_filter", "gaussian_filter1d", "map_coordinates", "prewitt", "resize", "shift",
    "sobel", "spline_filter", "spline_filter1d", "uniform_filter", "uniform_filter1d", "zoom",
)  # fmt: skip


def _kind(value: Any) -> str:
    """Kind of its data type; of numbers and lists that of NumPy's."""
    if type(value) in (int, float):
        return "f"
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return np.asarray(value).dtype.kind
    return str(getattr(dtype, "kind", ""))


def is_complex(name: str, x: Any, output: Any, arguments: dict[str, Any]) -> bool:
    if name not in LINEAR or not hasattr(type(x), "real"):  # asked of an array it would make one
        return False
    if output is not None and not _held.is_memory(output) and np.dtype(_held.numpy_dtype(output)).kind == "c":
        return True
    return "c" in (_kind(x), _kind(arguments.get("weights", 0)), _kind(arguments.get("cval", 0)))


def _parts_of(x: Any, output: Any) -> np.dtype[Any]:
    """What the parts of the result are, of elements without fractions: float32 where that holds them."""
    made = np.promote_types(np.dtype(_held.numpy_dtype(x.dtype)), np.complex64)
    if output is not None:
        given = output.dtype if _held.is_memory(output) else output
        made = np.promote_types(made, np.dtype(_held.numpy_dtype(given)))
    return np.empty(0, made).real.dtype


def by_parts(real_call: Callable[..., Any], x: Any, output: Any, arguments: dict[str, Any]) -> Any:
    """`real_call(x, **arguments)` for real elements, with the complex ones put together of its results."""
    if _kind(arguments.get("cval", 0)) == "c" and _kind(x) != "c":
        raise ValueError("cval is complex, the input is not")
    weights = np.asarray(arguments.pop("weights", 1.0))
    has_cval = "cval" in arguments  # splines have none
    cval = complex(arguments.pop("cval", 0.0))

    def part(values: Any, w: Any, constant: float) -> Any:
        given = dict(arguments)
        if weights.ndim:
            given["weights"] = [float(v) for v in w]
        if has_cval:
            given["cval"] = constant
        return real_call(values, **given)

    if _kind(x) not in "cf":
        x = x.astype(_parts_of(x, output))
    re, im = x.real, x.imag if _kind(x) == "c" else None
    made_re = part(re, weights.real, cval.real)
    has_im = im is not None or cval.imag != 0
    im = re * 0 if im is None else im
    made_im = part(im, weights.real, cval.imag) if has_im else made_re * 0
    if weights.dtype.kind == "c":  # conjugate, as NumPy's correlate
        made_re = made_re + (part(im, weights.imag, cval.imag) if has_im else 0)
        made_im = made_im - part(re, weights.imag, cval.real)
    made = made_re + 1j * made_im
    return _into(made, output)


def _into(made: Any, output: Any) -> Any:
    if output is None:
        return made
    if _held.is_memory(output):
        if _kind(output) != "c":
            raise RuntimeError("output must have complex dtype")
        if tuple(output.shape) != tuple(made.shape):
            raise RuntimeError(f"output shape not correct: {tuple(output.shape)}, the result has {tuple(made.shape)}")
        output[...] = made
        return output
    wanted = np.dtype(_held.numpy_dtype(output))
    if wanted.kind != "c":
        warnings.warn("promoting specified output dtype to complex", stacklevel=4)
        wanted = np.promote_types(wanted, np.complex64)
    return made.astype(wanted)
