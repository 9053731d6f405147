"""Image operators beside scipy's, on every kind of array; lazy on stored ones."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.ndimage as sn
import skimage.filters
import skimage.measure
import skimage.registration
import skimage.transform
from images import MODES, SHAPES, TYPES, expect_same, image

import penstock as ps
import penstock.ndimage as nd


@pytest.mark.parametrize("dtype", TYPES)
def test_filters_give_what_scipy_gives(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for i, shape in enumerate(SHAPES):
        x = image(shape, dtype, i)
        for mode in MODES:
            sigma = rng.random() * 3
            edge: dict[str, Any] = {"mode": mode, "cval": 3.0}
            expect_same(nd.gaussian_filter(x, sigma, **edge), sn.gaussian_filter(x, sigma, **edge), x.ndim)
            axis = int(rng.integers(-x.ndim, x.ndim))
            size = int(rng.integers(1, 9))
            origin = int(rng.integers(-(size // 2), (size - 1) // 2 + 1))
            where: dict[str, Any] = {"axis": axis, "origin": origin, **edge}
            whole = [int(w) for w in rng.integers(-2, 4, size)]
            expect_same(nd.correlate1d(x, whole, **where), sn.correlate1d(x, whole, **where), 0)
            expect_same(nd.convolve1d(x, whole, **where), sn.convolve1d(x, whole, **where), 0)
            for name in ("uniform_filter1d", "minimum_filter1d", "maximum_filter1d"):
                expect_same(getattr(nd, name)(x, size, **where), getattr(sn, name)(x, size, **where), 0)
            expect_same(nd.uniform_filter(x, size, **edge), sn.uniform_filter(x, size, **edge), 0)
            if dtype in ("u8", "?"):
                continue  # scipy leaves open what a difference below 0 becomes, and adds that up
            for name in ("prewitt", "sobel"):
                expect_same(getattr(nd, name)(x, axis, **edge), getattr(sn, name)(x, axis, **edge), 0)


@pytest.mark.parametrize("dtype", TYPES)
def test_filters_under_footprints_are_scipys(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for i, shape in enumerate(SHAPES):
        x = image(shape, dtype, i)
        for mode in MODES:
            size = tuple(int(k) for k in rng.integers(1, 4 if x.ndim > 3 else 6, x.ndim))
            mask = rng.random(size) < 0.6
            mask.flat[int(rng.integers(mask.size))] = True
            origin = tuple(int(rng.integers(-(k // 2), (k - 1) // 2 + 1)) for k in size)
            box: dict[str, Any] = {"size": size, "mode": mode, "cval": 3.0, "origin": origin}
            cut: dict[str, Any] = {**box, "size": None, "footprint": mask}
            # scipy's ranks of one dimension are wrong where the array is shorter than the window: asked in two.
            y = x[np.newaxis]
            flat: dict[str, Any] = {**box, "size": (1, *size), "origin": (0, *origin)}
            flat_cut: dict[str, Any] = {**flat, "size": None, "footprint": mask[np.newaxis]}
            for ours, theirs in ((box, flat), (cut, flat_cut)):
                expect_same(nd.median_filter(x, **ours), sn.median_filter(y, **theirs)[0], 0)
                expect_same(nd.percentile_filter(x, 30, **ours), sn.percentile_filter(y, 30, **theirs)[0], 0)
                rank = int(rng.integers(0, mask.sum()))
                expect_same(nd.rank_filter(x, rank, **ours), sn.rank_filter(y, rank, **theirs)[0], 0)
                expect_same(nd.minimum_filter(x, **ours), sn.minimum_filter(y, **theirs)[0], 0)
                expect_same(nd.maximum_filter(x, **ours), sn.maximum_filter(y, **theirs)[0], 0)


def test_large_footprints() -> None:
    for dtype in ("u1", "u2", "f4", "f8"):
        x = image((40, 50), dtype)
        for size in (9, 17, 21):
            expect_same(nd.median_filter(x, size), sn.median_filter(x, size), 0)
            expect_same(nd.rank_filter(x, 7, size), sn.rank_filter(x, 7, size), 0)


def test_derivatives_radii_and_axes_are_scipys() -> None:
    x = image((20, 30, 11), "f8")
    for arguments in (
        {"order": 1},
        {"order": (0, 2, 3)},
        {"radius": 2},
        {"radius": (1, 0, 4), "truncate": 2.0},
    ):
        expect_same(nd.gaussian_filter(x, (2, 1, 0.5), **arguments), sn.gaussian_filter(x, (2, 1, 0.5), **arguments))
    expect_same(nd.gaussian_filter(x, (2, 1), axes=(0, 2)), sn.gaussian_filter(x, (2, 1), axes=(0, 2)))
    expect_same(nd.gaussian_filter1d(x, 2, 1, 1), sn.gaussian_filter1d(x, 2, 1, 1))


@pytest.mark.parametrize("dtype", ("f4", "u1", "i4"))
@pytest.mark.parametrize("output", ("f4", "f8", "i2", "u1", "i8"))
def test_output_types_are_scipys(dtype: str, output: str) -> None:
    x = image((20, 15), dtype)
    wanted = sn.gaussian_filter(x, 1.5, output=output)
    expect_same(nd.gaussian_filter(x, 1.5, output=output), wanted, 2)
    into = np.empty((15, 20), output).T
    assert nd.gaussian_filter(x, 1.5, output=into) is into
    expect_same(into, wanted, 2)


def test_views_and_outputs_that_overlap() -> None:
    x = image((30, 40, 20), "f4")
    view = x[::-2, 3:30:3, ::-1]
    expect_same(nd.gaussian_filter(view, 1), sn.gaussian_filter(view, 1))
    wanted = sn.gaussian_filter(x, 1)
    nd.gaussian_filter(x, 1, output=x)
    expect_same(x, wanted)
    wanted = sn.median_filter(x[1:], 3)
    nd.median_filter(x[1:], 3, output=x[:-1])
    expect_same(x[:-1], wanted)


@pytest.mark.parametrize("threads", (1, 3))
def test_slabs_make_what_the_whole_makes(threads: int) -> None:
    """Of many rows, so that neighbouring operators are run on some of them at a time."""
    for shape in ((301, 67, 61), (2000, 700)):
        x, whole = image(shape, "f4"), image(shape, "i2")
        for mode in ("reflect", "wrap", "constant"):
            made = nd.gaussian_filter(x, 1.5, mode=mode, threads=threads)
            expect_same(made, sn.gaussian_filter(x, 1.5, mode=mode))
        size = (1, *range(2, len(shape) + 1))
        for name in ("uniform_filter", "median_filter", "maximum_filter"):
            for y in (x, whole):
                expect_same(getattr(nd, name)(y, size, threads=threads), getattr(sn, name)(y, size), 0)
        expect_same(nd.spline_filter(x, output="f4", threads=threads), sn.spline_filter(x, output="f8").astype("f4"))
        expect_same(nd.spline_filter(x, mode="grid-wrap", threads=threads), sn.spline_filter(x, mode="grid-wrap"))
        turn = np.eye(len(shape)) + 0.02
        wanted = sn.affine_transform(x, turn, 1.5, output="f8").astype("f4")
        expect_same(nd.affine_transform(x, turn, 1.5, threads=threads), wanted)
        expect_same(nd.zoom(x, 0.5, compat="scipy", threads=threads), sn.zoom(x, 0.5, output="f8").astype("f4"))


def is_short(shape: tuple[int, ...]) -> bool:
    """scipy begins the reflected prefilter of short lines with an element that it has changed already: ours are exact."""
    return any(1 < n < 24 for n in shape)


@pytest.mark.parametrize("dtype", ("f4", "f8", "u1", "i2", "i8"))
@pytest.mark.parametrize("mode", MODES)
def test_values_at_coordinates_are_scipys(dtype: str, mode: str) -> None:
    rng = np.random.default_rng(3)
    for shape in ((40,), (13, 17), (9, 7, 11), (1, 5), (25, 31)):
        x = image(shape, dtype)
        n = x.ndim
        for order in range(6):
            if order > 1 and mode in ("reflect", "grid-mirror") and is_short(shape):
                continue
            how: dict[str, Any] = {"order": order, "mode": mode, "cval": 7.0}
            points = rng.random((n, 300)) * 3 * max(shape) - max(shape)
            expect_same(nd.map_coordinates(x, points, **how), sn.map_coordinates(x, points, **how))
            matrix = np.eye(n) + rng.random((n, n)) * 0.4
            offset = list(rng.random(n) * 3)
            wanted = sn.affine_transform(x, matrix, offset, **how)
            expect_same(nd.affine_transform(x, matrix, offset, **how), wanted)
            move = list(rng.random(n) * 4 - 2)
            expect_same(nd.shift(x, move, **how), sn.shift(x, move, **how))
            factors = [1 + float(f) for f in rng.random(n)]
            expect_same(nd.zoom(x, factors, compat="scipy", **how), sn.zoom(x, factors, **how))


@pytest.mark.parametrize("mode", MODES)
def test_spline_coefficients_are_scipys(mode: str) -> None:
    for shape in ((40,), (2, 3), (9, 1, 11), (150, 3), (33, 1, 24)):
        for dtype in ("f8", "f4", "u1"):
            x = image(shape, dtype)
            for order in range(6):
                if mode in ("reflect", "grid-mirror", "nearest") and is_short(shape):
                    continue
                if order > 1:
                    expect_same(nd.spline_filter(x, order, mode=mode), sn.spline_filter(x, order, mode=mode))
                one: dict[str, Any] = {"axis": 0, "mode": mode}
                expect_same(nd.spline_filter1d(x, order, **one), sn.spline_filter1d(x, order, **one))
    coefficients = sn.spline_filter(image((40, 30), "f8"), 3)
    points = np.random.default_rng(5).random((2, 50)) * 60 - 15
    wanted = sn.map_coordinates(coefficients, points, mode=mode, prefilter=False)
    expect_same(nd.map_coordinates(coefficients, points, mode=mode, prefilter=False), wanted)


def test_a_displacement_moves_every_element() -> None:
    x = image((20, 30), "f4")
    field = np.random.default_rng(4).random((2, 20, 30)) * 6 - 3
    wanted = sn.map_coordinates(x, np.indices(x.shape) + field, order=1)
    expect_same(nd.apply_displacement_field(x, field), wanted)
    assert nd.map_coordinates(x, [[np.nan, 1, np.inf], [0, 1, 2]], order=1, cval=5).tolist() == [5, x[1, 1], 5]


def test_zoom_keeps_the_last_plane() -> None:
    for there, here in ((22, 20), (26, 12)):
        x = np.linspace(1, 2, there)
        assert nd.zoom(x, here / there, order=1)[-1] == 2
        assert nd.zoom(x, here / there)[-1] == pytest.approx(2)


def test_resize_is_scikit_images() -> None:
    x = image((40, 33, 21), "f4")
    for shape in ((20, 16, 10), (13, 33, 40), (5, 5, 5), (80, 66, 42)):
        expect_same(nd.resize(x, shape), skimage.transform.resize(x, shape, order=1, anti_aliasing=True))
        plain = skimage.transform.resize(x, shape, order=1, anti_aliasing=False)
        expect_same(nd.resize(x, shape, anti_aliasing=False), plain)
    assert nd.resize(x, scale=0.5).shape == (20, 16, 10)
    labels = image((17, 16), "i8") + (1 << 60)
    assert set(np.unique(nd.resize(labels, scale=1.7, order=0))) <= set(np.unique(labels))


def block_of(x: np.ndarray, factor: tuple[int, ...], at: tuple[int, ...]) -> np.ndarray:
    return x[tuple(slice(k * f, (k + 1) * f) for k, f in zip(at, factor, strict=True))].ravel()


@pytest.mark.parametrize("dtype", ("f4", "f8", "u1", "i2", "u4"))
@pytest.mark.parametrize("factor", (2, 3, (1, 4, 2), 9, 40))
def test_blocks_become_one(tmp_path: pathlib.Path, dtype: str, factor: Any) -> None:
    x = (image((37, 10, 23), "f8") % 4).astype(dtype) if dtype != "f4" else image((37, 10, 23), "f4")
    factors = factor if isinstance(factor, tuple) else (factor,) * 3
    shape = tuple(-(-n // f) for n, f in zip(x.shape, factors, strict=True))
    blocks = [block_of(x, factors, at) for at in np.ndindex(shape)]
    means = np.array([b.astype("f8").mean() for b in blocks]).reshape(shape)
    if x.dtype.kind != "f":  # halves away from zero
        means = np.sign(means) * np.floor(np.abs(means) + 0.5)
    expect_same(nd.downsample(x, factor), means.astype(dtype))
    first = np.array([b[0] for b in blocks]).reshape(shape)
    np.testing.assert_array_equal(nd.downsample(x, factor, method="nearest"), first)
    often = []
    for b in blocks:
        values, begins, counts = np.unique(b, return_index=True, return_counts=True)
        often.append(values[np.lexsort((begins, -counts))[0]])
    np.testing.assert_array_equal(nd.downsample(x, factor, method="mode"), np.array(often).reshape(shape))
    smooth = x.astype("f8")
    for axis, f in enumerate(factors):
        if f == 1:
            continue
        weights = np.exp(-0.5 * ((np.arange(3 * f) - (3 * f - 1) / 2) * 3 / f) ** 2)
        padded = np.pad(smooth, [(f, 3 * f) if d == axis else (0, 0) for d in range(3)], "symmetric")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 3 * f, axis)
        smooth = np.take(windows, np.arange(shape[axis]) * f, axis) @ (weights / weights.sum())
    made = nd.downsample(x, factor, method="gaussian")
    if x.dtype.kind == "f":
        expect_same(made, smooth.astype(dtype))
    else:
        assert np.abs(made - smooth).max() <= 0.5001
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(8, 4, 16))
    a[...] = x
    for method in ("mean", "gaussian", "mode"):
        lazy = nd.downsample(a, factor, method=method)
        np.testing.assert_array_equal(lazy[...], nd.downsample(x, factor, method=method))


def test_blocks_are_skimages_and_refuse_what_they_cannot() -> None:
    x = image((24, 36), "f8")
    expect_same(nd.downsample(x, (4, 3)), skimage.measure.block_reduce(x, (4, 3), np.mean))
    expect_same(nd.downsample(x, 3, axes=1), skimage.measure.block_reduce(x, (1, 3), np.mean))
    with pytest.raises(ps.UnsupportedError, match="no mean of elements of type uint64"):
        nd.downsample(x.astype("u8"))
    for wrong in (0, -2, 1 << 20):
        with pytest.raises(ValueError, match="must be 1 to 65536"):
            nd.downsample(x, wrong)


def test_corners_keep_the_last_plane() -> None:
    """scipy's zoom loses it for these pairs, by rounding."""
    for there, here in ((22, 20), (26, 12), (400, 75)):
        x = np.linspace(1, 2, there, dtype="f8")
        made = nd.resize(x, here, align="corners", anti_aliasing=False)
        np.testing.assert_allclose(made, np.linspace(1, 2, here), rtol=1e-12)


