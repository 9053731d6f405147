"""Steps of the OCT reconstruction on a CUDA device: what the CPU gives, and where each part of the work was done."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import oct

SPACING = 0.01  # mm


def volume(path: pathlib.Path, values: np.ndarray[Any, Any], chunks: tuple[int, ...]) -> pathlib.Path:
    """Writes an OME-NGFF image of one level."""
    import zarr

    group = zarr.open_group(path, mode="w")
    made = group.create_array("0", shape=values.shape, chunks=chunks, dtype="f4")
    made[...] = values
    axes = [{"name": n, "type": "space", "unit": "millimeter"} for n in "zyx"]
    scale = [{"type": "scale", "scale": [SPACING] * 3}]
    group.attrs["ome"] = {
        "version": "0.5",
        "multiscales": [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}],
    }
    return path


def tissue(shape: tuple[int, int, int], tile: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """A bent surface in each tile, agarose to the left, grain; one tile of 0."""
    rng = np.random.default_rng(seed)
    z, r, c = np.ogrid[: shape[0], : shape[1], : shape[2]]
    u, v = (r % tile) / (tile - 1) - 0.5, (c % tile) / (tile - 1) - 0.5
    top = 12 + 5 * (u * u + v * v) + r / shape[1]
    deep = np.where(c < shape[2] // 4, 25, 90) * np.exp(-z / 60)
    made = np.where(z < top, 2, deep) * rng.gamma(8, 1 / 8, shape)
    made[:, :tile, :tile] = 0
    return made.astype("f4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("cuda_oct")
    volume(path / "mosaic.ome.zarr", tissue((48, 180, 240), 60), (48, 60, 60))
    (path / "slices").mkdir()
    for k in range(3):
        slab = tissue((48, 180, 240), 60, k)
        volume(path / f"slices/slice_z0{k}_crop.ome.zarr", slab[: 40 + 4 * k], (32, 100, 100))
    np.save(path / "transform.npy", np.array([[48.3, 1.2], [-0.8, 47.6]]))
    return path


def both(
    folder: pathlib.Path, step: str, *inputs: str, ending: str = ".ome.zarr", **options: Any
) -> list[pathlib.Path]:
    """The outputs of a step on the CPU and on the device; all its work was done there but for what is named."""
    made = []
    for device in ("cpu", "cuda"):
        out = folder / f"{step}_{device}{ending}"
        paths = [folder / name for name in inputs] + ([out] if ending else [])
        done = oct.run(step, *paths, device=device, force=True, **options)
        where = done["where"]
        assert where and all(place.startswith(device) for part, place in where.items() if part not in ON_THE_HOST), (
            where
        )
        assert device == "cpu" or any(place.startswith("cuda") for place in where.values()), where
        made.append(out)
    return made


# What is small: the map of one tile, the mean over depth.
ON_THE_HOST = {"common map", "agarose mask"}


def elements(path: pathlib.Path) -> np.ndarray[Any, Any]:
    return ps.open(path)[0][...]


def test_resample(folder: pathlib.Path) -> None:
    for align in ("half_pixel", "corners"):
        a, b = both(folder, "resample_mosaic", "mosaic.ome.zarr", resolution_um=23, align=align)
        np.testing.assert_allclose(elements(b), elements(a), rtol=1e-4, atol=1e-5)


def test_aip(folder: pathlib.Path) -> None:
    a, b = both(folder, "aip", "mosaic.ome.zarr")
    np.testing.assert_allclose(elements(b), elements(a), rtol=1e-5)
    a, b = both(folder, "aip_png", "mosaic.ome.zarr", ending=".png")
    assert a.stat().st_size == pytest.approx(b.stat().st_size, rel=0.01)


@pytest.mark.parametrize(
    "options", [{}, {"compat": True}, {"sigma_xy": 4, "no_log": True}, {"detect_cutting_errors": True}]
)
def test_tissue_interface(folder: pathlib.Path, options: dict[str, Any]) -> None:
    for mask in (None, folder / "slices/mask.ome.zarr"):
        if mask is not None:
            inside = np.ones((40, 180, 240), "f4")
            inside[:, :, 100:] = tissue((40, 180, 140), 60) > 3
            volume(mask, inside, (40, 60, 60))
        a, b = (np.load(p) for p in both(folder, "tissue_interface", "slices/slice_z00_crop.ome.zarr", ending=".npy",
                                         mask=mask, **options))  # fmt: skip
        apart = np.abs(a - b)
        assert (apart <= 1e-3).mean() >= 0.999 and apart[apart > 1e-3].size < 50


@pytest.mark.parametrize("options", [{}, {"compat": True}, {"use_log": True}])
def test_focal_curvature(folder: pathlib.Path, options: dict[str, Any]) -> None:
    a, b = both(folder, "fix_focal_curvature", "mosaic.ome.zarr", **options)
    maps = [np.load(str(p).replace(".ome.zarr", "_focal.npy")) for p in (a, b)]
    np.testing.assert_allclose(maps[1], maps[0], atol=1e-3)
    if not options.get("compat"):
        np.testing.assert_allclose(elements(b), elements(a), atol=0.5)
    assert (np.abs(elements(a) - elements(b)) < 1e-2).mean() > 0.99


def test_crop(folder: pathlib.Path) -> None:
    for options in ({}, {"compat": True}, {"use_log": True, "percentile_max": 99.9}, {"keep_above_interface": True}):
        a, b = both(folder, "crop_below_interface", "slices/slice_z00_crop.ome.zarr", depth_um=150, **options)
        np.testing.assert_array_equal(elements(b), elements(a))


def test_normalize(folder: pathlib.Path) -> None:
    a, b = both(folder, "normalize", "slices/slice_z00_crop.ome.zarr")
    np.testing.assert_allclose(elements(b), elements(a), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("blending", ["average", "none"])
def test_stitch(folder: pathlib.Path, blending: str) -> None:
    a, b = both(folder, "stitch", "mosaic.ome.zarr", transform=folder / "transform.npy", blending=blending)
    np.testing.assert_array_equal(elements(b), elements(a))  # sums in the order of the tiles


def test_overlap(folder: pathlib.Path) -> None:
    slices = ("slices/slice_z00_crop.ome.zarr", "slices/slice_z01_crop.ome.zarr")
    found = [
        oct.find_z_overlap(*(folder / s for s in slices), slicing_interval_mm=0.25, device=device)
        for device in ("cpu", "cuda")
    ]
    assert found[0]["overlap"] == found[1]["overlap"]
    assert found[0]["score"] == pytest.approx(found[1]["score"], abs=1e-4)
    assert list(found[1]["where"].values()) == ["cuda:0"]


def test_estimate_transform(folder: pathlib.Path) -> None:
    """Tiles cut out of one sheet: the same matrix to the bit, and the right one."""
    noise = np.fft.rfft2(np.random.default_rng(5).normal(size=(256, 256)))
    blur = np.exp(-200 * (np.fft.fftfreq(256)[:, None] ** 2 + np.fft.rfftfreq(256) ** 2))
    sheet = 50 + 300 * np.fft.irfft2(noise * blur)
    tiles = [[sheet[48 * i : 48 * i + 60, 47 * j : 47 * j + 60] for j in range(4)] for i in range(3)]
    volume(folder / "cut.ome.zarr", np.tile(np.block(tiles).astype("f4"), (4, 1, 1)), (4, 60, 60))
    oct.aip(folder / "cut.ome.zarr", folder / "cut_aip.ome.zarr")
    a, b = both(folder, "estimate_transform", "cut_aip.ome.zarr", ending=".npy")
    assert a.read_bytes() == b.read_bytes()
    np.testing.assert_allclose(np.load(b), [[48, 0], [0, 47]], atol=0.05)


def test_common_space_and_stack(folder: pathlib.Path) -> None:
    (folder / "shifts.csv").write_text("fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,1,0.0213,-0.03\n1,2,-0.01,0.0177\n")
    made = []
    for device in ("cpu", "cuda"):
        moved = folder / f"moved_{device}"
        oct.common_space(folder / "slices", moved, shifts=folder / "shifts.csv", device=device)
        made.append(elements(moved / "slice_z01_common.ome.zarr"))
    np.testing.assert_allclose(made[1], made[0], rtol=1e-4, atol=1e-4)
    for keep in (False, True):
        a, b = both(folder, "stack", "moved_cpu", slicing_interval_mm=0.3, n_levels=1, keep_falloff=keep)
        np.testing.assert_array_equal(elements(b), elements(a))


def test_budget_of_the_device(folder: pathlib.Path) -> None:
    """A mosaic of several times the budget gives the same bytes as all of it at once."""
    many = np.tile(tissue((64, 240, 240), 60), (1, 3, 4))
    volume(folder / "large.ome.zarr", many, (64, 60, 60))
    for k, budget in enumerate(("96MiB", "1GiB")):
        oct.stitch(folder / "large.ome.zarr", folder / f"large_{k}.ome.zarr", transform=folder / "transform.npy",
                   device="cuda", budget=budget)  # fmt: skip
        oct.normalize(folder / "large.ome.zarr", folder / f"normal_{k}.ome.zarr", device="cuda", budget=budget)
    for name in ("large", "normal"):
        np.testing.assert_array_equal(elements(folder / f"{name}_0.ome.zarr"), elements(folder / f"{name}_1.ome.zarr"))
