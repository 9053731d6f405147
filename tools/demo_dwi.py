"""The demo's diffusion volume: bundles along x and along y that cross, as NIfTI with gradients beside it.

demo_dwi.py FOLDER    writes FOLDER/dwi.nii, dwi.bval, dwi.bvec
"""

import struct
import sys
from pathlib import Path

import numpy as np

SHAPE = (48, 48, 16)
DIRECTIONS = 64
VOXEL_MM = 2.0
B = 2000
NOISE = 20  # of a signal of 1000


def gradients() -> np.ndarray:
    """A golden spiral over the half sphere."""
    k = np.arange(DIRECTIONS)
    z = (k + 0.5) / DIRECTIONS
    phi = np.pi * (3 - 5**0.5) * k
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], 1)


def signal(vectors: np.ndarray) -> np.ndarray:
    out = np.ones((*SHAPE, DIRECTIONS + 1))
    out[..., 1:] = np.exp(-B * 0.9e-3)

    def along(axis: int) -> np.ndarray:
        return np.exp(-B * (0.3e-3 + 1.4e-3 * vectors[:, axis] ** 2))

    out[:, 16:32, 2:-2, 1:] = along(0)
    out[16:32, :, 2:-2, 1:] = along(1)
    out[16:32, 16:32, 2:-2, 1:] = (along(0) + along(1)) / 2
    noisy = 1000 * out + np.random.default_rng(1).normal(0, NOISE, out.shape)
    return np.clip(np.rint(noisy), 0, 32767).astype("<i2")


def header() -> bytes:
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 4, *SHAPE, DIRECTIONS + 1, 1, 1, 1)
    struct.pack_into("<2h", head, 70, 4, 16)
    struct.pack_into("<8f", head, 76, 1, VOXEL_MM, VOXEL_MM, VOXEL_MM, 1, 1, 1, 1)
    struct.pack_into("<f", head, 108, 352)
    struct.pack_into("<h", head, 254, 1)
    for row in range(3):
        values = [VOXEL_MM if column == row else 0 for column in range(3)]
        struct.pack_into("<4f", head, 280 + 16 * row, *values, -VOXEL_MM * SHAPE[row] / 2)
    head[344:347] = b"n+1"
    return bytes(head)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    vectors = gradients()
    (folder / "dwi.nii").write_bytes(header() + signal(vectors).tobytes(order="F"))
    (folder / "dwi.bval").write_text(" ".join(["0"] + [str(B)] * DIRECTIONS) + "\n")
    np.savetxt(folder / "dwi.bvec", np.concatenate([np.zeros((1, 3)), vectors]), "%.9f")


if __name__ == "__main__":
    main()
