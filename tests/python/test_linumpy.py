"""penstock.compat.linumpy: what programs written for linumpy call, beside the formulas in scipy and NumPy."""

from __future__ import annotations

import json
import math
import pathlib
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.ndimage
import zarr

import penstock as ps
from penstock.compat.linumpy.geometry.interface import find_tissue_interface
from penstock.compat.linumpy.gpu import check_raw_zarr, gpu_zarr_context, read_raw_zarr, read_zarr_to_gpu
from penstock.compat.linumpy.gpu import zarr as gpu_zarr
from penstock.compat.linumpy.gpu.interpolation import (
    affine_transform,
    apply_displacement_field,
    map_coordinates,
    resample_volume,
    resize,
)
from penstock.compat.linumpy.mosaic.stacking import find_z_overlap

Floats = npt.NDArray[Any]


def tissue(shape: tuple[int, int, int] = (40, 30, 60), seed: int = 0) -> Floats:
    """Water above tissue whose surface is tilted and rough: (X, Y, Z), float32."""
    rng = np.random.default_rng(seed)
    x, y, z = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    surface = 18 + 6 * x / shape[0] - 4 * y / shape[1]
    light = 5 + 95 / (1 + np.exp(-(z - surface))) * np.exp(-0.02 * np.maximum(z - surface, 0))
    return (light * rng.gamma(8, 1 / 8, shape)).astype(np.float32)


def interface_by_scipy(vol: Floats, s_xy: float, s_z: float, use_log: bool) -> Floats:
    v = vol.astype(np.float64)
    if use_log:
        v = np.where(v > 0, np.log(np.where(v > 0, v, 1)), v)
    if int(s_xy) > 1:
        v = scipy.ndimage.uniform_filter(v, (int(s_xy), int(s_xy), 1))
    rise = scipy.ndimage.gaussian_filter1d(v, s_z, axis=-1, order=1)
    return np.ceil(rise.argmax(axis=-1) + 0.5 * s_z).astype(np.int64)


def overlap_by_loop(fixed: Floats, moving: Floats, interval: float, reach: float, res: float) -> tuple[int, float]:
    depth = min(len(fixed), len(moving))
    expected, around = depth - int(interval * 1000 / res), int(reach * 1000 / res)
    low, high = max(1, expected - around), min(depth, expected + around)
    margin = min(fixed.shape[1:]) // 4
    inner = np.s_[:, margin : fixed.shape[1] - margin, margin : fixed.shape[2] - margin]
    best, best_score = low, -np.inf
    for n in range(low, high + 1):
        a, b = fixed[-n:][inner].astype("f8"), moving[:n][inner].astype("f8")
        a, b = (a - a.mean()) / (a.std() + 1e-8), (b - b.mean()) / (b.std() + 1e-8)
        if (a * b).mean() > best_score:
            best, best_score = n, (a * b).mean()
    return best, float(best_score)


# Interpolation.


def resized_by_scipy(x: Floats, shape: tuple[int, ...], order: int, smooth: bool) -> Floats:
    """Corner on corner, as the reference; the coordinates do not run past the end."""
    y = x.astype(np.float64)
    if smooth:
        y = scipy.ndimage.gaussian_filter(y, [max(0, (n / m - 1) / 2) for n, m in zip(x.shape, shape, strict=True)])
    lines = [np.linspace(0, n - 1, m) if m > 1 else np.zeros(1) for n, m in zip(x.shape, shape, strict=True)]
    at = [np.minimum(line, n - 1) for line, n in zip(lines, x.shape, strict=True)]
    return scipy.ndimage.map_coordinates(y, np.meshgrid(*at, indexing="ij"), order=order, mode="mirror")


