"""What random comparison with scipy.ndimage has found, and must not come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.ndimage as sn
from images import expect_same, image

import penstock.ndimage as nd


@pytest.mark.parametrize("sigma", (0.5, 1.0, 1.7, 3.0))
def test_a_gaussian_neither_brightens_nor_darkens(sigma: float) -> None:
    """Weights in float32 whose sum is not 1 would: by 2e-8 each axis, which the sum of an image shows."""
    x = np.arange(100 * 100, dtype="f4").reshape(100, 100)
    total = x.sum(dtype="f8")
    for made in (nd.gaussian_filter(x, sigma), nd.gaussian_filter(np.ascontiguousarray(x.T), sigma)):
        assert abs(made.sum(dtype="f8") - total) < 8e-9 * total
    # Of derivatives the sum is 0: what does not change has none.
    flat = np.full((40, 40), 1e4, "f4")
    assert np.abs(nd.gaussian_filter(flat, sigma, order=1)).max() < 1e-3
    expect_same(nd.gaussian_filter(flat, sigma, order=2), sn.gaussian_filter(flat, sigma, order=2))


@pytest.mark.parametrize("dtype", ("?", "u1", "i2", "u2", "i4", "i8", "f4", "f8", "c8", "c16"))
def test_types_of_complex_results_are_scipys(dtype: str) -> None:
    x = image((12, 9), dtype)
    weights = np.array([1 + 1j, 2, 0.5j])
    for name in ("correlate1d", "convolve1d"):
        made, wanted = getattr(nd, name)(x, weights), getattr(sn, name)(x, weights)
        assert made.dtype == wanted.dtype
        np.testing.assert_allclose(made, wanted, rtol=2e-5, atol=2e-5 * np.abs(wanted).max())
        wide = getattr(nd, name)(x, weights, output=np.complex128)
        np.testing.assert_allclose(wide, getattr(sn, name)(x, weights, output=np.complex128), rtol=2e-5)


def test_python_can_say_which_name_is_near() -> None:
    module: Any = nd
    with pytest.raises(AttributeError) as found:
        _ = module.gausian_filter
    assert (found.value.name, found.value.obj) == ("gausian_filter", nd)
    assert {"gaussian_filter", "label"} <= set(dir(nd))


@pytest.mark.parametrize("dtype", ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4"))
def test_a_constant_beyond_the_type_is_still_smaller_or_larger(dtype: str) -> None:
    """Of unsigned numbers -2.5 is less than all of them; wrapped it would be the largest."""
    x = image((7, 5, 6), dtype) if dtype != "?" else image((7, 5, 6), "u1") % 2 == 1
    window = np.ones((3, 1, 2), bool)
    window[0, 0, 0] = False
    for below in (-2.5, -1e30):
        how: dict[str, Any] = {"mode": "constant", "cval": below}
        np.testing.assert_array_equal(nd.maximum_filter(x, 3, **how), sn.maximum_filter(x, 3, **how))
        np.testing.assert_array_equal(nd.maximum_filter(x, (4, 1, 7), **how), sn.maximum_filter(x, (4, 1, 7), **how))
        np.testing.assert_array_equal(nd.maximum_filter1d(x, 5, 1, **how), sn.maximum_filter1d(x, 5, 1, **how))
        for name in ("maximum_filter", "median_filter"):  # the last: most are elements in the middle of the array
            made, wanted = (getattr(m, name)(x, footprint=window, **how) for m in (nd, sn))
            np.testing.assert_array_equal(made[1:-1, :, 1:], wanted[1:-1, :, 1:])
        np.testing.assert_array_equal(nd.rank_filter(x, -1, 3, **how), sn.rank_filter(x, -1, 3, **how))
    how = {"mode": "constant", "cval": 1e30}
    np.testing.assert_array_equal(nd.minimum_filter(x, 3, **how), sn.minimum_filter(x, 3, **how))
    np.testing.assert_array_equal(nd.minimum_filter1d(x, 5, 1, **how), sn.minimum_filter1d(x, 5, 1, **how))
    np.testing.assert_array_equal(nd.rank_filter(x, 0, 3, **how), sn.rank_filter(x, 0, 3, **how))


def test_empty_arrays_stay_empty_under_footprints() -> None:
    footprint = np.ones((3, 2), bool)
    footprint[0, 0] = False
    for shape in ((0, 4), (4, 0), (0, 0)):
        x = np.zeros(shape, "u2")
        for name, more in (
            ("median_filter", {}),
            ("minimum_filter", {}),
            ("maximum_filter", {}),
            ("percentile_filter", {"percentile": 20}),
            ("rank_filter", {"rank": 1}),
        ):
            assert getattr(nd, name)(x, footprint=footprint, **more).shape == shape
            into = np.zeros(shape, "f4")
            assert getattr(nd, name)(x, footprint=footprint, output=into, **more) is into


def test_sizes_may_be_arrays() -> None:
    x = image((9, 8), "f4")
    for name in ("uniform_filter", "minimum_filter", "maximum_filter", "median_filter"):
        for size in (np.array([2, 3]), np.array(3), np.int64(3), (0, 3)):
            if name == "median_filter" and np.min(size) == 0:
                continue  # scipy has no median of nothing
            expect_same(getattr(nd, name)(x, size), getattr(sn, name)(x, size))


@pytest.mark.parametrize("dtype", ("c8", "c16"))
def test_splines_of_complex_elements(dtype: str) -> None:
    x = (image((30, 26), "f8") + 1j * image((30, 26), "f8", 1)).astype(dtype)
    for output in (np.complex64, np.complex128):
        slack = 2e-5 if output == np.complex64 else 1e-9
        for order in (0, 1, 3, 5):
            made = nd.spline_filter1d(x, order, 0, output)
            wanted = sn.spline_filter1d(x, order, 0, output)
            assert made.dtype == wanted.dtype
            np.testing.assert_allclose(made, wanted, atol=slack * np.abs(wanted).max())
        made, wanted = nd.spline_filter(x, 3, output), sn.spline_filter(x, 3, output)
        np.testing.assert_allclose(made, wanted, atol=slack * np.abs(wanted).max())


@pytest.mark.parametrize(
    "mode", ("reflect", "grid-mirror", "mirror", "nearest", "constant", "wrap", "grid-wrap", "grid-constant")
)
@pytest.mark.parametrize("order", (0, 1, 3))
def test_coordinates_on_ends_and_in_the_middle_are_scipys(mode: str, order: int) -> None:
    """Where two elements are as near, or the first and the last stand for each other."""
    for n in (1, 2, 3, 4, 7):
        x = np.random.default_rng(n).random(n)
        at = np.arange(-4 * n, 4 * n + 0.01, 0.25)
        made, wanted = (
            m.map_coordinates(x, [at], order=order, mode=mode, cval=-7.0, **more)
            for m, more in ((nd, {"precision": "float64"}), (sn, {}))
        )
        slack = 1e-9 if order < 3 else 5e-4  # scipy 1.17 begins its recursion of two elements 2e-4 beside its sum
        np.testing.assert_allclose(made, wanted, atol=slack, err_msg=f"{n} elements")


def test_arguments_of_calls_before_are_not_taken_for_these() -> None:
    """Their texts are kept: numbers that are equal, or have the same bits, are not the same argument."""
    x = image((9, 8), "f4")
    for size in (3, 1, np.int64(1), 2):
        expect_same(nd.uniform_filter(x, size), sn.uniform_filter(x, int(size)))
    for no_size in (True, 1.5):
        with pytest.raises((TypeError, ValueError)):
            nd.uniform_filter(x, no_size)
    one = np.int64(np.array(1.0).view("i8"))
    for shift in (np.float64(1.0), 1.0, 1, [1, 2], (1.0, 2), np.array([1, 2]), [np.float32(1), 2]):
        expect_same(nd.shift(x, shift, order=1), sn.shift(x, shift, order=1))
    assert nd.shift(x, one, order=0, cval=5).max() == 5  # beyond all elements
