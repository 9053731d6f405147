"""Values at coordinates, with scipy.ndimage's names, arguments and defaults."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._options import Bytes
from . import _complex, _held, _run
from ._elements import cast
from ._filters import Precision, _one

_GRID_MODES = {"constant": "grid-constant", "wrap": "grid-wrap"}


def _check_order(order: int) -> None:
    if order < 0 or order > 5:
        raise RuntimeError("spline order not supported")


def spline_filter1d(
    input: Any,
    order: int = 3,
    axis: int = -1,
    output: Any = np.float64,
    mode: str = "mirror",
    *,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """As ``spline_filter``, along one axis.  source: scipy.ndimage.spline_filter1d."""
    _check_order(order)
    return _one("spline_filter1d", input, output, budget, threads, order=order, axis=axis, mode=mode)


def spline_filter(
    input: Any,
    order: int = 3,
    output: Any = np.float64,
    mode: str = "mirror",
    *,
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The coefficients of the spline through the elements, along every axis.

    order: 2 to 5; the coefficients of lower ones are the elements.  output: float32 is computed in float32, all else in double.
    mode: as scipy's: mirror, reflect and grid-wrap have filters of their own.  Otherwise as ``correlate1d``.
    source: scipy.ndimage.spline_filter.
    """
    if order < 2:
        raise RuntimeError("spline order not supported")
    _check_order(order)
    return _one("spline_filter", input, output, budget, threads, order=order, mode=mode)