@pytest.mark.parametrize("shape", [(20, 12, 9), (22, 26, 18), (44, 30, 7), (1, 26, 18)])
@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("smooth", [True, False])
def test_resize_keeps_corners(shape: tuple[int, ...], order: int, smooth: bool) -> None:
    x = np.random.default_rng(1).random((22, 26, 18)) * 100
    if order == 0:  # halves fall to one side or the other by the last bit of a coordinate
        x = np.rint(x)
    made = resize(x, shape, order=order, anti_aliasing=smooth)
    assert made.shape == shape and made.dtype == np.float32
    wanted = resized_by_scipy(x, shape, order, smooth)
    if order == 0:
        assert (np.abs(made - wanted) < 1e-3).mean() > 0.5
    else:
        np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-2 if order == 3 else 1e-4)


@pytest.mark.parametrize(("n", "m"), [(22, 20), (26, 12), (400, 75)])
def test_resize_has_a_last_plane_where_scipy_loses_it(n: int, m: int) -> None:
    x = np.ones((n, 3), np.float32)
    assert np.all(resize(x, (m, 3)) == pytest.approx(1))


def test_affine_transform() -> None:
    x = np.random.default_rng(2).random((17, 23, 9)).astype(np.float32)
    matrix = np.array([[1.1, 0.05, 0], [-0.1, 0.9, 0.02], [0, 0, 1]])
    for order in (0, 1, 3):
        made = affine_transform(x, matrix, order=order)
        wanted = scipy.ndimage.affine_transform(x, matrix, order=order, mode="constant")
        assert made.dtype == np.float32
        np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-5)
    assert affine_transform(x, matrix, output_shape=(5, 6, 7)).shape == (5, 6, 7)
    assert affine_transform(x.astype("f8"), matrix).dtype == np.float32
    assert affine_transform(x.astype("f8"), matrix, use_gpu=False).dtype == np.float64
    with pytest.raises(RuntimeError, match="matrix"):
        affine_transform(x, np.eye(2))


def test_map_coordinates_and_displacements() -> None:
    rng = np.random.default_rng(3)
    x = rng.random((12, 15)).astype(np.float32)
    at = rng.uniform(-2, 16, (2, 50))
    np.testing.assert_allclose(
        map_coordinates(x, at), scipy.ndimage.map_coordinates(x, at, order=1, mode="constant"), atol=1e-5
    )
    field = rng.normal(0, 1, (2, 12, 15))
    grid = np.indices(x.shape) + field
    np.testing.assert_allclose(
        apply_displacement_field(x, field), scipy.ndimage.map_coordinates(x, grid, order=1), atol=1e-5
    )
    # Beyond the ends there is nothing, not half of the last element.
    np.testing.assert_array_equal(map_coordinates(x, np.array([[11.001, -0.001], [3.0, 3.0]])), [0, 0])
    with pytest.raises(RuntimeError, match="order"):
        map_coordinates(x, at, order=6)


def test_resample_volume_cuts_shapes_off() -> None:
    x = np.random.default_rng(4).random((10, 21, 33)).astype(np.float32)
    made = resample_volume(x, (10, 10, 10), 20)
    assert made.shape == (5, 10, 16)
    np.testing.assert_array_equal(made, resize(x, (5, 10, 16)))
    assert resample_volume(x, 1, 1000).shape == (1, 1, 1)


@pytest.mark.parametrize("shape", [(3, 4), (0, 4, 4), (4, 4, 4, 4)])
def test_resize_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="output_shape"):
        resize(np.ones((4, 4, 4)), shape)


# The interface.


@pytest.mark.parametrize(("s_xy", "s_z", "use_log"), [(15, 2, True), (3, 2, False), (4.9, 1.3, True), (1, 3, True)])
def test_interface_is_where_the_formula_says(s_xy: float, s_z: float, use_log: bool) -> None:
    vol = tissue()
    made = find_tissue_interface(vol, s_xy, s_z, use_log)
    wanted = interface_by_scipy(vol, s_xy, s_z, use_log)
    assert made.dtype == np.int64 and made.shape == vol.shape[:2]
    assert (made == wanted).mean() >= 0.999 and np.abs(made - wanted).max() <= 1


def test_interface_finds_the_surface() -> None:
    vol = tissue((40, 30, 60))
    x, y = np.meshgrid(np.arange(40), np.arange(30), indexing="ij")
    off = find_tissue_interface(vol, 9, 2, use_log=False) - (18 + 6 * x / 40 - 4 * y / 30)
    assert np.median(np.abs(off - 1)) <= 1  # half of s_z deeper, as it is defined