@pytest.mark.parametrize("dtype", ("f4", "f8", "u1", "i1", "u2", "i2", "u4", "i4", "i8", "?"))
def test_percentiles_are_numpys(dtype: str) -> None:
    x = image((31, 17, 9), dtype)
    q = [0, 1, 33.3, 50, 99.5, 100]
    wanted = np.percentile(x.astype("f8"), q)
    np.testing.assert_allclose(nd.percentile(x, q), wanted, rtol=1e-12)
    np.testing.assert_allclose(nd.percentile(x[::-1, ::2], q), np.percentile(x[::-1, ::2].astype("f8"), q), rtol=1e-12)
    many = np.linspace(0, 100, 75).reshape(3, 25)
    np.testing.assert_allclose(nd.percentile(x, many), np.percentile(x.astype("f8"), many), rtol=1e-12)
    assert nd.percentile(x, 50) == wanted[3]


def test_histogram_and_otsu_are_theirs() -> None:
    for dtype in ("f4", "f8", "u1", "u2", "i2"):
        x = image((50, 40), dtype)
        np.testing.assert_array_equal(nd.histogram(x, 10, 90, 13), sn.histogram(x, 10, 90, 13))
        assert nd.threshold_otsu(x) == pytest.approx(skimage.filters.threshold_otsu(x), abs=1e-5)


