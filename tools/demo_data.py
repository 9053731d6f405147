#!/usr/bin/env python3
"""Writes the demo's input with zarr-python: a made microscopy volume as an OME-Zarr 0.5 image, zstd in shards.

    demo_data.py OUT [--shape Z Y X] [--seed N]

The volume is what a camera sees of stained nuclei: gaussian blobs of several sizes on a background, 100 counts of
camera offset, shot noise (Poisson, by its normal approximation) and 3 counts of read noise.  Same seed, same bytes.
"""

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import zarr

CAMERA_OFFSET = 100.0
READ_NOISE = 3.0
SCALE_UM = (2.0, 0.65, 0.65)  # voxel size along z, y, x


def volume(shape: tuple[int, int, int], seed: int) -> np.ndarray:
    """uint16 volume of `shape` (z, y, x)."""
    rng = np.random.default_rng(seed)
    nuclei = max(8, int(np.prod(shape) // 200_000))
    light = np.full(shape, 20.0, np.float32)
    extent = np.asarray(shape)
    for _ in range(nuclei):
        centre = rng.random(3) * extent
        sigma = (4 + 8 * rng.random()) * np.asarray([0.5, 1.0, 1.0])
        peak = 150 + 900 * rng.random()
        low = np.maximum(0, np.floor(centre - 4 * sigma)).astype(int)
        high = np.minimum(extent, np.ceil(centre + 4 * sigma) + 1).astype(int)
        profile = [
            np.exp(-0.5 * ((np.arange(a, b) - c) / s) ** 2).astype(np.float32)
            for a, b, c, s in zip(low, high, centre, sigma, strict=True)
        ]
        box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        light[box] += peak * profile[0][:, None, None] * profile[1][:, None] * profile[2]
    out = np.empty(shape, np.uint16)
    for z in range(shape[0]):  # plane by plane: the noise needs little memory
        noise = rng.standard_normal((2, *shape[1:]), dtype=np.float32)
        plane = light[z] + noise[0] * np.sqrt(light[z]) + READ_NOISE * noise[1] + CAMERA_OFFSET
        out[z] = np.clip(np.rint(plane), 0, 65535)
    return out


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
    array[:] = volume(shape, seed)
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