def test_interface_does_not_depend_on_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    vol = tissue()
    whole = find_tissue_interface(vol, 7)
    from penstock.compat.linumpy.geometry import interface

    for rows in (1, 9, 13):
        monkeypatch.setattr(interface, "_SLAB_BYTES", rows * 4 * 30 * 60)
        np.testing.assert_array_equal(find_tissue_interface(vol, 7), whole)


def test_interface_of_whole_numbers_zeros_and_nan() -> None:
    vol = tissue()
    counted = np.rint(vol).astype(np.uint16)
    np.testing.assert_array_equal(find_tissue_interface(counted), find_tissue_interface(counted.astype("f4")))
    assert (find_tissue_interface(np.zeros((4, 5, 6), "f4")) == 1).all()  # nowhere steeper than at 0
    for same in (7.0, 0.3, 1e-3, 123456.7):  # nor anywhere by what rounding leaves
        for use_log in (True, False):
            assert (find_tissue_interface(np.full((4, 5, 31), same, "f4"), 3, 2.3, use_log) == 2).all()
    step = np.zeros((1, 1, 20), "f4")
    step[..., 10:] = 1
    assert (
        find_tissue_interface(step, 1, 2, use_log=False)[0, 0] == 10 + 1 - 1 + 0
    )  # between 9 and 10: the first of equals
    hole = tissue()
    hole[3, 4] = np.nan
    made = find_tissue_interface(hole, 1)
    assert made[3, 4] == 1
    np.testing.assert_array_equal(
        np.delete(made.ravel(), 3 * 30 + 4), np.delete(find_tissue_interface(vol, 1), 3 * 30 + 4)
    )


def test_interface_under_a_mask() -> None:
    vol = tissue((8, 6, 40))
    mask = np.random.default_rng(5).random(vol.shape) > 0.3
    mask[2, 3] = False
    mask[4, 4] = True
    made = find_tissue_interface(vol, 3, 2, mask=mask)
    smooth = scipy.ndimage.uniform_filter(np.log(vol.astype("f8")), (3, 3, 1))
    for i, j in np.ndindex(8, 6):
        rise = np.zeros(40)
        if mask[i, j].any():
            rise[mask[i, j]] = scipy.ndimage.gaussian_filter1d(smooth[i, j][mask[i, j]], 2, order=1)
        assert abs(made[i, j] - math.ceil(rise.argmax() + 1)) <= (1 if mask[i, j].any() else 0)
    np.testing.assert_array_equal(
        find_tissue_interface(vol, 3, 2, mask=np.ones(vol.shape, bool)), find_tissue_interface(vol, 3, 2)
    )


def test_interface_with_cutting_errors() -> None:
    vol = tissue()
    vol[5:10, 5:10, 4] = 1e6  # a glint above the tissue
    plain = find_tissue_interface(vol, 1, 2, use_log=False)
    made = find_tissue_interface(vol, 1, 2, use_log=False, detect_cutting_errors=True)
    largest = np.abs(scipy.ndimage.gaussian_filter1d(vol.astype("f8"), 2, axis=-1)).argmax(axis=-1)
    assert (made == np.minimum(plain, largest)).mean() > 0.999