def test_data_types_of_torch_are_known_by_their_names() -> None:
    class Torch:
        def __str__(self) -> str:
            return "torch.float64"

    x = image((9, 8, 7), "f4")
    output: Any = Torch()
    for made in (
        nd.gaussian_filter(x, 1, output=output),
        nd.zoom(x, 0.5, output=output, order=1),
        nd.maximum_filter(x, 3, output=output),
    ):
        assert made.dtype == np.float64


def test_penstock_tensors_and_lists() -> None:
    x = image((20, 30), "f4")
    made = nd.gaussian_filter(ps.asarray(x), 2)
    assert isinstance(made, ps.Tensor)
    expect_same(np.asarray(made), nd.gaussian_filter(x, 2))
    expect_same(nd.uniform_filter([1, 2, 6, 3], 3), sn.uniform_filter([1, 2, 6, 3], 3), 0)


def test_whoever_speaks_dlpack_is_taken() -> None:
    """As PyTorch's tensors are on the CPU (test_torch.py): nothing of NumPy but the memory."""

    class Foreign:
        def __init__(self, x: np.ndarray) -> None:
            self._x = x
            self.shape, self.dtype = x.shape, x.dtype

        def __dlpack__(self, **how: Any) -> Any:
            return self._x.__dlpack__(**how)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self._x.__dlpack_device__()

    x = image((20, 30, 7), "f4")
    into = np.empty_like(x)
    expect_same(nd.gaussian_filter(Foreign(x), 2), sn.gaussian_filter(x, 2))
    assert nd.median_filter(Foreign(x[::-1, ::2]), 3, output=Foreign(into[:, ::2])) is not None
    np.testing.assert_array_equal(into[:, ::2], sn.median_filter(x[::-1, ::2], 3))
    assert nd.sum(Foreign(x)) == pytest.approx(x.sum(dtype="f8"), rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda x: nd.gaussian_filter(x, -1), ValueError),
        (lambda x: nd.gaussian_filter(x, float("nan")), ValueError),
        (lambda x: nd.gaussian_filter(x, (1, 2, 3)), RuntimeError),
        (lambda x: nd.gaussian_filter(x, 1, mode="sideways"), ValueError),
        (lambda x: nd.gaussian_filter(x, 1, axes=(0, 0)), ValueError),
        (lambda x: nd.gaussian_filter(x, 1, output=np.zeros((3, 3), "f4")), RuntimeError),
        (lambda x: nd.gaussian_filter(x.astype(object), 1), TypeError),
        (lambda x: nd.uniform_filter(x, -1), ValueError),
        (lambda x: nd.uniform_filter1d(x, 3, origin=2), ValueError),
        (lambda x: nd.correlate1d(x, []), RuntimeError),
        (lambda x: nd.sobel(x, 2), ValueError),
        (lambda x: nd.sobel(x, mode=["wrap"]), RuntimeError),
        (lambda x: nd.median_filter(x), RuntimeError),
        (lambda x: nd.median_filter(x, 0), ValueError),
        (lambda x: nd.median_filter(x, footprint=np.zeros((3, 3))), ValueError),
        (lambda x: nd.rank_filter(x, 9, 3), ValueError),
        (lambda x: nd.rank_filter(x, 0.5, 3), TypeError),
        (lambda x: nd.median_filter(x, footprint=[1, 0, 1]), RuntimeError),
        (lambda x: nd.median_filter(x, 3, axes=(0, 2)), ValueError),
        (lambda x: nd.percentile_filter(x, 101, 3), ValueError),
        (lambda x: nd.zoom(x, -1), ValueError),
        (lambda x: nd.zoom(x, 2, order=6), RuntimeError),
        (lambda x: nd.affine_transform(x, np.eye(3)[:2, :1]), RuntimeError),
        (lambda x: nd.affine_transform(x, [[np.nan, 0], [0, 1]]), ValueError),
        (lambda x: nd.map_coordinates(x, np.zeros((3, 4))), ValueError),
        (lambda x: nd.resize(x), ValueError),
        (lambda x: nd.resize(x, scale=0), ValueError),
        (lambda x: nd.percentile(x, 101), ValueError),
        (lambda x: nd.percentile(x[:0], 50), ValueError),
        (lambda x: nd.histogram(x, 3), ValueError),
        (lambda x: nd.affine_transform(x, [[np.inf, 0], [0, 1]]), ValueError),
        (lambda x: nd.map_coordinates(x[:0], np.zeros((2, 1))), ValueError),
        (lambda x: nd.shift(x, (1, np.nan)), ValueError),
        (lambda x: nd.spline_filter(x, 7), RuntimeError),
        (lambda x: nd.minimum(x[:0]), ValueError),
        (lambda x: nd.sum(x, axes=2), ValueError),
        (lambda x: nd.sum(x, np.ones((10, 10), int), axes=0), ValueError),
        (lambda x: nd.clip(x, 2, 1), ValueError),
        (lambda x: nd.scale(x, 1, 1), ValueError),
        (lambda x: nd.dct(x, 4), ValueError),
        (lambda x: nd.phase_correlation(x, x[:5]), ValueError),
        (lambda x: nd.phase_correlation(x * np.nan, x), ValueError),
        (lambda x: nd.phase_correlation(x, x, upsample_factor=0), ValueError),
        (lambda x: nd.phase_correlation(x, x, budget=100), ps.BudgetError),
        (lambda x: nd.gaussian_filter(x.astype("f2"), 1), ps.UnsupportedError),
    ],
)
def test_mistakes_are_named(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        wrong(image((10, 10), "f4"))


def test_elements_that_are_no_numbers_are_named() -> None:
    for values, error in (([1, None], TypeError), (["a"], ps.UnsupportedError), ([np.float16(1)], ps.UnsupportedError)):
        x = np.array(values)
        with pytest.raises(error, match="no elements of type"):
            nd.gaussian_filter(x, 1)


def test_arguments_at_their_ends_are_scipys() -> None:
    x = image((10, 7), "f4")
    for mode in ("reflect", "mirror", "nearest", "constant", "wrap"):
        expect_same(nd.gaussian_filter(x, 0, mode=mode), sn.gaussian_filter(x, 0, mode=mode))
        expect_same(
            nd.gaussian_filter(x, (0, 30), mode=mode),
            sn.gaussian_filter(x.astype("f8"), (0, 30), mode=mode).astype("f4"),
        )
        for size in (1, 25, (1, 40)):
            expect_same(
                nd.uniform_filter(x, size, mode=mode), sn.uniform_filter(x.astype("f8"), size, mode=mode).astype("f4")
            )
            np.testing.assert_array_equal(nd.maximum_filter(x, size, mode=mode), sn.maximum_filter(x, size, mode=mode))
        np.testing.assert_array_equal(nd.median_filter(x, (3, 21), mode=mode), sn.median_filter(x, (3, 21), mode=mode))
    for matrix in ([[0, 0], [0, 0]], [[1, 1], [1, 1]], [[1e-300, 0], [0, 1]]):  # singular: nothing is inverted
        for order in (0, 1, 3):
            expect_same(
                nd.affine_transform(x, matrix, 2.25, order=order),
                sn.affine_transform(x.astype("f8"), matrix, 2.25, order=order).astype("f4"),
            )


@pytest.mark.parametrize("mode", ("reflect", "mirror", "nearest", "constant", "wrap", "grid-wrap", "grid-constant"))
def test_coordinates_that_are_no_numbers_give_the_constant(mode: Any) -> None:
    x = image((10, 7), "f4")
    bad = np.array([[np.nan, np.inf, -np.inf, 3, 1e300], [2, 2, 2, np.nan, -1e300]])
    for order in (0, 1, 2, 3):
        made = nd.map_coordinates(x, bad, order=order, mode=mode, cval=-7)
        np.testing.assert_array_equal(made, -7)


def test_empty_arrays() -> None:
    for shape in ((0,), (3, 0, 2)):
        assert nd.gaussian_filter(np.zeros(shape, "f4"), 2).shape == shape


REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "minimum": np.min,
    "maximum": np.max,
    "variance": np.var,
    "standard_deviation": np.std,
}


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions_are_numpys(dtype: str) -> None:
    for i, shape in enumerate(SHAPES):
        x = image(shape, dtype, i)
        for name, theirs in REDUCTIONS.items():
            for axes in (None, 0, -1, tuple(range(x.ndim))):
                made = getattr(nd, name)(x, axes=axes)
                wanted = theirs(x.astype(x.dtype.newbyteorder("=")), axis=axes)
                assert made.dtype == wanted.dtype, name
                assert np.shape(made) == np.shape(wanted)
                slack = 2e-5 if made.dtype == "f4" else 1e-9
                np.testing.assert_allclose(made, wanted, rtol=slack, atol=slack)
            whole = getattr(sn, name)(x)
            np.testing.assert_allclose(getattr(nd, name)(x), whole, rtol=1e-5)


