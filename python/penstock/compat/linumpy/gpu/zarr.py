"""Zarr arrays into the memory of a GPU, chunks decoded there."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import penstock as ps
from penstock.compat.linumpy._device import cupy

__all__ = ["gpu_zarr_context", "read_zarr_to_gpu"]

Prefer = Literal["auto", "kvikio", "zarr-gpu"]


@contextlib.contextmanager
def gpu_zarr_context() -> Iterator[None]:
    """Arrays that zarr-python opens inside give CuPy arrays when they are sliced; penstock decodes their chunks on the device.

    errors: ImportError (zarr-python or CuPy is missing), RuntimeError (no GPU).
    """
    zarr = importlib.import_module("zarr")
    importlib.import_module("cupy")
    if cupy() is None:
        raise RuntimeError("gpu_zarr_context: there is no GPU")
    with zarr.config.enable_gpu(), zarr.config.set({"codec_pipeline.path": "penstock.zarr.CodecPipeline"}):
        yield


def read_zarr_to_gpu(path: str | os.PathLike[str], prefer: Prefer = "auto") -> Any:
    """All of an array in the memory of a GPU, complete on return.

    path: of an array, not of an image with levels.
    prefer: "kvikio": files straight to the device, where penstock decodes them; also what the reference refuses:
        compressed, sharded and big-endian arrays.  "zarr-gpu": by way of zarr-python in ``gpu_zarr_context``.
        "auto": the first, and where it ends with RuntimeError, OSError or NotImplementedError the second, with a warning
        that says why.
    returns: a CuPy array; without CuPy ("kvikio" only) a penstock.DeviceArray.
    errors: ValueError (another ``prefer``, a group, another format), FileNotFoundError; those of the way that is taken.
    """
    if prefer not in ("auto", "kvikio", "zarr-gpu"):
        raise ValueError(f"prefer is 'auto', 'kvikio' or 'zarr-gpu', not {prefer!r}")
    folder = pathlib.Path(path)
    if not any((folder / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup")):
        raise FileNotFoundError(f"{folder}: neither zarr.json nor .zarray is there")
    if prefer == "zarr-gpu":
        return _by_zarr(folder)
    try:
        return _straight(folder)
    except (RuntimeError, OSError, NotImplementedError) as error:
        if prefer == "kvikio":
            raise
        warnings.warn(f"{folder}: read by way of zarr-python: {error}", UserWarning, stacklevel=2)
        return _by_zarr(folder)


def _straight(folder: pathlib.Path) -> Any:
    node = ps.open(folder)
    if not isinstance(node, ps.Array):
        raise ValueError(f"{folder}: a group, not an array; give the path of one of its arrays")
    made = node.read(device="cuda")
    module = cupy()
    return made if module is None else module.asarray(made)


def _by_zarr(folder: pathlib.Path) -> Any:
    with gpu_zarr_context():
        zarr = importlib.import_module("zarr")
        try:
            array = zarr.open_array(str(folder), mode="r")
        except zarr.errors.NodeTypeValidationError as error:
            raise ValueError(f"{folder}: a group, not an array; give the path of one of its arrays") from error
        made = array[...]
    importlib.import_module("cupy").cuda.Device().synchronize()
    return made