def test_interface_of_a_stored_array(tmp_path: pathlib.Path) -> None:
    vol = tissue()
    a = ps.create(tmp_path / "a.zarr", shape=vol.shape, dtype="f4", chunks=(10, 30, 60))
    a[...] = vol
    np.testing.assert_array_equal(find_tissue_interface(a), find_tissue_interface(vol))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"vol": np.ones((3, 4))}, "three dimensions"),
        ({"vol": np.ones((3, 0, 4))}, "with elements"),
        ({"vol": np.ones((3, 4, 5)), "s_z": 0}, "s_z must be above 0"),
        ({"vol": np.ones((3, 4, 5)), "mask": np.ones((3, 4))}, "mask has shape"),
    ],
)
def test_interface_refuses(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        find_tissue_interface(**arguments)


# The overlap.


def slices(seed: int = 0, depth: int = 30, step: int = 20, side: int = 48) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    world = scipy.ndimage.gaussian_filter(rng.random((depth + step, side, side + 10)), 1.5) * 400 + 1000
    noise = rng.normal(0, 1, (2, depth, side, side + 10))
    return (world[:depth] + noise[0]).astype("f4"), (world[step:] + noise[1]).astype("f4")


@pytest.mark.parametrize("step", [15, 20, 23])
def test_overlap_is_that_of_the_loop(step: int) -> None:
    fixed, moving = slices(step, step=step)
    made = find_z_overlap(fixed, moving, 0.2, 0.1, 10)
    wanted = overlap_by_loop(fixed, moving, 0.2, 0.1, 10)
    assert made[0] == wanted[0] == 30 - step
    assert made[1] == pytest.approx(wanted[1], abs=1e-4)
    assert type(made[0]) is int and type(made[1]) is float


def test_overlap_in_bands_of_unlike_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.compat.linumpy.mosaic import stacking

    fixed, moving = slices(1, step=20)
    deeper = np.concatenate([fixed[:7], fixed])
    whole = find_z_overlap(deeper, moving, 0.2, 0.1, 10)
    assert whole[0] == overlap_by_loop(deeper, moving, 0.2, 0.1, 10)[0]
    monkeypatch.setattr(stacking, "_BAND_BYTES", 8 * 30 * 30 * 5)
    made = find_z_overlap(deeper, moving, 0.2, 0.1, 10)
    assert made[0] == whole[0] and made[1] == pytest.approx(whole[1], abs=1e-6)


def test_overlap_cuts_planes_off() -> None:
    fixed, moving = slices(2)
    # 0.29 * 1000 / 10 is 28.999999999999996: the reference takes 28.
    assert find_z_overlap(fixed, moving, 0.29, 0.0, 10) == (30 - int(0.29 * 1000 / 10), 0.0)
    assert find_z_overlap(fixed, moving, 0.5, 0.1, 10) == (-20, 0.0)  # a gap: nothing to look for


def test_overlap_refuses() -> None:
    fixed, moving = slices(3)
    with pytest.raises(ValueError, match="planes of"):
        find_z_overlap(fixed, moving[:, 1:], 0.2, 0.1, 10)
    with pytest.raises(ValueError, match="resolution_um"):
        find_z_overlap(fixed, moving, 0.2, 0.1, 0)
    with pytest.raises(ValueError, match="three dimensions"):
        find_z_overlap(fixed[0], moving, 0.2, 0.1, 10)


def test_a_gpu_that_is_asked_for_and_not_there_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.compat.linumpy import _device

    monkeypatch.setattr(_device, "cupy", lambda: None)
    fixed, moving = slices(4)
    with pytest.warns(UserWarning, match="GPU requested but not available"):
        assert find_z_overlap(fixed, moving, 0.2, 0.1, 10, use_gpu=True) == find_z_overlap(fixed, moving, 0.2, 0.1, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resize(fixed, (3, 4, 5))  # here a GPU is the default, and none is nothing to warn of


# Arrays in stores.


def raw_array(path: pathlib.Path, fmt: int, dtype: str = "f4") -> Floats:
    x = np.arange(7 * 11 * 5).reshape(7, 11, 5).astype(dtype)
    a = ps.create(path, shape=x.shape, dtype=dtype, chunks=(3, 4, 5), codecs=[], zarr_format=fmt, fill_value=9)
    a[...] = x
    return x


@pytest.mark.parametrize("fmt", [2, 3])
@pytest.mark.parametrize("dtype", ["u1", "<i2", "f4", "f8"])
def test_raw_arrays_are_read(tmp_path: pathlib.Path, fmt: int, dtype: str) -> None:
    x = raw_array(tmp_path / "a.zarr", fmt, dtype)
    np.testing.assert_array_equal(read_raw_zarr(tmp_path / "a.zarr", device="cpu"), x)
    gone = tmp_path / "a.zarr" / ("0/1/0" if fmt == 2 else "c/0/1/0")
    if fmt == 2 and not gone.exists():
        gone = tmp_path / "a.zarr/0.1.0"
    gone.unlink()
    x[0:3, 4:8] = 9
    np.testing.assert_array_equal(read_raw_zarr(tmp_path / "a.zarr", device="cpu"), x)


def test_raw_arrays_that_are_cut_off_are_told(tmp_path: pathlib.Path) -> None:
    raw_array(tmp_path / "a.zarr", 3)
    chunk = tmp_path / "a.zarr/c/0/0/0"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with pytest.raises(ps.CorruptDataError, match="c/0/0/0"):
        read_raw_zarr(tmp_path / "a.zarr", device="cpu")


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"zarr_format": 2}, ValueError, "zarr_format is 2"),
        ({"node_type": "group"}, ValueError, "not an array"),
        ({"codecs": [{"name": "bytes"}, {"name": "zstd"}]}, NotImplementedError, "codec 'zstd'"),
        ({"codecs": [{"name": "transpose"}, {"name": "bytes"}]}, NotImplementedError, "codec 'transpose'"),
        ({"codecs": [{"name": "sharding_indexed"}]}, NotImplementedError, "codec 'sharding_indexed'"),
        ({"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]}, NotImplementedError, "big endian"),
        ({"chunk_grid": {"name": "rectilinear"}}, NotImplementedError, "chunk grid 'rectilinear'"),
        ({"chunk_key_encoding": {"name": "odd"}}, NotImplementedError, "chunk key encoding 'odd'"),
        ({"data_type": {"name": "struct"}}, NotImplementedError, "data type"),
        ({"codecs": {"name": "bytes"}}, ValueError, "codecs are no list"),
        ({"codecs": [{"name": "bytes", "configuration": "big"}, "zstd"]}, NotImplementedError, "codec 'zstd'"),
    ],
)
def test_raw_v3_refusals(tmp_path: pathlib.Path, change: dict[str, Any], kind: type[Exception], words: str) -> None:
    raw_array(tmp_path / "a.zarr", 3)
    path = tmp_path / "a.zarr/zarr.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(kind, match=words):
        check_raw_zarr(tmp_path / "a.zarr")


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"zarr_format": 3}, ValueError, "zarr_format is 3"),
        ({"compressor": {"id": "zstd"}}, NotImplementedError, "compressor"),
        ({"filters": [{"id": "delta"}]}, NotImplementedError, "filters"),
        ({"order": "F"}, NotImplementedError, "order 'F'"),
        ({"dtype": ">f4"}, NotImplementedError, "elements are >f4"),
        ({"dtype": [["a", "<f4"]]}, NotImplementedError, "data type"),
        ({"dtype": "<nonsense"}, ValueError, "nonsense"),
    ],
)
def test_raw_v2_refusals(tmp_path: pathlib.Path, change: dict[str, Any], kind: type[Exception], words: str) -> None:
    raw_array(tmp_path / "a.zarr", 2)
    path = tmp_path / "a.zarr/.zarray"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(kind, match=words):
        check_raw_zarr(tmp_path / "a.zarr")


