"""What tracking takes as files, from memory: images and arrays in a temporary folder."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np

IMAGES = ("mask", "stop", "seed_image")
ARRAYS = ("bval", "bvec", "seeds_file")
_CODES = {"u1": 2, "i2": 4, "i4": 8, "f4": 16, "f8": 64, "i1": 256, "u2": 512, "u4": 768, "i8": 1024, "u8": 1280}


class Inputs:
    """Paths of what is given; arrays are written to a folder that goes with this."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Inputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def image(self, name: str, what: Any) -> str:
        """A path, or an image with ``dataobj`` and ``affine`` as nibabel's."""
        if isinstance(what, str | os.PathLike):
            return os.fspath(what)
        if not hasattr(what, "dataobj") or not hasattr(what, "affine"):
            raise TypeError(
                f"{name}: must be a path, or an image with `dataobj` and `affine`, not {type(what).__name__}"
            )
        path = self._path(f"{name}.nii")
        write_nifti(path, np.asarray(what.dataobj), np.asarray(what.affine, float))
        return path

    def numbers(self, name: str, what: Any) -> str:
        """A path, or an array of one or two dimensions."""
        if isinstance(what, str | os.PathLike):
            return os.fspath(what)
        path = self._path(f"{name}.txt")
        np.savetxt(path, np.atleast_2d(np.asarray(what, float)), "%.17g")
        return path

    def options(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Options, with paths for what is in memory."""
        out = dict(named)
        for name in IMAGES + ARRAYS:
            if out.get(name) is not None:
                out[name] = self.image(name, out[name]) if name in IMAGES else self.numbers(name, out[name])
        return out

    def _path(self, name: str) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="penstock-")
        return os.path.join(self._folder.name, name)


def write_nifti(path: str, values: np.ndarray, affine: np.ndarray) -> None:
    """NIfTI-1, one file, little endian; values of bool as uint8, of other types as they are.  Errors: TypeError."""
    if values.dtype == bool:
        values = values.astype(np.uint8)
    code = _CODES.get(values.dtype.str[1:])
    if code is None:
        raise TypeError(f"images of {values.dtype} are not written as NIfTI")
    if affine.shape != (4, 4):
        raise ValueError(f"affine: must be (4, 4), not {affine.shape}")
    if max(values.shape, default=0) > 32767:
        raise ValueError(f"shape {values.shape}: NIfTI-1 has at most 32767 voxels along an axis")
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, values.ndim, *values.shape, *[1] * (7 - values.ndim))
    struct.pack_into("<2h", head, 70, code, 8 * values.itemsize)
    struct.pack_into("<8f", head, 76, 1, *np.linalg.norm(affine[:3, :3], axis=0), 1, 1, 1, 1)
    struct.pack_into("<3f", head, 108, 352, 1, 0)
    head[123] = 2  # millimetres
    struct.pack_into("<h", head, 254, 2)
    struct.pack_into("<12f", head, 280, *affine[:3].ravel())
    head[344:348] = b"n+1\0"
    with open(path, "wb") as file:
        file.write(head)
        for i in range(values.shape[-1]):  # a volume at a time
            file.write(values[..., i].astype(values.dtype.newbyteorder("<"), copy=False).tobytes("F"))
