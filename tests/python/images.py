"""Images for the tests of operators, and when two results are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

MODES = ("reflect", "mirror", "nearest", "constant", "wrap", "grid-mirror", "grid-constant", "grid-wrap")
TYPES = ("f4", "f8", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "?", ">f4", ">u2", ">i8")
SHAPES = ((1,), (40,), (7, 1, 5), (21, 13, 34), (3, 2, 3, 2, 3), (1, 97), (64, 2))


def image(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).random(shape) * 120).astype(dtype)


def expect_same(made: Any, wanted: Any, passes: int = 1) -> None:
    """Order statistics and sums of whole numbers are exact; fractions are cut to whole numbers after every pass."""
    assert made.dtype == wanted.dtype.newbyteorder("=")
    assert made.shape == wanted.shape
    if made.dtype.kind == "f":
        slack = 2e-5 if made.dtype.itemsize == 4 else 1e-9
        np.testing.assert_allclose(made, wanted, rtol=0, atol=slack * max(np.abs(wanted).max(initial=0), 1))
    else:
        assert np.abs(made.astype(float) - wanted.astype(float)).max(initial=0) <= passes