def test_raw_metadata_that_is_none(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="neither zarr.json"):
        check_raw_zarr(tmp_path)
    for text in ("{", "[1]", "[" * 100000):
        (tmp_path / "zarr.json").write_text(text)
        with pytest.raises(ValueError, match="no JSON"):
            check_raw_zarr(tmp_path)


def test_read_to_gpu_refuses_before_it_looks_for_a_gpu(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="prefer is"):
        read_zarr_to_gpu(tmp_path, prefer="zarr")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="neither zarr.json"):
        read_zarr_to_gpu(tmp_path / "none")
    zarr.create_group(str(tmp_path / "g.zarr"))
    with pytest.raises(ValueError, match="a group, not an array"):
        read_zarr_to_gpu(tmp_path / "g.zarr")


@pytest.mark.parametrize("error", [RuntimeError("the driver"), OSError("the disk"), NotImplementedError("the codec")])
def test_only_auto_goes_another_way(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    raw_array(tmp_path / "a.zarr", 3)

    def fails(folder: pathlib.Path) -> Any:
        raise error

    monkeypatch.setattr(gpu_zarr, "_straight", fails)
    monkeypatch.setattr(gpu_zarr, "_by_zarr", lambda folder: "by zarr")
    with pytest.warns(UserWarning, match=f"by way of zarr-python: {error}"):
        assert read_zarr_to_gpu(tmp_path / "a.zarr") == "by zarr"
    with pytest.raises(type(error), match=str(error)):
        read_zarr_to_gpu(tmp_path / "a.zarr", prefer="kvikio")
    assert read_zarr_to_gpu(tmp_path / "a.zarr", prefer="zarr-gpu") == "by zarr"


if ps.cuda_unavailable_reason():

    def test_without_a_gpu_it_is_said(tmp_path: pathlib.Path) -> None:
        raw_array(tmp_path / "a.zarr", 3)
        with pytest.raises(ps.DeviceError):
            read_zarr_to_gpu(tmp_path / "a.zarr", prefer="kvikio")
        before = zarr.config.get("codec_pipeline.path")
        with pytest.raises((ImportError, RuntimeError)), gpu_zarr_context():
            pass
        assert zarr.config.get("codec_pipeline.path") == before


# Under linumpy's name.

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import penstock.compat.linumpy
penstock.compat.linumpy.install()
import numpy as np
from linumpy.geometry.interface import find_tissue_interface
from linumpy.gpu.interpolation import resize
from linumpy.mosaic.stacking import find_z_overlap
import linumpy.gpu
print(resize(np.ones((4, 4)), (2, 2)).shape, find_tissue_interface.__module__, linumpy.gpu.read_zarr_to_gpu.__name__)
try:
    from linumpy.geometry import crop
    print(crop.NAME)
    from linumpy.geometry.interface import OTHER
    print(OTHER)
except ImportError as error:
    print(error)
"""


def under_its_name(folder: pathlib.Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_programs_find_it_as_linumpy(tmp_path: pathlib.Path) -> None:
    first, second = under_its_name(tmp_path)
    assert first == "(2, 2) penstock.compat.linumpy.geometry.interface read_zarr_to_gpu"
    assert "crop" in second


def test_programs_keep_what_else_linumpy_has(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "linumpy/geometry"
    folder.mkdir(parents=True)
    (tmp_path / "linumpy/__init__.py").write_text("")
    (folder / "__init__.py").write_text("")
    (folder / "crop.py").write_text("NAME = 'their crop'\n")
    (folder / "interface.py").write_text("OTHER = 'their other'\ndef find_tissue_interface():\n    return 'theirs'\n")
    first, *rest = under_its_name(tmp_path)
    assert first == "(2, 2) penstock.compat.linumpy.geometry.interface read_zarr_to_gpu"
    assert rest == ["their crop", "their other"]


def test_install_is_refused_when_it_is_too_late(tmp_path: pathlib.Path) -> None:
    (tmp_path / "linumpy").mkdir()
    (tmp_path / "linumpy/__init__.py").write_text("")
    (tmp_path / "linumpy/gpu.py").write_text("")
    program = "import linumpy.gpu, penstock.compat.linumpy as c; c.install()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "linumpy.gpu: imported already" in done.stderr


@pytest.mark.parametrize("order", ["linumpy kvikio", "kvikio linumpy"])
def test_both_stand_in_at_once(order: str) -> None:
    program = "\n".join(
        [
            "import importlib, penstock.compat.kvikio, penstock.compat.linumpy",
            *(f"penstock.compat.{name}.install()" for name in order.split()),
            "import kvikio, linumpy.gpu.zarr",
            "assert kvikio.__file__ == penstock.compat.kvikio.__file__, kvikio.__file__",
            "assert 'penstock' in linumpy.gpu.zarr.__file__, linumpy.gpu.zarr.__file__",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
