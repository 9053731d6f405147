"""What random comparison with scipy.ndimage has found, and must not come back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage as sn
from images import expect_same

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
