"""Groups, attributes, consolidated metadata, OME-NGFF images."""

from __future__ import annotations

import json
import pathlib
import pickle
from typing import Any

import numpy as np
import pytest
import zarr

import penstock

from support import same, sample


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_groups_of_zarr_python(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    root = zarr.create_group(
        str(tmp_path / "g"), zarr_format=zarr_format, attributes={"a": [1, {"b": None}], "ü": "日本"}
    )
    root.create_group("inner/deep").create_array("x", shape=(3,), dtype="u1")[...] = [1, 2, 3]
    root.create_array("y", shape=(2, 2), dtype="f4")
    g = penstock.open(tmp_path / "g")
    assert isinstance(g, penstock.Group) and g.zarr_format == zarr_format
    assert g.attrs == {"a": [1, {"b": None}], "ü": "日本"}
    assert list(g) == ["inner", "y"] and len(g) == 2 and "y" in g and "z" not in g
    assert g["inner/deep/x"][...].tolist() == [1, 2, 3]
    assert isinstance(g["inner"], penstock.Group) and g["inner"]["deep"]["x"][1] == 2
    assert {name: type(node) for name, node in g.items()} == {"inner": penstock.Group, "y": penstock.Array}
    with pytest.raises(KeyError):
        g["nothing"]
    assert same(penstock.open(f"{tmp_path}/g/inner/deep/x")[...], np.array([1, 2, 3], "u1"))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_zarr_python_reads_our_groups(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    g = penstock.create_group(tmp_path / "g", zarr_format=zarr_format, attributes={"n": np.float32(1.5)})
    g.create_group("sub", attributes={"k": 1}).create_array("x", shape=(4,), dtype="i2")[...] = 5
    g.create_array("sub/y", shape=(2,), dtype="u1", attributes={"list": np.arange(3)})
    root = zarr.open_group(str(tmp_path / "g"), mode="r")
    assert dict(root.attrs) == {"n": 1.5} and dict(root["sub"].attrs) == {"k": 1}
    assert root["sub/x"][...].tolist() == [5] * 4 and dict(root["sub/y"].attrs) == {"list": [0, 1, 2]}
    with pytest.raises(FileExistsError):
        g.create_group("sub")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_numbers_that_json_has_no_word_for(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    wanted = {"nan": float("nan"), "more": [float("inf"), -float("inf")], "text": "NaN"}
    zarr.create_group(str(tmp_path / "theirs"), zarr_format=zarr_format, attributes=wanted)
    theirs = penstock.open(tmp_path / "theirs", mode="r+")
    assert repr(theirs.attrs) == repr(wanted)
    theirs.set_attributes(theirs.attrs)
    assert repr(dict(zarr.open_group(str(tmp_path / "theirs"), mode="r").attrs)) == repr(wanted)
    ours = penstock.create(tmp_path / "a", shape=(2,), dtype="f4", zarr_format=zarr_format, attributes=wanted)
    assert repr(ours.attrs) == repr(wanted)
    document = tmp_path / "a" / (".zattrs" if zarr_format == 2 else "zarr.json")
    assert '"nan": NaN' in document.read_text() and '"text": "NaN"' in document.read_text()
    assert repr(dict(zarr.open_array(str(tmp_path / "a"), mode="r").attrs)) == repr(wanted)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_member_that_cannot_be_read_does_not_hide_the_others(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    root = zarr.create_group(str(tmp_path / "g"), zarr_format=zarr_format)
    for name in ("bad", "good"):
        root.create_array(name, shape=(3,), dtype="u1")[...] = 1
    zarr.consolidate_metadata(str(tmp_path / "g"))
    both = [tmp_path / "g" / ".zmetadata", tmp_path / "g" / "bad" / ".zarray"]
    if zarr_format == 3:
        both = [tmp_path / "g" / "zarr.json", tmp_path / "g" / "bad" / "zarr.json"]
    for path in both:
        document = json.loads(path.read_text())
        node = document
        if path is both[0] and zarr_format == 2:
            node = document["metadata"]["bad/.zarray"]
        elif path is both[0]:
            node = document["consolidated_metadata"]["metadata"]["bad"]
        node["dtype" if zarr_format == 2 else "data_type"] = "of tomorrow"
        path.write_text(json.dumps(document))
    g = penstock.open(tmp_path / "g")
    assert isinstance(g, penstock.Group)
    assert list(g) == ["bad", "good"] and g["good"][...].tolist() == [1, 1, 1]
    with pytest.raises(penstock.PenstockError, match="bad.*of tomorrow"):
        g["bad"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    root = zarr.create_group(str(tmp_path / "g"), zarr_format=zarr_format)
    root.create_array("a", shape=(3,), dtype="u1")[...] = 1
    root.create_group("b").create_array("c", shape=(2,), dtype="u1")
    zarr.consolidate_metadata(str(tmp_path / "g"))
    g = penstock.open(tmp_path / "g")
    assert isinstance(g, penstock.Group)
    assert list(g) == ["a", "b"] and g["a"][...].tolist() == [1, 1, 1] and list(g["b"]) == ["c"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_attributes_are_replaced_and_kept(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    a = penstock.create(tmp_path / "a", shape=(2,), dtype="u1", zarr_format=zarr_format, attributes={"one": 1})
    a[...] = 7
    a.set_attributes({"two": [2, "zwei"]})
    assert a.attrs == {"two": [2, "zwei"]}
    theirs = zarr.open_array(str(tmp_path / "a"), mode="r+")
    assert dict(theirs.attrs) == {"two": [2, "zwei"]} and theirs[...].tolist() == [7, 7]
    theirs.attrs["three"] = 3
    assert penstock.open(tmp_path / "a").attrs == {"two": [2, "zwei"], "three": 3}
    g = penstock.create_group(tmp_path / "g", zarr_format=zarr_format)
    g.set_attributes({"x": 1})
    assert g.attrs == {"x": 1} and dict(zarr.open_group(str(tmp_path / "g"), mode="r").attrs) == {"x": 1}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_metadata_is_what_zarr_python_sees(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    names = ["z", None, "x"] if zarr_format == 3 else None
    a = penstock.create(
        tmp_path / "a",
        shape=(4, 5, 6),
        dtype="f4",
        chunks=(2, 5, 3),
        fill_value=-1.5,
        dimension_names=names,
        zarr_format=zarr_format,
    )
    theirs = zarr.open_array(str(tmp_path / "a"), mode="r")
    assert (theirs.shape, theirs.chunks, theirs.dtype) == (a.shape, a.chunks, a.dtype)
    assert theirs.fill_value == a.fill_value == -1.5
    assert a.dimension_names == (tuple(names) if names else None)
    if names:
        assert theirs.metadata.dimension_names == tuple(names)
    assert a.nbytes == 480 and a.size == 120 and a.ndim == 3 and a.data_type == "float32"


def ngff(version: str, path: pathlib.Path, levels: int = 2, labels: bool = True) -> None:
    """An image as other programs write it."""
    zarr_format: Any = 3 if version == "0.5" else 2
    axes = [{"name": "c", "type": "channel"}] + [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"]
    image = {
        "name": "cells",
        "axes": axes,
        "datasets": [
            {"path": f"s{i}", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5 * 2**i, 0.25 * 2**i]}]}
            for i in range(levels)
        ],
    }

    def wrapped(content: dict[str, Any]) -> dict[str, Any]:
        return {"ome": {"version": "0.5", **content}} if version == "0.5" else content

    if version == "0.4":
        image["version"] = "0.4"
    root = zarr.create_group(str(path), zarr_format=zarr_format, attributes=wrapped({"multiscales": [image]}))
    for i in range(levels):
        values = sample("u2", (2, 16 >> i, 12 >> i), seed=i)
        root.create_array(f"s{i}", shape=values.shape, dtype="u2", chunks=(1, 4, 5))[...] = values
    if labels:
        group = root.create_group("labels", attributes=wrapped({"labels": ["nuclei"]}))
        image = {**image, "name": "nuclei", "datasets": image["datasets"][:1]}  # type: ignore[index]
        label = group.create_group("nuclei", attributes=wrapped({"multiscales": [image], "image-label": {}}))
        label.create_array("s0", shape=(2, 16, 12), dtype="u4")[...] = 3


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_images(tmp_path: pathlib.Path, version: str) -> None:
    ngff(version, tmp_path / "i.zarr")
    image = penstock.open(tmp_path / "i.zarr")
    assert isinstance(image, penstock.Image)
    assert image.version == version and image.name == "cells"
    assert [(a.name, a.type, a.unit) for a in image.axes] == [
        ("c", "channel", ""),
        ("y", "space", "micrometer"),
        ("x", "space", "micrometer"),
    ]
    assert image.scale == (1, 0.5, 0.25) and image.scales[1] == (1, 1, 0.5)
    assert len(image.levels) == 2 and image[-1].shape == (2, 8, 6)
    assert same(image[0][1, ::-1], sample("u2", (2, 16, 12))[1, ::-1])
    assert list(image.labels) == ["nuclei"] and int(image.labels["nuclei"][0][0, 0, 0]) == 3
    assert same(image["s1"][...], image[1][...])
    with pytest.raises(IndexError, match="has 2"):
        image[2]


def test_pickled_nodes_are_opened_again(tmp_path: pathlib.Path) -> None:
    ngff("0.5", tmp_path / "i.zarr")
    image = penstock.open(tmp_path / "i.zarr")
    again = pickle.loads(pickle.dumps(image))
    assert isinstance(again, penstock.Image) and again.url == image.url
    level = penstock.open(tmp_path / "i.zarr/s1", "r+")
    copy = pickle.loads(pickle.dumps(level))
    assert same(copy[...], level[...])
    copy[0, 0, 0] = 9
    with pytest.raises(PermissionError):
        pickle.loads(pickle.dumps(image["s1"]))[0, 0, 0] = 9


def test_an_image_without_labels(tmp_path: pathlib.Path) -> None:
    ngff("0.5", tmp_path / "i.zarr", labels=False)
    image = penstock.open(tmp_path / "i.zarr")
    assert isinstance(image, penstock.Image) and image.labels == {}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_write_pyramid(tmp_path: pathlib.Path, zarr_format: int) -> None:
    values = (np.arange(32 * 24).reshape(32, 24) % 251).astype("u2")
    a = penstock.create(tmp_path / "a", shape=(32, 24), dtype="u2", chunks=(8, 8), zarr_format=zarr_format)
    a[...] = values
    axes = [penstock.Axis("y", "space", "micrometer"), penstock.Axis("x", "space", "micrometer")]
    penstock.write_pyramid(a, tmp_path / "p.zarr", levels=3, axes=axes, scale=[2.0, 3.0], name="n")
    image = penstock.open(tmp_path / "p.zarr")
    assert isinstance(image, penstock.Image)
    assert image.axes == axes and image.scales[2] == (8.0, 12.0)
    assert same(image[0][...], values)
    mean = values.reshape(16, 2, 12, 2).astype("f8").mean((1, 3))
    assert np.abs(image[1][...] - mean).max() <= 0.5
    theirs = zarr.open_group(str(tmp_path / "p.zarr"), mode="r")
    attributes = json.loads(json.dumps(dict(theirs.attrs)))
    assert len(attributes.get("ome", attributes)["multiscales"][0]["datasets"]) == 3