def test_reductions_of_stored_arrays(tmp_path: pathlib.Path) -> None:
    x = image((50, 60, 40), "u2")
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(16, 20, 40))
    a[...] = x
    a = ps.open(tmp_path / "a.zarr")
    for name, theirs in REDUCTIONS.items():
        made = getattr(nd, name)(a, budget="1MiB")
        assert made.dtype == theirs(x).dtype
        assert made == pytest.approx(theirs(x), rel=1e-12), name
        lazy = getattr(nd, name)(a, axes=0)
        assert lazy.shape == (60, 40)
        np.testing.assert_allclose(lazy[...], theirs(x, axis=0), rtol=1e-12)
    b = nd.maximum(nd.gaussian_filter(a, 1), axes=0).write(tmp_path / "b.zarr", device="cpu", chunks=(20, 20))
    np.testing.assert_array_equal(b[...], sn.gaussian_filter(x, 1).max(axis=0))


def test_arithmetic(tmp_path: pathlib.Path) -> None:
    x = image((20, 30), "u1")
    np.testing.assert_allclose(nd.log(nd.clip(x, 1, 100)), np.log(np.clip(x, 1, 100).astype("f4")), rtol=1e-6)
    np.testing.assert_allclose(nd.scale(x, 0, 120, 1, 3), x / 60 + 1, rtol=1e-6)
    np.testing.assert_allclose(nd.exp(x / 50), np.exp(x / 50), rtol=1e-12)
    np.testing.assert_allclose(nd.sqrt(x), np.sqrt(x.astype("f4")), rtol=1e-6)
    assert nd.cast(np.array([-1.5, 0.4, 300, np.nan], "f4"), "u1").tolist() == [0, 0, 255, 0]
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(8, 10))
    a[...] = x
    lazy = abs(-((2 * nd.clip(ps.open(tmp_path / "a.zarr"), 3) + 1) / 4 - 20))
    assert lazy.dtype == np.float32
    assert lazy.explain(device="cpu").count("operator") == 1, "one pass"
    np.testing.assert_allclose(lazy[...], np.abs((2 * np.clip(x, 3, None).astype("f4") + 1) / 4 - 20), rtol=1e-6)
    with pytest.raises(TypeError):
        lazy + "1"  # type: ignore[operator]


