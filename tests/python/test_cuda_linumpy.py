"""penstock.compat.linumpy on a GPU: what the CPU gives, where the elements are."""

from __future__ import annotations

import pathlib
from typing import Any

import cupy
import numpy as np
import pytest
import zarr
from test_linumpy import raw_array, slices, tissue

import penstock as ps
from penstock.compat.linumpy.geometry.interface import find_tissue_interface
from penstock.compat.linumpy.gpu import gpu_zarr_context, read_raw_zarr, read_zarr_to_gpu
from penstock.compat.linumpy.gpu.interpolation import (
    affine_transform,
    apply_displacement_field,
    map_coordinates,
    resample_volume,
    resize,
)
from penstock.compat.linumpy.mosaic.stacking import find_z_overlap


def both(function: Any, x: Any, *arguments: Any, **how: Any) -> None:
    """Of a CuPy array a CuPy array, of NumPy's a NumPy array; the same as the CPU's."""
    wanted = function(x, *arguments, use_gpu=False, **how)
    made = function(cupy.asarray(x), *arguments, **how)
    assert isinstance(made, cupy.ndarray) and made.dtype == np.float32
    np.testing.assert_allclose(made.get(), wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
    home = function(x, *arguments, **how)
    assert isinstance(home, np.ndarray)
    np.testing.assert_array_equal(home, made.get())


@pytest.mark.parametrize("order", [0, 1, 3])
def test_interpolation_stays_where_the_elements_are(order: int) -> None:
    rng = np.random.default_rng(order)
    x = rng.random((22, 26, 18)).astype(np.float32)
    both(resize, x, (20, 12, 30), order=order)
    both(resample_volume, x, 10, 25, order=order)
    both(affine_transform, x, np.array([[1.1, 0.05, 0], [-0.1, 0.9, 0.02], [0, 0, 1]]), order=order)
    at = rng.uniform(-1, 22, (3, 500))
    both(map_coordinates, x, at, order=order)
    made = map_coordinates(cupy.asarray(x), cupy.asarray(at), order=order)
    np.testing.assert_array_equal(made.get(), map_coordinates(cupy.asarray(x), at, order=order).get())
    both(apply_displacement_field, x, rng.normal(0, 1, (3, *x.shape)), order=order)


def test_coordinates_on_the_device_need_the_image_there() -> None:
    with pytest.raises(ValueError, match="in host memory"):
        map_coordinates(np.ones((3, 3), "f4"), cupy.zeros((2, 5)), use_gpu=False)


@pytest.mark.parametrize("use_log", [True, False])
def test_interface(use_log: bool) -> None:
    vol = tissue((90, 70, 60))
    vol[3, 4] = np.nan
    vol[10:20, 10:20] = 7.0  # nothing rises: the first of equals
    wanted = find_tissue_interface(vol, 1, 2, use_log)
    assert (wanted[10:20, 10:20] == 1).all() and wanted[3, 4] == 1
    for made in (
        find_tissue_interface(vol, 1, 2, use_log, use_gpu=True),
        find_tissue_interface(cupy.asarray(vol), 1, 2, use_log),
        find_tissue_interface(ps.asarray(vol).to("cuda"), 1, 2, use_log),
    ):
        assert isinstance(made, np.ndarray) and made.dtype == np.int64
        assert (made[10:20, 10:20] == 1).all() and made[3, 4] == 1
        assert (made == wanted).mean() >= 0.999 and np.abs(made - wanted).max() <= 1
    vol = tissue((90, 70, 60))
    for how in ({"s_xy": 7}, {"s_xy": 7, "detect_cutting_errors": True}):
        made, wanted = (find_tissue_interface(x, use_log=use_log, **how) for x in (cupy.asarray(vol), vol))
        assert (made == wanted).mean() >= 0.999 and np.abs(made - wanted).max() <= 1
    mask = np.random.default_rng(0).random(vol.shape) > 0.3
    made, wanted = (find_tissue_interface(x, 7, use_log=use_log, mask=mask) for x in (cupy.asarray(vol), vol))
    assert (made == wanted).mean() >= 0.999


@pytest.mark.parametrize("step", [15, 20, 23])
def test_overlap(step: int) -> None:
    fixed, moving = slices(step, step=step)
    wanted = find_z_overlap(fixed, moving, 0.2, 0.1, 10)
    for made in (
        find_z_overlap(fixed, moving, 0.2, 0.1, 10, use_gpu=True),
        find_z_overlap(cupy.asarray(fixed), cupy.asarray(moving), 0.2, 0.1, 10),
    ):
        assert made[0] == wanted[0] and made[1] == pytest.approx(wanted[1], abs=1e-4)


@pytest.mark.parametrize("prefer", ["auto", "kvikio", "zarr-gpu"])
@pytest.mark.parametrize("kind", ["raw v3", "raw v2", "zstd", "shards", "blosc", "big endian"])
def test_arrays_are_read(tmp_path: pathlib.Path, kind: str, prefer: Any, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "a.zarr"
    how: dict[str, Any] = {
        "raw v3": {"codecs": []},
        "raw v2": {"codecs": [], "zarr_format": 2},
        "zstd": {},
        "shards": {"shards": (32, 32, 32)},
        "blosc": {"codecs": ["blosc"]},
        "big endian": {"codecs": [], "dtype": ">f4"},
    }[kind]
    x = np.random.default_rng(0).random((40, 50, 60)).astype(np.float32)
    ps.create(path, **({"shape": x.shape, "dtype": "f4", "chunks": (16, 16, 16)} | how))[...] = x
    made = read_zarr_to_gpu(path, prefer=prefer)
    assert isinstance(made, cupy.ndarray)
    np.testing.assert_array_equal(made.get(), x)
    assert not [w for w in recwarn if "by way of" in str(w.message)]
    if kind.startswith("raw"):
        np.testing.assert_array_equal(read_raw_zarr(path).numpy(), x)
    else:
        with pytest.raises(NotImplementedError):
            read_raw_zarr(path)


def test_chunks_that_are_missing_or_cut_off(tmp_path: pathlib.Path) -> None:
    x = raw_array(tmp_path / "a.zarr", 3)
    (tmp_path / "a.zarr/c/0/1/0").unlink()
    x[0:3, 4:8] = 9
    np.testing.assert_array_equal(read_zarr_to_gpu(tmp_path / "a.zarr").get(), x)
    chunk = tmp_path / "a.zarr/c/0/0/0"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    for read in (read_zarr_to_gpu, read_raw_zarr):
        with pytest.raises(ps.CorruptDataError, match="c/0/0/0"):
            read(tmp_path / "a.zarr")


def test_the_context_gives_arrays_of_the_device(tmp_path: pathlib.Path) -> None:
    x = raw_array(tmp_path / "a.zarr", 3)
    with gpu_zarr_context():
        made = zarr.open_array(str(tmp_path / "a.zarr"), mode="r")[1:5]
    assert isinstance(made, cupy.ndarray)
    np.testing.assert_array_equal(made.get(), x[1:5])
    assert isinstance(zarr.open_array(str(tmp_path / "a.zarr"), mode="r")[1:5], np.ndarray)
