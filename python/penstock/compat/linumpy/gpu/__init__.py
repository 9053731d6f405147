"""As ``linumpy.gpu``: Zarr arrays into the memory of a GPU, and interpolation there."""

from penstock.compat.linumpy.gpu.interpolation import (
    affine_transform,
    apply_displacement_field,
    map_coordinates,
    resample_volume,
    resize,
)
from penstock.compat.linumpy.gpu.raw_zarr import check_raw_zarr, read_raw_zarr
from penstock.compat.linumpy.gpu.zarr import gpu_zarr_context, read_zarr_to_gpu

__all__ = [
    "affine_transform",
    "apply_displacement_field",
    "check_raw_zarr",
    "gpu_zarr_context",
    "map_coordinates",
    "read_raw_zarr",
    "read_zarr_to_gpu",
    "resample_volume",
    "resize",
]