@pytest.mark.parametrize("dtype", ("f4", "f8", "u2"))
def test_phase_correlation_is_scikit_images(dtype: str) -> None:
    rng = np.random.default_rng(8)
    for shape in ((64,), (48, 35), (16, 21, 12), (31, 1)):
        x = sn.gaussian_filter(rng.random(shape), 1.5) * 1000
        moved = sn.shift(x, [3.3 if n > 1 else 0 for n in shape], order=3, mode="grid-wrap")
        a, b = x.astype(dtype), moved.astype(dtype)
        for upsample in (1, 10):
            for normalization in ("phase", None):
                how: dict[str, Any] = {"upsample_factor": upsample, "normalization": normalization}
                shift, error, phase = nd.phase_correlation(a, b, **how)
                theirs = skimage.registration.phase_cross_correlation(a, b, **how)
                np.testing.assert_allclose(shift, theirs[0], atol=1e-9)
                assert error == pytest.approx(theirs[1], abs=1e-3)
                assert phase == pytest.approx(theirs[2], abs=1e-3)


def test_cosine_transforms_are_scipys() -> None:
    for shape in ((13,), (8, 12), (3, 10, 7), (2, 1, 32)):
        for dtype in ("f8", "f4", "u1"):
            x = image(shape, dtype)
            axes = tuple(range(max(len(shape) - 2, 0), len(shape)))
            for kind in (2, 3):
                for norm in ("backward", "ortho"):
                    wanted = scipy.fft.dctn(x.astype("f8"), kind, axes=axes, norm=norm)
                    made = nd.dct(x, kind, norm=norm)
                    assert made.dtype == ("f8" if dtype == "f8" else "f4")
                    expect_same(made.astype("f8"), wanted) if dtype == "f8" else np.testing.assert_allclose(
                        made, wanted, atol=2e-5 * max(np.abs(wanted).max(), 1)
                    )
            np.testing.assert_allclose(nd.dct(nd.dct(x, norm="ortho"), 3, norm="ortho"), x, atol=1e-3)


def test_other_names_are_handed_to_scipy() -> None:
    x = image((20, 30), "u1") > 60
    with pytest.warns(UserWarning, match="label"):
        assert nd.label(x)[1] == sn.label(x)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nd.label(x)  # one warning is enough
    labels, count = sn.label(x)
    with pytest.warns(UserWarning, match="by label"):
        made = nd.sum(x, labels, range(count + 1))
    np.testing.assert_array_equal(made, sn.sum(x, labels, range(count + 1)))
    with pytest.raises(ps.UnsupportedError, match="binary_erosion"):
        nd.binary_erosion(ps.create("memory://", shape=(4,), dtype="u1", chunks=(4,)))
    with pytest.raises(AttributeError, match="no_such"):
        _ = nd.no_such
