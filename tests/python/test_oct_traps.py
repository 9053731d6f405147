"""Subjects that something is odd about: what a reconstruction makes of each, and what it says."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import oct

HOW: dict[str, Any] = {"axial_resolution_um": 10, "slicing_interval_mm": 0.24, "depth_um": 520}


def reconstructed(folder: pathlib.Path, traps: str, **how: Any) -> Any:
    oct.simulate(folder / "s", seed=7, traps=traps)
    return oct.reconstruct(folder / "s/raw", folder / "out", shifts=folder / "s/raw/shifts_xy.csv", **(HOW | how))


def scored(folder: pathlib.Path) -> Any:
    return oct.score(folder / "out", truth=folder / "s/truth.json")


PLACES = ("slice, across", "slice, along depth", "volume, across", "volume, along depth")
MARKS = {"slice, across": 0.5, "slice, along depth": 1, "volume, across": 0.5, "volume, along depth": 1}
"""Of the rows that say whether slices lie where they should."""


@pytest.mark.parametrize(
    ("trap", "warning"),
    [
        ("odd", None),
        ("empty-tile", None),
        ("nan", None),
        ("saturated", None),
        ("one-row", None),
        ("agarose", "no overlap along rows says where tiles lie"),
        ("shallow", "36 planes lie below the interface, 52 are wanted"),
    ],
)
def test_slices_lie_where_they_should(tmp_path: pathlib.Path, trap: str, warning: str | None) -> None:
    done = reconstructed(tmp_path, trap)
    assert warning is None or any(warning in text for text in done.warnings), done.warnings
    score = scored(tmp_path)
    assert score["mosaic"] == 0 and score["galvo shift"] == 0
    assert score["crop"] <= 1 and score["tile positions"] <= 1
    assert score["pyramid"] == 0 and score["pyramid, means"] <= 1e-3
    for name in PLACES:
        assert score[name] <= MARKS[name], (name, score[name])


def test_a_slice_without_water_above_keeps_its_tissue(tmp_path: pathlib.Path) -> None:
    done = reconstructed(tmp_path, "surface-first")
    assert any("slice_z01_crop" in text and "at the first plane" in text for text in done.warnings), done.warnings
    assert ps.open(tmp_path / "out/slice_z01_crop.ome.zarr/0").shape[0] == 52
    score = scored(tmp_path)
    for name in PLACES:
        assert score[name] <= MARKS[name], (name, score[name])


def test_a_slice_that_is_all_water_leaves_its_place(tmp_path: pathlib.Path) -> None:
    done = reconstructed(tmp_path, "surface-last")
    assert any("hold nothing" in text for text in done.warnings)
    score = scored(tmp_path)  # of the three others; the galvo's way back cannot be seen in water
    for name in PLACES:
        assert score[name] <= MARKS[name], (name, score[name])


def test_a_missing_slice_is_refused_until_it_may_be_missing(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="names slice 1, which is not there"):
        reconstructed(tmp_path, "missing-slice")
    oct.reconstruct(
        tmp_path / "s/raw",
        tmp_path / "out",
        shifts=tmp_path / "s/raw/shifts_xy.csv",
        **HOW,
        missing_slices=True,
        force=True,
    )
    score = scored(tmp_path)
    for name in PLACES:
        assert score[name] <= MARKS[name], (name, score[name])


def test_what_is_no_number_is_nothing_after_illumination(tmp_path: pathlib.Path) -> None:
    """The mosaic is what the microscope wrote; from there on an A-line of NaN is 0."""
    reconstructed(tmp_path, "nan")
    for k in range(4):
        mosaic = ps.open(tmp_path / f"out/mosaic_grid_z{k:02}.ome.zarr/0")[...]
        holes = np.isnan(mosaic)
        assert holes.sum() == 60 and holes.any(axis=0).sum() == 1
        fixed = ps.open(tmp_path / f"out/mosaic_grid_z{k:02}_illum.ome.zarr/0")[...]
        assert np.isfinite(fixed).all() and (fixed[holes] == 0).all()
        assert (fixed[~holes] > 0).all()
    assert np.isfinite(ps.open(tmp_path / "out/3d_volume.ome.zarr/0")[...]).all()


def test_resampling_keeps_the_last_row_of_tiles_of_22_pixels(tmp_path: pathlib.Path) -> None:
    oct.simulate(tmp_path / "s", seed=7, traps="zoom-edge")
    grid = tmp_path / "s/truth/mosaic_grid_z00.ome.zarr"
    for align in ("half_pixel", "corners"):
        out = tmp_path / f"{align}_z00.ome.zarr"
        oct.resample_mosaic(grid, out, resolution_um=11, align=align)
        made = ps.open(out / "0")
        assert made.chunks[1:] == (20, 20)
        tiles = made[...].reshape(made.shape[0], 3, 20, 3, 20)
        assert (tiles[10:, :, -1] > 0).all() and (tiles[10:, :, :, :, -1] > 0).all()


def test_traps_are_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="no such trap 'agar'. Did you mean nan|no such trap 'agar'"):
        oct.simulate(tmp_path / "s", traps="odd,agar")
    assert not (tmp_path / "s").exists()
    oct.simulate(tmp_path / "s", traps="odd,one-row")
    truth = json.loads((tmp_path / "s/truth.json").read_text())
    assert truth["traps"] == ["odd", "one-row"] and truth["tile"] == 65 and truth["grid"] == [1, 3]


def test_the_same_seed_gives_the_same_subject(tmp_path: pathlib.Path) -> None:
    for name in ("a", "b"):
        oct.simulate(tmp_path / name, seed=3, traps="one-row,nan")
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*") if p.is_file())
    assert len(files) > 30
    for file in files:
        if "metrics" not in file.name:
            assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_real_size_is_only_told(tmp_path: pathlib.Path) -> None:
    done = oct.simulate(tmp_path / "s", size="real", dry_run=True)
    assert done["raw_bytes"] == 4 * 40 * 300 * 400 * 466 * 400
    assert not (tmp_path / "s").exists()


# What may be wrong with what `score`, `report` and `reconstruct` are given.


def test_score_names_what_is_wrong(tmp_path: pathlib.Path) -> None:
    reconstructed(tmp_path, "one-row")
    truth = tmp_path / "s/truth.json"
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        oct.score(tmp_path / "out", truth=tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        oct.score(tmp_path / "nowhere", truth=truth)
    text = truth.read_text()
    for change, words in (
        ({"grid": 3}, "grid is no pair"),
        ({"interval_planes": "x"}, "interval_planes"),
        ({"slices": {}}, "slices is no list"),
    ):
        (tmp_path / "s/other.json").write_text(json.dumps(json.loads(text) | change))
        with pytest.raises(ps.MetadataError, match=words):
            oct.score(tmp_path / "out", truth=tmp_path / "s/other.json")
    (tmp_path / "out/mosaic_grid_z00_mosaic_metrics.json").unlink()
    with pytest.raises(FileNotFoundError, match="mosaic_grid_z00_mosaic_metrics"):
        oct.score(tmp_path / "out", truth=truth)


def test_a_report_of_what_there_is(tmp_path: pathlib.Path) -> None:
    reconstructed(tmp_path, "one-row")
    out = tmp_path / "out"
    whole = oct.report(out)
    assert whole["slices"] == 4
    text = (out / "report.html").read_text()
    assert all(f">{name}</h2>" in text for name in ("Volume", "Slices and seams", "Interface", "Overlaps", "Drift"))
    # A run that was stopped before its slices were moved.
    (out / "3d_volume.ome.zarr/zarr.json").unlink()
    for k in range(4):
        (out / f"slice_z{k:02}_common.ome.zarr/zarr.json").unlink()
    oct.report(out, output=tmp_path / "part.html")
    text = (tmp_path / "part.html").read_text()
    assert ">Interface</h2>" in text and ">Volume</h2>" not in text and ">Drift</h2>" not in text
    # Without reconstruct.json nobody has said how far slices lie apart.
    with pytest.raises(FileNotFoundError, match="no slice and no volume"):
        (tmp_path / "empty").mkdir()
        oct.report(tmp_path / "empty")
    (out / "slice_z00_stitch_stitch_metrics.json").write_text("{")
    with pytest.raises(ps.MetadataError, match="slice_z00_stitch_stitch_metrics"):
        oct.report(out, output=tmp_path / "bad.html")
    assert not (tmp_path / "bad.html").exists()


def test_names_in_a_page_are_text(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "a & <q>"
    folder.mkdir()
    reconstructed(folder, "one-row")
    oct.report(folder / "out", output=tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "a &amp; &lt;q&gt;" in text and "<q>" not in text
