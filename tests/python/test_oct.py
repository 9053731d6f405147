"""Reconstruction of serial OCT from Python: the steps of the list, their files for other programs, their errors."""

import inspect

import numpy as np
import pytest
import zarr

import penstock as ps
from penstock import oct

HOW = {"axial_resolution_um": 10, "slicing_interval_mm": 0.24, "depth_um": 520}


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oct")
    oct.simulate(folder / "subject", size="smoke", seed=9)
    oct.reconstruct(folder / "subject/raw", folder / "out", shifts=folder / "subject/raw/shifts_xy.csv", **HOW)
    return folder


def test_a_subject_is_scored(subject):
    done = oct.score(subject / "out", truth=subject / "subject/truth.json")
    assert done["mosaic"] == 0
    assert done["slice, across"] <= 0.5 and done["slice, along depth"] <= 1
    assert done.metrics["tile positions"]["unit"] == "pixels"


def test_others_read_what_is_written(subject):
    for name in ("mosaic_grid_z00", "slice_z00_crop", "3d_volume"):
        group = zarr.open_group(subject / f"out/{name}.ome.zarr", mode="r")
        image = group.attrs["ome"]["multiscales"][0]
        assert [(a["name"], a["unit"]) for a in image["axes"]] == [(n, "millimeter") for n in "zyx"]
        scale = image["datasets"][0]["coordinateTransformations"][0]["scale"]
        np.testing.assert_allclose(scale, [0.01] * 3)
        assert group["0"].dtype == np.float32
    assert zarr.open_group(subject / "out/mosaic_grid_z00.ome.zarr", mode="r")["0"].chunks == (60, 64, 64)
    volume = zarr.open_group(subject / "out/3d_volume.ome.zarr", mode="r")
    assert [volume[str(k)].shape[0] for k in range(3)] == [124, 62, 31]
    np.testing.assert_array_equal(volume["0"][:], ps.open(subject / "out/3d_volume.ome.zarr")[0][...])
    transform = np.load(subject / "out/mosaic_grid_z00_transform.npy")
    assert transform.shape == (2, 2) and transform.dtype == np.float64
    flat = np.load(subject / "out/mosaic_grid_z00_illum_flatfield.npy")
    assert flat.shape == (64, 64) and abs(flat.mean() - 1) < 1e-6


def test_steps_are_functions_with_help(subject):
    assert "fix_illumination" in oct.steps() and "fix_illumination" in dir(oct)
    assert "smoothness" in inspect.getdoc(oct.fix_illumination)
    done = oct.aip(subject / "out/mosaic_grid_z00.ome.zarr", subject / "aip.ome.zarr", n_levels=1)
    mosaic = ps.open(subject / "out/mosaic_grid_z00.ome.zarr")[0][...]
    np.testing.assert_allclose(ps.open(subject / "aip.ome.zarr")[0][...], mosaic.mean(axis=0), rtol=1e-5)
    assert done["mean"] == pytest.approx(mosaic.mean(), rel=1e-4)
    with pytest.raises(FileExistsError, match="already exists"):
        oct.aip(subject / "out/mosaic_grid_z00.ome.zarr", subject / "aip.ome.zarr")
    oct.aip(subject / "out/mosaic_grid_z00.ome.zarr", subject / "aip.ome.zarr", force=True)


def test_errors_are_python_s(tmp_path):
    with pytest.raises(AttributeError, match="stich"):
        oct.stich  # noqa: B018
    with pytest.raises(ValueError, match="Did you mean n_levels"):
        oct.aip("a", "b", n_level=1)
    with pytest.raises(FileNotFoundError, match="nothing"):
        oct.mosaic(tmp_path / "nothing", tmp_path / "m_z00.ome.zarr")
    (tmp_path / "raw/tile_x00_y00_z00").mkdir(parents=True)
    (tmp_path / "raw/tile_x00_y00_z00/info.txt").write_text("nx: 4\n")
    with pytest.raises(ps.CorruptDataError, match="no 'ny'"):
        oct.mosaic(tmp_path / "raw", tmp_path / "m_z00.ome.zarr")
