#!/usr/bin/env python3
"""Writes the demo's input with zarr-python: a made microscopy volume as an OME-Zarr 0.5 image, zstd in shards.

    demo_data.py OUT [--shape Z Y X] [--seed N]

The volume is what a camera sees of stained nuclei: gaussian blobs of several sizes on a background, 100 counts of
camera offset, shot noise (Poisson, by its normal approximation) and 3 counts of read noise.  Same seed, same bytes.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import zarr

CAMERA_OFFSET = 100.0
READ_NOISE = 3.0
SCALE_UM = (2.0, 0.65, 0.65)  # voxel size along z, y, x


def planes(shape: tuple[int, int, int], seed: int) -> Iterator[np.ndarray]:
    """The volume of `shape` (z, y, x) as uint16 planes, first to last."""
    rng = np.random.default_rng(seed)
    nuclei = max(8, int(np.prod(shape)) // 400_000)
    centre = rng.random((nuclei, 3)) * shape
    sigma = (4 + 8 * rng.random((nuclei, 1))) * (0.5, 1.0, 1.0)
    peak = 150 + 900 * rng.random(nuclei)
    # A blob is a product of three profiles, so a plane is a product of two matrices.
    profile_z, profile_y, profile_x = (
        np.exp(-0.5 * ((np.arange(n) - centre[:, [axis]]) / sigma[:, [axis]]) ** 2).astype(np.float32)
        for axis, n in enumerate(shape)
    )

    def plane(z: int) -> np.ndarray:
        near = profile_z[:, z] > 1e-4
        weight = (peak * profile_z[:, z]).astype(np.float32)[near, None]
        light = (profile_y[near] * weight).T @ profile_x[near] + np.float32(20)
        noise = np.random.default_rng((seed, z)).standard_normal((2, *shape[1:]), dtype=np.float32)
        light = light + noise[0] * np.sqrt(light) + np.float32(READ_NOISE) * noise[1] + np.float32(CAMERA_OFFSET)
        return np.clip(np.rint(light), 0, 65535).astype(np.uint16)

    workers = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(workers) as pool:  # NumPy lets go of the GIL; a few planes are made ahead, not all
        for first in range(0, shape[0], 4 * workers):
            yield from pool.map(plane, range(first, min(first + 4 * workers, shape[0])))


def multiscale(name: str) -> dict:
    """The OME-NGFF 0.5 metadata of a one-level image."""
    return {
        "version": "0.5",
        "multiscales": [
            {
                "name": name,
                "axes": [{"name": axis, "type": "space", "unit": "micrometer"} for axis in "zyx"],
                "datasets": [
                    {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": list(SCALE_UM)}]},
                ],
            }
        ],
    }


def write(out: Path, shape: tuple[int, int, int], seed: int) -> None:
    """Writes the store beside its place and moves it there when it is whole."""
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    group = zarr.open_group(part, mode="w", zarr_format=3, attributes={"ome": multiscale("nuclei")})
    chunk = tuple(min(64, n) for n in shape)
    array = group.create_array(
        "0",
        shape=shape,
        dtype="uint16",
        chunks=chunk,
        shards=tuple(2 * n for n in chunk),
        compressors=zarr.codecs.ZstdCodec(level=3),
        dimension_names=["z", "y", "x"],
        fill_value=0,
    )
    volume = np.empty(shape, np.uint16)
    for z, plane in enumerate(planes(shape, seed)):
        volume[z] = plane
    array[:] = volume
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--shape", type=int, nargs=3, default=(256, 512, 512), metavar=("Z", "Y", "X"))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    shape = tuple(args.shape)
    write(args.out, shape, args.seed)
    print(
        " x ".join(map(str, shape)), f"uint16, OME-Zarr 0.5, zstd in shards, written by zarr-python {zarr.__version__}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
