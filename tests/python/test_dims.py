"""What arrays say of their dimensions, and of elements that were not measured."""

import pathlib
import struct
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import Dimension


def test_names_alone(tmp_path: pathlib.Path) -> None:
    made: dict[str, Any] = {"shape": (4, 6), "dtype": "u2", "chunks": (2, 3)}
    assert penstock.create(tmp_path / "a", **made).dims == (Dimension(), Dimension())
    named = penstock.create(tmp_path / "b", **made, dimension_names=["y", None])
    assert named.dims == (Dimension("y"), Dimension())
    assert named.nodata is None


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_level_has_the_axes_of_its_image(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    a = penstock.create(tmp_path / "a", shape=(8, 8), dtype="u2", chunks=(4, 4), zarr_format=zarr_format)
    axes = [penstock.Axis("y", "space", "micrometer"), penstock.Axis("x", "space", "micrometer")]
    penstock.write_pyramid(a, tmp_path / "i", levels=2, axes=axes, scale=[2.0, 0.5])
    image = penstock.open(tmp_path / "i")
    alone = penstock.open(tmp_path / "i" / "1")  # the store is the level: the image is in the directory above
    for level in (image["1"], alone):
        assert level.dims == (Dimension("y", "micrometer", 4.0, 1.0), Dimension("x", "micrometer", 1.0, 0.25))
    assert image["0"].dims[0].scale == 2.0


def test_nifti(tmp_path: pathlib.Path) -> None:
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, 4, 3, 2, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 4, 16)
    struct.pack_into("<8f", header, 76, 1, 2, 3, 4.5, 0, 0, 0, 0)
    struct.pack_into("<f", header, 108, 352)
    header[123] = 2
    header[344:347] = b"n+1"
    values = np.arange(24, dtype="<i2")
    (tmp_path / "a.nii").write_bytes(bytes(header) + values.tobytes())
    a = penstock.open(tmp_path / "a.nii")
    assert a.dims == tuple(Dimension(name, "millimeter", size) for name, size in zip("xyz", (2, 3, 4.5), strict=True))
    with pytest.raises(penstock.UnsupportedError, match="read, not written"):
        penstock.open(tmp_path / "a.nii", "r+")[...] = 0
    assert np.array_equal(a[...], values.reshape(2, 3, 4).T)
