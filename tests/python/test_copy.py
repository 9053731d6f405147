"""Copies of groups and images, consolidation, labels, validation."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
import zarr

import penstock as ps

from support import same, sample


def group(path: pathlib.Path, zarr_format: Any = 3) -> ps.Group:
    g = ps.create_group(path, zarr_format=zarr_format, attributes={"k": 1})
    g.create_array("a", shape=(6, 5), dtype="u2", chunks=(4, 4))[...] = sample("u2", (6, 5))
    g.create_array("sub/b", shape=(7,), dtype="f4", chunks=(3,))[...] = sample("f4", (7,))
    return g


def image(path: pathlib.Path, zarr_format: Any = 3) -> ps.Image:
    a = ps.create(path / "a", shape=(8, 8), dtype="u1", chunks=4, zarr_format=zarr_format, separator="/")
    a[...] = np.arange(64).reshape(8, 8)
    ps.write_pyramid(a, path / "i", levels=2, axes=["y", "x"], scale=[2, 3])
    opened = ps.open(path / "i", "r+")
    assert isinstance(opened, ps.Image)
    return opened


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("target", ["d", "d.zip", "memory://copied", "g2/inner"])
def test_a_group_is_copied_with_all_below_it(tmp_path: pathlib.Path, zarr_format: Any, target: str) -> None:
    g = group(tmp_path / "g", zarr_format)
    url = f"{target}-{tmp_path.name}" if "memory" in target else tmp_path / target
    copied = ps.copy(g, url, chunks=2, codecs=["gzip"])
    assert isinstance(copied, ps.Group) and copied.attrs == {"k": 1} and copied.zarr_format == zarr_format
    assert copied["a"].chunks == (2, 2) and copied["sub/b"].chunks == (2,)
    assert same(copied["a"][...], g["a"][...]) and same(copied["sub/b"][...], g["sub/b"][...])
    assert copied.last_report is not None and "written" in json.loads(copied.last_report.json)
    if isinstance(url, pathlib.Path):
        theirs = zarr.open_group(zarr.storage.ZipStore(url) if url.suffix else str(url), mode="r")
        assert same(theirs["sub/b"][...], g["sub/b"][...])
    with pytest.raises(FileExistsError):
        ps.copy(g, url)
    assert "complete already" in str(ps.copy(g, url, chunks=2, codecs=["gzip"], resume=True).last_report)
    with pytest.raises(FileExistsError, match="chunks is|chunk_grid is|codecs is|compressor is"):
        ps.copy(g, url, resume=True)
    replaced = ps.copy(g["a"], url, overwrite=True)
    assert same(replaced[...], g["a"][...])
    replaced[0, 0] = 9  # the handle is of what stands there now
    replaced.flush()
    if isinstance(url, pathlib.Path):
        assert ps.open(url)[0, 0] == 9


def test_an_image_stays_one(tmp_path: pathlib.Path) -> None:
    i = image(tmp_path)
    copied = ps.copy(i, tmp_path / "copy", zarr_format=2)
    assert isinstance(copied, ps.Image) and copied.version == "0.4" and copied.scale == (2, 3)
    assert same(copied[1][...], i[1][...])


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_labels_are_listed_and_drawn_on_the_image(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    i = image(tmp_path, zarr_format)
    mask = ps.create(tmp_path / "m", shape=(8, 8), dtype="u4", chunks=4, zarr_format=zarr_format, separator="/")
    mask[2:4, :] = 7
    label = ps.write_label(i, "cells", mask, levels=2)
    assert label.scale == (2, 3) and label[1][1, 0] == 7
    assert list(i.labels) == ["cells"] and same(i.labels["cells"][0][...], mask[...])
    ome = label.attrs if zarr_format == 2 else label.attrs["ome"]
    assert ome["image-label"]["source"] == {"image": "../../"}
    assert ps.validate_ngff(label) == [] and ps.validate_ngff(tmp_path / "i") == []
    with pytest.raises(FileExistsError):
        ps.write_label(i, "cells", mask)


def test_problems_of_an_image_are_named(tmp_path: pathlib.Path) -> None:
    i = image(tmp_path)
    i["1"].resize((2, 9))
    assert ps.validate_ngff(i) == ["level 1 (1): larger than the level before along dimension 1"]
    assert ps.validate_ngff(tmp_path / "a") == []


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_are_made_of_what_stands(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    group(tmp_path / "g", zarr_format)
    zarr.consolidate_metadata(str(tmp_path / "g"))
    theirs = zarr.open_group(str(tmp_path / "g"), mode="r+", use_consolidated=False)
    theirs.create_array("later", shape=(3,), dtype="u1")[...] = 5
    assert "later" not in zarr.open_consolidated(str(tmp_path / "g"))
    copied = ps.copy(ps.open(tmp_path / "g"), tmp_path / "copy")
    assert "later" in zarr.open_consolidated(str(tmp_path / "copy")) and copied["later"][0] == 5
    assert ps.consolidate(tmp_path / "g").keys() == ["a", "later", "sub"]
    assert set(zarr.open_consolidated(str(tmp_path / "g")).array_keys()) == {"a", "later"}
    with pytest.raises(PermissionError):
        opened = ps.open(tmp_path / "g")
        assert isinstance(opened, ps.Group)
        opened.consolidate()