def affine_transform(
    input: Any,
    matrix: npt.ArrayLike,
    offset: float | Sequence[float] = 0.0,
    output_shape: Sequence[int] | None = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The value of output element o is that of the input at ``matrix @ o + offset``.

    input: as in ``correlate1d``, 1 to 8 dimensions.  matrix: shape (n, n), (n,) for a diagonal, or homogeneous (n, n + 1) or
        (n + 1, n + 1).  order: of the spline through the elements, 0 (nearest) to 5.
    mode, cval: beyond the ends, as scipy's interpolation names them.
    prefilter: False where ``input`` holds spline coefficients already (``spline_filter``).
    precision: orders 4 and 5 are computed in double always, as coordinates are.  Otherwise as ``correlate1d``.
    memory: from order 2 on also the coefficients, which are not in ``budget``.
    source: scipy.ndimage.affine_transform.
    """
    _check_order(order)
    if output_shape is None and _held.is_memory(output):
        output_shape = output.shape
    values = np.asarray(_held.numpy_of(matrix), dtype=np.float64)
    rank = len(input.shape) if hasattr(input, "shape") else np.ndim(input)
    if values.ndim not in (1, 2) or values.shape[0] < 1:
        raise RuntimeError("no proper affine matrix provided")
    numbers = values.ravel().tolist()
    if not all(map(math.isfinite, numbers)):
        raise ValueError("the matrix has numbers that are not finite")
    if values.ndim == 2 and values.shape == (rank + 1, rank + 1):
        if not np.array_equal(values[rank], [0.0] * rank + [1.0]):
            raise ValueError(f"expected the last row of the homogeneous matrix to be {[0.0] * rank + [1.0]}")
    elif values.ndim == 2 and output_shape is not None and values.shape == (rank, len(output_shape)) != (rank, rank):
        how: dict[str, Any] = {"order": order, "mode": mode, "cval": cval, "prefilter": prefilter}
        how |= {"precision": precision, "budget": budget, "threads": threads}
        return _between_ranks(input, values, offset, tuple(output_shape), output, how)
    elif values.shape not in ((rank,), (rank, rank), (rank, rank + 1)):
        raise RuntimeError(f"a matrix of shape {values.shape} for an array of {rank} dimensions")
    if values.shape == (rank,):
        numbers = np.diag(values).ravel().tolist()
    elif values.shape != (rank, rank):
        offset = values[:rank, rank].tolist()
        numbers = values[:rank, :rank].ravel().tolist()
    return _one(
        "affine_transform", input, output, budget, threads,
        matrix=numbers, offset=_floats(offset), output_shape=output_shape, order=order, mode=mode, cval=cval,
        prefilter=prefilter, precision=precision,
    )  # fmt: skip


def _between_ranks(
    x: Any, matrix: npt.NDArray[np.float64], offset: Any, shape: tuple[int, ...], output: Any, how: dict[str, Any]
) -> Any:
    """Of another number of dimensions: those that one side lacks have one element there."""
    if _run.is_stored(x):
        raise TypeError("matrix: a stored array keeps its number of dimensions; read it first")
    x = _held.array_of(x)
    inner, outer = matrix.shape
    rank = max(inner, outer)
    square = np.zeros((rank, rank))
    square[:inner, :outer] = matrix
    offsets = np.zeros(rank)
    offsets[:inner] = offset
    x = x.reshape(tuple(x.shape) + (1,) * (rank - inner))
    dtype = output.dtype if _held.is_memory(output) else output
    made = affine_transform(x, square, list(offsets), shape + (1,) * (rank - outer), dtype, **how).reshape(shape)
    if not _held.is_memory(output):
        return made
    if tuple(output.shape) != shape:
        raise RuntimeError(f"output shape not correct: {tuple(output.shape)}, the result has {shape}")
    output[...] = made
    return output


def shift(
    input: Any,
    shift: float | Sequence[float],
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The array moved by ``shift`` elements.  Otherwise as ``affine_transform``.  source: scipy.ndimage.shift."""
    _check_order(order)
    return _one(
        "shift", input, output, budget, threads,
        shift=_floats(shift), order=order, mode=mode, cval=cval, prefilter=prefilter, precision=precision,
    )  # fmt: skip


def zoom(
    input: Any,
    zoom: float | Sequence[float],
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
    compat: str | None = None,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """Another shape, ``round(n * zoom)``, with the centres of the first and the last elements on each other.

    compat: "scipy" loses the last plane where rounding carries its coordinate beyond the end, as scipy does.
    Otherwise as ``affine_transform``.  source: scipy.ndimage.zoom.
    """
    _check_order(order)
    if grid_mode and mode in _GRID_MODES:
        warnings.warn(
            f"It is recommended to use mode = {_GRID_MODES[mode]} instead of {mode} when grid_mode is True.",
            UserWarning,
            stacklevel=2,
        )
    if prefilter and np.all(np.asarray(zoom) == 1):
        order = min(order, 1)  # the elements themselves
    return _one(
        "zoom", input, output, budget, threads,
        zoom=_floats(zoom), order=order, mode=mode, cval=cval, prefilter=prefilter, grid_mode=grid_mode, compat=compat,
        precision=precision,
    )  # fmt: skip


def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The values at coordinates.

    input: in memory, as in ``affine_transform``; a stored array is refused, as any element of it may be asked for.
    coordinates: shape (n, ...), in elements; NaN and infinite ones give ``cval``.
    returns: shape ``coordinates.shape[1:]``, kind and (without ``output``) type of ``input``.
    source: scipy.ndimage.map_coordinates.
    """
    return _sample(
        input, coordinates, output, order, mode, cval, prefilter, precision, budget, threads, displacement=False
    )


def apply_displacement_field(
    input: Any,
    displacement: Any,
    output: Any = None,
    order: int = 1,
    mode: str = "constant",
    cval: float = 0.0,
    *,
    precision: Precision = "float32",
    budget: Bytes | None = None,
    threads: int | None = None,
) -> Any:
    """The value of output element o is that of the input at ``o + displacement[:, o]``; as ``map_coordinates`` otherwise.

    displacement: shape (n, m0, ..., m(n-1)), in elements.
    """
    return _sample(input, displacement, output, order, mode, cval, True, precision, budget, threads, displacement=True)


def _sample(
    x: Any,
    coordinates: Any,
    output: Any,
    order: int,
    mode: str,
    cval: float,
    prefilter: bool,
    precision: Precision,
    budget: Bytes | None,
    threads: int | None,
    *,
    displacement: bool,
) -> Any:
    _check_order(order)
    if _run.is_stored(x):
        raise TypeError("coordinates may ask for any element: read the stored array, or the region around them, first")
    if precision not in ("float32", "float64"):
        raise ValueError(f"precision is float32 or float64, not {precision!r}")
    x = _held.array_of(x)

    def again(values: Any, **changed: Any) -> Any:
        given: dict[str, Any] = {"output": None, "order": order, "mode": mode, "cval": cval, "prefilter": prefilter}
        given |= {"precision": precision, "budget": budget, "threads": threads, "displacement": displacement}
        return _sample(values, coordinates, **(given | changed))

    if _complex.is_complex("map_coordinates", x, output, {"cval": cval}):
        return _complex.by_parts(again, x, output, {"cval": cval})
    points = _held.array_of(coordinates)
    if isinstance(points, np.ndarray):
        points = np.ascontiguousarray(points, dtype=np.float64)
    elif str(points.dtype).removeprefix("torch.") != "float64":
        points = points.astype("float64") if hasattr(points, "astype") else points.double()
    held = _held.take(x)
    at = _held.take(points, held.stream)
    shape = tuple(at.shape[1:])
    into: Any = output if _held.is_memory(output) else None
    other_order = isinstance(into, np.ndarray) and not into.dtype.isnative
    if output is not None and (other_order or _run.output_name(output) != _run.output_name(held.dtype)):
        return _of_another_type(again, x, output, into)
    result, target = into, None
    if into is None:
        result, target = _held.new(x, held, held.dtype, shape)
    else:
        target = _held.output(into, held, shape)
    assert target is not None  # the other byte order is another type
    nbytes = math.prod(shape) * held.dtype.itemsize
    _core.map_coordinates(
        held.core,
        at.core,
        target.core,
        order,
        mode,
        cval,
        prefilter,
        displacement,
        precision == "float64",
        _run.Machine(budget, threads).options(nbytes, on_host=held.stream is None),
    )
    _held.finish(held, target)
    return result


def _of_another_type(again: Callable[..., Any], x: Any, output: Any, into: Any) -> Any:
    """Fractions are kept until the end: whole numbers are rounded once."""
    wanted = np.dtype(_held.numpy_dtype(into.dtype if into is not None else output))
    computed = wanted if wanted.kind == "f" else np.dtype(np.float64)
    made = again(x if x.dtype == computed else cast(x, computed))
    made = made if wanted.kind == "f" else cast(made, wanted)
    if into is None:
        return made
    if tuple(into.shape) != tuple(made.shape):
        raise RuntimeError(f"output shape not correct: {tuple(into.shape)}, the result has {tuple(made.shape)}")
    into[...] = made
    return into


def _floats(values: Any) -> float | list[float]:
    if type(values) in (list, tuple) or np.ndim(values):
        return [float(v) for v in values]
    return float(values)
