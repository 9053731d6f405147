"""Image operators on a CUDA device: what the CPU gives, in the memory and of the kind that came in."""

from __future__ import annotations

import pathlib
from typing import Any

import cupy
import numpy as np
import pytest
from images import MODES, SHAPES, TYPES, expect_same, image

import penstock as ps
import penstock.ndimage as nd


@pytest.mark.parametrize("dtype", [name for name in TYPES if name[0] != ">"])
def test_filters_give_what_the_cpu_gives(dtype: str) -> None:
    for i, shape in enumerate(SHAPES):
        x = image(shape, dtype, i)
        g = cupy.asarray(x)
        for mode in MODES:
            edge: dict[str, Any] = {"mode": mode, "cval": 3.0}
            made = nd.gaussian_filter(g, 1.7, **edge)
            assert isinstance(made, cupy.ndarray)
            expect_same(made.get(), nd.gaussian_filter(x, 1.7, **edge), x.ndim)
            for name in ("uniform_filter1d", "minimum_filter1d", "maximum_filter1d"):
                expect_same(getattr(nd, name)(g, 4, **edge).get(), getattr(nd, name)(x, 4, **edge), 0)
            # Longer than a tile of shared memory holds.
            expect_same(nd.maximum_filter1d(g, 500, **edge).get(), nd.maximum_filter1d(x, 500, **edge), 0)
        expect_same(nd.gaussian_filter(g, 60).get(), nd.gaussian_filter(x, 60), x.ndim)
        for q in ([0, 3.3, 50, 99.5, 100], 25):
            np.testing.assert_allclose(nd.percentile(g, q), nd.percentile(x, q), rtol=1e-12)
        np.testing.assert_array_equal(nd.histogram(g, 10, 90, 13), nd.histogram(x, 10, 90, 13))
        assert nd.threshold_otsu(g) == nd.threshold_otsu(x)


def test_resize() -> None:
    x = image((40, 33, 21), "f4")
    for arguments in ({"scale": 0.5}, {"output_shape": (13, 70, 5)}, {"scale": 1.5, "align": "corners"}):
        expect_same(nd.resize(cupy.asarray(x), **arguments).get(), nd.resize(x, **arguments))


def test_views_outputs_and_streams() -> None:
    x = image((30, 40, 20), "f4")
    g = cupy.asarray(x)
    view = np.s_[::-2, 3:30:3, ::-1]
    expect_same(nd.gaussian_filter(g[view], 1).get(), nd.gaussian_filter(x[view], 1))
    with cupy.cuda.Stream(non_blocking=True):
        made = nd.gaussian_filter(g * 2, 1) + 1
        expect_same(made.get(), nd.gaussian_filter(x * 2, 1) + 1)
    # Nobody waits for a result: what is done to it and to the input next comes after it, in the same stream.
    with cupy.cuda.Stream(non_blocking=True) as stream:
        big = cupy.asarray(image((300, 200, 200), "f4"))
        wanted = nd.median_filter(big.get(), 3) + 1
        made = nd.median_filter(big, 3)
        assert not stream.done
        made += 1
        big[...] = 0
        expect_same(made.get(), wanted)
        assert nd.sum(g).item() == pytest.approx(x.sum(dtype=float), rel=1e-6)
        points = cupy.asarray(np.mgrid[:30, :40, :20].astype("f8"))
        expect_same(nd.map_coordinates(g, points, order=1).get(), x)
        turn = cupy.asarray(np.eye(3))  # a matrix on the device is fetched
        expect_same(nd.affine_transform(g, turn, order=1).get(), x)
        # Memory of another library than the input's: complete on return.
        ours = ps.asarray(cupy.empty_like(g))
        assert nd.gaussian_filter(g, 1, output=ours) is ours
        expect_same(ours.numpy(), nd.gaussian_filter(x, 1))
    nd.gaussian_filter(g, 1, output=g)
    expect_same(g.get(), nd.gaussian_filter(x, 1))
    with pytest.raises(ValueError, match="output is on"):
        nd.gaussian_filter(g, 1, output=np.empty_like(x))


def test_device_arrays(tmp_path: pathlib.Path) -> None:
    x = image((30, 40, 20), "f4")
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(8, 20, 20))
    a[...] = x
    made = nd.gaussian_filter(a.read(device="cuda"), 2)
    assert isinstance(made, ps.DeviceArray)
    expect_same(made.numpy(), nd.gaussian_filter(x, 2))


def test_stored_arrays(tmp_path: pathlib.Path) -> None:
    x = image((192, 128, 128), "f4")
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(8, 64, 64))
    a[...] = x
    lazy = nd.resize(nd.gaussian_filter(ps.open(tmp_path / "a.zarr"), 1), scale=0.5)
    wanted = nd.resize(nd.gaussian_filter(x, 1), scale=0.5)
    expect_same(lazy.read(np.s_[3:20], device="cuda").numpy(), wanted[3:20])
    made = lazy.write(tmp_path / "b.zarr", device="cuda", budget="48MiB")
    expect_same(made[...], wanted)
    with pytest.raises(ps.BudgetError, match="needs"):  # reading to a device takes pinned memory
        lazy.write(tmp_path / "c.zarr", device="cuda", budget="4MiB")
    stored = nd.percentile(ps.open(tmp_path / "a.zarr"), [1, 50], device="cuda", budget="48MiB")
    np.testing.assert_allclose(stored, np.percentile(x.astype("f8"), [1, 50]), rtol=1e-12)


@pytest.mark.parametrize("shape", [(60, 192, 192), (9, 30, 40), (200, 17, 300)])
def test_reductions_of_stored_arrays(tmp_path: pathlib.Path, shape: tuple[int, ...]) -> None:
    """Many outputs, each of several parts."""
    x = image(shape, "f4")
    a = ps.create(tmp_path / "a.zarr", shape=shape, dtype="f4", chunks=(shape[0], 64, 64))
    a[...] = x
    for name in ("mean", "sum", "variance", "maximum", "standard_deviation"):
        reduce = getattr(nd, name)
        for axes in ((0,), (1, 2), (2,)):
            wanted, near = np.asarray(reduce(x, axes=axes)), {"rtol": 1e-4, "atol": 1e-4, "err_msg": f"{name} {axes}"}
            np.testing.assert_allclose(np.asarray(reduce(a, axes=axes, device="cuda")), wanted, **near)
            np.testing.assert_allclose(reduce(cupy.asarray(x), axes=axes).get(), wanted, **near)


@pytest.mark.parametrize("method", ("mean", "gaussian", "mode", "nearest"))
def test_pyramids(tmp_path: pathlib.Path, method: Any) -> None:
    for dtype in ("u1", "u2", "i4", "f4"):
        x = (image((37, 50, 23), "f4") * 3).astype(dtype)
        a = ps.create(tmp_path / f"{dtype}.zarr", shape=x.shape, dtype=x.dtype, chunks=(8, 16, 16))
        a[...] = x
        for factor in (2, 3):
            made = {}
            for device in ("cpu", "cuda"):
                path = tmp_path / f"{dtype}-{factor}-{device}"
                ps.write_pyramid(a, path, method=method, levels=3, factor=factor, device=device)
                levels = ps.open(path)
                assert isinstance(levels, ps.Image)
                made[device] = [levels[level][...] for level in range(3)]
            for level, (here, there) in enumerate(zip(made["cpu"], made["cuda"], strict=True)):
                assert here.shape == there.shape and here.shape[0] == -(-37 // factor**level), level
                expect_same(there, here)
