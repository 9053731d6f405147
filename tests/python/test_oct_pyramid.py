"""`oct pyramid` on volumes, mosaic grids and projections: shapes, scales, means, and what other programs read of it."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import ome_zarr_models.v05
import pytest
import zarr
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader

import penstock as ps
from penstock import oct

SPACING_MM = 0.01


def image(path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...], **how: Any) -> np.ndarray[Any, Any]:
    """An image of noise over a slope, whose element 0 lies at 0.5 mm along rows."""
    x = np.random.default_rng(0).gamma(8, 10, shape).astype(np.float32)
    x += np.linspace(0, 50, shape[-1], dtype=np.float32)
    group = zarr.create_group(str(path))
    group.create_array("0", shape=shape, dtype="f4", chunks=chunks, dimension_names=list("zyx"[-len(shape) :]), **how)[
        ...
    ] = x
    offset = [0.0] * len(shape)
    offset[-2] = 0.5
    level = {
        "path": "0",
        "coordinateTransformations": [
            {"type": "scale", "scale": [SPACING_MM] * len(shape)},
            {"type": "translation", "translation": offset},
        ],
    }
    axes = [{"name": n, "type": "space", "unit": "millimeter"} for n in "zyx"[-len(shape) :]]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "made", "axes": axes, "datasets": [level]}]}
    return x


def levels(path: pathlib.Path) -> list[tuple[np.ndarray[Any, Any], list[float], list[float]]]:
    """Elements, scale and translation of each level."""
    group = zarr.open_group(str(path), mode="r")
    made = []
    for dataset in group.attrs["ome"]["multiscales"][0]["datasets"]:
        transforms = {t["type"]: t[t["type"]] for t in dataset["coordinateTransformations"]}
        array = group[dataset["path"]]
        made.append((array[...], transforms["scale"], transforms.get("translation", [0.0] * array.ndim)))
    return made


def halved(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The mean of 2 x 2 x 2; what is left over at an end belongs to none."""
    x = x[tuple(slice(0, n // 2 * 2) for n in x.shape)].astype("f8")
    for axis in range(x.ndim):
        shape = list(x.shape)
        shape[axis : axis + 1] = [shape[axis] // 2, 2]
        x = x.reshape(shape).mean(axis=axis + 1)
    return x


@pytest.mark.parametrize(
    ("shape", "chunks", "how"),
    [
        ((48, 60, 64), (20, 20, 20), {}),
        ((61, 65, 67), (61, 13, 67), {}),
        ((30, 64, 96), (30, 32, 32), {"shards": (30, 64, 96)}),
        ((45, 70), (15, 35), {}),
    ],
)
def test_halves(tmp_path: pathlib.Path, shape: tuple[int, ...], chunks: tuple[int, ...], how: dict[str, Any]) -> None:
    x = image(tmp_path / "a.ome.zarr", shape, chunks, **how)
    done = oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr", n_levels=4)
    assert done["levels"] == 4
    made = levels(tmp_path / "b.ome.zarr")
    np.testing.assert_array_equal(made[0][0], x)
    wanted = x.astype("f8")
    for k, (values, scale, translation) in enumerate(made):
        assert scale == [SPACING_MM * 2**k] * len(shape)
        first = np.array([0.5 if d == len(shape) - 2 else 0 for d in range(len(shape))])
        np.testing.assert_allclose(translation, first + SPACING_MM * (2**k - 1) / 2, rtol=1e-12)
        assert values.shape == tuple(n // 2**k for n in shape)
        np.testing.assert_allclose(values, wanted, rtol=1e-5)
        assert values.mean(dtype="f8") == pytest.approx(wanted.mean(), rel=1e-6)
        wanted = halved(wanted)


def test_levels_are_added_in_place(tmp_path: pathlib.Path) -> None:
    x = image(tmp_path / "a.ome.zarr", (20, 40, 40), (20, 20, 20))
    before = (tmp_path / "a.ome.zarr/0/c/0/0/0").stat().st_mtime_ns
    oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "a.ome.zarr", n_levels=9)
    made = levels(tmp_path / "a.ome.zarr")
    assert [values.shape for values, _, _ in made] == [(20, 40, 40), (10, 20, 20), (5, 10, 10), (2, 5, 5), (1, 2, 2)]
    np.testing.assert_array_equal(made[0][0], x)
    assert (tmp_path / "a.ome.zarr/0/c/0/0/0").stat().st_mtime_ns == before


def test_resolutions(tmp_path: pathlib.Path) -> None:
    x = image(tmp_path / "a.ome.zarr", (50, 83, 100), (50, 50, 50))
    oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr", resolutions_um="100,5,10,25")
    made = levels(tmp_path / "b.ome.zarr")
    assert [scale for _, scale, _ in made] == [[0.01] * 3, [0.025] * 3, [0.1] * 3]  # 5 is finer than the image
    assert [values.shape for values, _, _ in made] == [(50, 83, 100), (20, 33, 40), (5, 8, 10)]
    np.testing.assert_array_equal(made[0][0], x)
    for values, scale, translation in made:
        # The slope along columns stands where the metadata say.
        at = np.array(translation)[-1] + scale[-1] * np.arange(values.shape[-1])
        inside = slice(2, -2) if len(at) > 6 else slice(None)
        slope = np.polyfit(at[inside], values.mean(axis=(0, 1), dtype="f8")[inside], 1)
        assert slope[0] == pytest.approx(50 / 0.99, rel=0.05)
        assert np.polyval(slope, 0.495) == pytest.approx(x.mean(), rel=0.01)
        assert values.mean(dtype="f8") == pytest.approx(x.mean(dtype="f8"), rel=0.01)
    # A slope of a voxel of 4 um along depth: all axes come to one resolution.
    oct.pyramid(tmp_path / "b.ome.zarr", tmp_path / "c.ome.zarr", resolutions_um=20)
    assert levels(tmp_path / "c.ome.zarr")[0][0].shape == (25, 41, 50)


@pytest.mark.parametrize("name", ["volume", "mosaic", "projection"])
def test_others_read_it(tmp_path: pathlib.Path, name: str) -> None:
    shape, chunks = {
        "volume": ((40, 64, 72), (25, 25, 25)),
        "mosaic": ((30, 63, 63), (30, 21, 21)),
        "projection": ((60, 60), (20, 20)),
    }[name]
    image(tmp_path / "a.ome.zarr", shape, chunks)
    oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr", n_levels=4)
    (node,) = list(Reader(parse_url(str(tmp_path / "b.ome.zarr")))())
    assert [axis["name"] for axis in node.metadata["axes"]] == list("zyx"[-len(shape) :])
    assert len(node.data) == 4
    for k, data in enumerate(node.data):
        ours = ps.open(tmp_path / f"b.ome.zarr/{k}")
        np.testing.assert_array_equal(np.asarray(data), ours[...])
        assert node.metadata["coordinateTransformations"][k][0]["scale"] == [SPACING_MM * 2**k] * len(shape)
    checked = ome_zarr_models.v05.Image.from_zarr(zarr.open_group(str(tmp_path / "b.ome.zarr"), mode="r"))
    assert len(checked.attributes.ome.multiscales[0].datasets) == 4


def test_a_run_s_images_are_read_by_others(tmp_path: pathlib.Path) -> None:
    oct.simulate(tmp_path / "s", seed=2, traps="one-row")
    how: dict[str, Any] = {"axial_resolution_um": 10, "slicing_interval_mm": 0.24, "depth_um": 300}
    oct.reconstruct(tmp_path / "s/raw", tmp_path / "out", shifts=tmp_path / "s/raw/shifts_xy.csv", **how)
    images = sorted((tmp_path / "out").glob("*.ome.zarr"))
    assert len(images) == 4 * 6 - 4 + 4 + 1
    # And what steps write that are no part of it.
    grid, steps = tmp_path / "out/mosaic_grid_z00.ome.zarr", tmp_path / "steps"
    oct.resample_mosaic(grid, steps / "resampled.ome.zarr", resolution_um=20)
    oct.fix_focal_curvature(grid, steps / "focal.ome.zarr")
    oct.crop_below_interface(grid, steps / "cropped.ome.zarr", tiles=True)
    oct.normalize(tmp_path / "out/slice_z00_crop.ome.zarr", steps / "normal.ome.zarr")
    images += sorted(steps.glob("*.ome.zarr"))
    for path in images:
        (node,) = list(Reader(parse_url(str(path)))())
        np.testing.assert_array_equal(np.asarray(node.data[0]), ps.open(path / "0")[...])
        ome_zarr_models.v05.Image.from_zarr(zarr.open_group(str(path), mode="r"))


def test_what_is_refused(tmp_path: pathlib.Path) -> None:
    image(tmp_path / "a.ome.zarr", (8, 8, 8), (8, 8, 8))
    with pytest.raises(ValueError, match="another path"):
        oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "a.ome.zarr", resolutions_um=20)
    for text in ("ten", "10,,20", "-1", "0"):
        with pytest.raises(ValueError, match="is no length above 0"):
            oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr", resolutions_um=text)
    with pytest.raises(ValueError, match="finest is 10"):
        oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr", resolutions_um=5)
    with pytest.raises(ValueError, match=r"must end in \.ome\.zarr"):
        oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b")
    assert not (tmp_path / "b.ome.zarr").exists()
    oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr")
    with pytest.raises(FileExistsError):
        oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr")
    oct.pyramid(tmp_path / "a.ome.zarr", tmp_path / "b.ome.zarr", n_levels=2, force=True)
    assert len(levels(tmp_path / "b.ome.zarr")) == 2
    with pytest.raises(FileNotFoundError):
        oct.pyramid(tmp_path / "none.ome.zarr", tmp_path / "c.ome.zarr")
