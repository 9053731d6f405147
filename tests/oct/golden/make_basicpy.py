"""Writes basicpy_flatfield.npy: what BaSiCPy makes of the images of test_basic.cpp.

python make_basicpy.py        needs basicpy (written with 1.2.0)
"""

from pathlib import Path

import numpy as np
from basicpy import BaSiC

TILES, ROWS, COLS = 24, 40, 48


def unit(i: np.ndarray) -> np.ndarray:
    """Numbers of [0, 1) that look like chance: MurmurHash3's finaliser of an index."""
    x = (i.astype(np.uint64) * 2654435761) & 0xFFFFFFFF
    for shift, by in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x ^= x >> np.uint64(shift)
        x = (x * by) & 0xFFFFFFFF
    x ^= x >> np.uint64(16)
    return x.astype(np.float64) / 2**32


def images() -> np.ndarray:
    r, c = np.meshgrid(np.arange(ROWS), np.arange(COLS), indexing="ij")
    y, x = 2 * r / (ROWS - 1) - 1, 2 * c / (COLS - 1) - 1
    field = 1 - 0.25 * (y * y + x * x) + 0.1 * x
    made = []
    for n in range(TILES):
        noise = unit(n * ROWS * COLS + r * COLS + c)
        image = field * (60 + 5 * n) * (0.9 + 0.2 * noise)
        # Something bright in each tile, elsewhere each time.
        at = unit(np.array([1000003 + 2 * n, 1000004 + 2 * n]))
        far = (r - at[0] * ROWS) ** 2 + (c - at[1] * COLS) ** 2
        image[far < 36] += 200
        made.append(image)
    return np.array(made, np.float32)


if __name__ == "__main__":
    basic = BaSiC(fitting_mode="approximate", get_darkfield=False, working_size=None)
    basic.fit(images())
    flat = basic.flatfield / basic.flatfield.mean()
    np.save(Path(__file__).parent / "basicpy_flatfield.npy", flat.astype(np.float32))
