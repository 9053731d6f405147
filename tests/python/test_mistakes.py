"""What a mistake is answered with: the kind of exception and its text, word for word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import penstock as ps
import penstock.ndimage


@pytest.fixture
def a(tmp_path: Path) -> ps.Array:
    return ps.create(tmp_path / "a.zarr", shape=(8, 6), dtype="u1", chunks=(4, 3), dimension_names=["y", "x"])


@pytest.fixture
def image(a: ps.Array, tmp_path: Path) -> Any:
    ps.write_pyramid(a, tmp_path / "i.zarr", levels=2)
    return ps.open(tmp_path / "i.zarr")


URL = "a url is text or a path, not"
INDEX = "only integers, slices and '...'"
ARRAY: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda a: a[1.0], IndexError, f"dimension 0: cannot index with float: {INDEX}"),
    (lambda a: a["x"], IndexError, f"dimension 0: cannot index with str 'x': {INDEX}"),
    (lambda a: a.read("0:4"), IndexError, "dimension 0: cannot index with str '0:4': write slice(0, 4)"),
    (lambda a: a[:, ":4:2"], IndexError, "dimension 1: cannot index with str ':4:2': write slice(None, 4, 2)"),
    (lambda a: a[[1, 2]], IndexError, f"dimension 0: cannot index with list (array or list indexing): {INDEX}"),
    (lambda a: ps.open(b"x"), TypeError, f"{URL} bytes"),
    (lambda a: ps.open(None), TypeError, f"{URL} NoneType"),
    (lambda a: ps.open(1.5), TypeError, f"{URL} float"),
    (lambda a: ps.create(b"x", shape=1, dtype="u1"), TypeError, f"{URL} bytes"),
    (lambda a: ps.create_group(object()), TypeError, f"{URL} object"),
    (lambda a: ps.copy(a, b"x"), TypeError, f"{URL} bytes"),
    (lambda a: ps.copy("a", "b"), TypeError, "source is a penstock.Array, Group or Image, not str"),
    (
        lambda a: penstock.ndimage.gaussian_filter("a.zarr", 1),
        TypeError,
        "a path is no array; penstock.open('a.zarr') opens what is there",
    ),
    (
        lambda a: penstock.ndimage.percentile(Path("a.zarr"), 1),
        TypeError,
        "a path is no array; penstock.open('a.zarr') opens what is there",
    ),
    (lambda a: ps.consolidate(a.url), TypeError, "{url} is an array; only groups have consolidated metadata"),
    (lambda a: ps.write_label(a, "cells", a), TypeError, "image is a penstock.Image, not Array"),
    (lambda a: ps.write_pyramid(a, 3), TypeError, f"{URL} int"),
    (lambda a: ps.write_pyramid("a", "b"), TypeError, "source is a penstock.Array, not str"),
    (lambda a: ps.write_pyramid(a, "b", axes=[1, 2]), TypeError, "an axis is a name or a penstock.Axis, not int"),
    (lambda a: ps.open(a.url, "w"), ValueError, "mode 'w': it is 'r', 'r+' or 'a'; penstock.create makes new arrays"),
    (lambda a: ps.open(a.url, None), ValueError, "mode None: it is 'r', 'r+' or 'a'; penstock.create makes new arrays"),
    (lambda a: ps.read_many([a]), TypeError, "items are (array, selection) or (array, selection, out), not Array"),
    (lambda a: ps.read_many({"a": 1}), TypeError, "items are (array, selection) or (array, selection, out), not str"),
    (lambda a: ps.read_many([(1, 2)]), TypeError, "items are (array, selection) or (array, selection, out), not tuple"),
    (
        lambda a: a.write(..., np.int64(300), casting="same_kind"),
        TypeError,
        "value: cannot cast int64 to uint8 with casting='same_kind'",
    ),
    (lambda a: a[None], IndexError, f"dimension 0: cannot index with None (np.newaxis): {INDEX}"),
    (lambda a: a[:, True], IndexError, f"dimension 1: cannot index with a boolean: {INDEX}"),
    (lambda a: a[1, 2, 3], IndexError, "too many indices: the array has 2 dimensions, 3 were given"),
    (lambda a: a[..., ...], IndexError, "an index can only have a single ellipsis ('...')"),
    (lambda a: a[8], IndexError, "index 8 is out of bounds for dimension 0 with size 8"),
    (lambda a: a[::0], ValueError, "slice step cannot be zero"),
    (lambda a: a.read(threads=0), ValueError, "threads must be at least 1, not 0"),
    (lambda a: a.read(budget=0), ValueError, "budget must be more than nothing, not 0"),
    (lambda a: a.read(decode="gpu"), ValueError, "decode 'gpu': it is 'auto', 'cpu', 'device', 'nvcomp'"),
    (lambda a: a.write(0, 1, encode="nvcomp"), ValueError, "encode 'nvcomp': it is 'auto', 'cpu', 'device'"),
    (lambda a: a.read(on_error="skip"), ValueError, "on_error must be 'fail' or 'fill'"),
    (
        lambda a: a.read(deadline="2s"),
        TypeError,
        "deadline is a number of seconds or a datetime.timedelta, not str",
    ),
    (
        lambda a: a.read(deadline=True),
        TypeError,
        "deadline is a number of seconds or a datetime.timedelta, not bool",
    ),
    (lambda a: a.read(deadline=float("nan")), ValueError, "deadline is not a number"),
    (
        lambda a: a.read(memory=3),
        TypeError,
        "memory is int; known are CuPy's pools and allocator functions, torch.cuda, and objects with allocate and "
        "deallocate (penstock.Allocator)",
    ),
    (
        lambda a: a.read(memory=print),
        ValueError,
        "memory is CuPy's, of CUDA devices; these elements are in host memory",
    ),
    (lambda a: a.read(stream=3), ValueError, "stream is for CUDA devices; this read goes to host memory"),
    (lambda a: a.write(0, 1, stream=3), ValueError, "stream is for values in CUDA memory"),
    (
        lambda a: a.read(out=[1]),
        TypeError,
        "out is list, which is neither a NumPy array nor a buffer and has neither __dlpack__ nor "
        "__cuda_array_interface__",
    ),
    (
        lambda a: ps.asarray(3),
        TypeError,
        "x is int, which is neither a NumPy array nor a buffer and has neither __dlpack__ nor __cuda_array_interface__",
    ),
    (
        lambda a: ps.asarray(np.zeros(2, ">u2")),
        TypeError,
        "x holds >u2, in the other byte order; x.astype('<u2') first",
    ),
    (
        lambda a: a.read(out=np.zeros((8, 6), "i4")),
        TypeError,
        "out holds int32, the array uint8: they must be the same",
    ),
    (lambda a: a.read(out=np.zeros((8, 5), "u1")), ValueError, "out has shape (8, 5), the selection (8, 6)"),
    (lambda a: len(ps.asarray(np.float32(1))), TypeError, "len() of a 0-d tensor"),
]
IMAGE: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda i: i[:], TypeError, "an image is indexed by level: image[0][...]"),
    (lambda i: i[0, 0], TypeError, "an image is indexed by level: image[0][...]"),
    (lambda i: i[1.0], TypeError, "an image is indexed by level: image[0][...]"),
    (lambda i: np.asarray(i), TypeError, "an image is not an array; name a level: image[0]"),
    (
        lambda i: ps.write_pyramid(i, "x"),
        TypeError,
        "source is an Image, not an Array; name a member or a level",
    ),
    (
        lambda i: ps.copy(i, "x", selection=np.s_[:2]),
        TypeError,
        "a selection is of one array: copy a member of the group",
    ),
]


def check(call: Callable[[Any], Any], kind: type[Exception], text: str, node: Any) -> None:
    with pytest.raises(kind) as caught:
        call(node)
    assert str(caught.value) == text.replace("{url}", getattr(node, "url", ""))


def test_there_are_enough_and_none_speaks_of_the_binding() -> None:
    assert len(ARRAY) + len(IMAGE) >= 35
    for _, _, text in [*ARRAY, *IMAGE]:
        assert not any(word in text for word in ("nanobind", "incompatible function arguments", "_core", "std::"))


@pytest.mark.parametrize(("call", "kind", "text"), ARRAY)
def test_mistakes_with_arrays(call: Any, kind: Any, text: str, a: ps.Array) -> None:
    check(call, kind, text, a)


@pytest.mark.parametrize(("call", "kind", "text"), IMAGE)
def test_mistakes_with_images(call: Any, kind: Any, text: str, image: Any) -> None:
    check(call, kind, text, image)


def test_group_is_no_array(tmp_path: Path) -> None:
    group = ps.create_group(tmp_path / "g.zarr")
    check(np.asarray, TypeError, "a group is not an array; name a member: group['name']", group)
    check(lambda g: g[1], TypeError, "a member of a group is named by text, not int", group)


def test_chunks_that_ask_for_a_choice(tmp_path: Path) -> None:
    for i, chunks in enumerate([None, True, "auto"]):
        made = ps.create(tmp_path / f"{i}.zarr", shape=(50, 50), dtype="u2", chunks=chunks)
        assert made.chunks == (50, 50)
    for wrong in (False, "big"):
        text = f"chunks {wrong!r}: it is a shape, or None, True or 'auto' for a choice"
        check(lambda c: ps.create("memory://c", shape=4, dtype="u1", chunks=c), TypeError, text, wrong)


def test_attributes_write_through(a: ps.Array, tmp_path: Path) -> None:
    a.attrs["k"] = 1
    a.attrs.update(m=[2], n=np.int16(3))
    del a.attrs["k"]
    assert ps.open(a.url).attrs == {"m": [2], "n": 3}
    group = ps.create_group(tmp_path / "g.zarr")
    group.attrs["g"] = "x"
    assert ps.open(group.url).attrs == {"g": "x"}
    with pytest.raises(PermissionError):
        ps.open(a.url).attrs["k"] = 1


def test_huge_array_says_what_to_do() -> None:
    huge = ps.create("memory://huge", shape=(1 << 30, 1 << 20), dtype="u1", chunks=(1 << 10, 1 << 10))
    with pytest.raises(MemoryError, match=r"\(1073741824, 1048576\).*read a region, or use dask"):
        huge[...]


def test_opens_what_zarr_python_has_open(a: ps.Array) -> None:
    theirs = zarr.open_array(str(a.url), mode="r")
    assert ps.open(theirs).shape == (8, 6)
    assert ps.open(theirs.store).shape == (8, 6)
    with pytest.raises(TypeError, match="a url is text or a path, not MemoryStore"):
        ps.open(zarr.storage.MemoryStore())


def test_what_stands_there_is_replaced_by_an_argument_that_is_named(a: ps.Array, tmp_path: Path) -> None:
    lazy = penstock.ndimage.gaussian_filter(a, 1)
    lazy.write(tmp_path / "b.zarr")
    for call in (lambda: ps.create(a.url, shape=3, dtype="u1"), lambda: lazy.write(tmp_path / "b.zarr")):
        with pytest.raises(FileExistsError) as caught:
            call()
        assert caught.value.__notes__ == ["Choose another place, or allow overwriting (overwrite=True)."]


def test_axes_by_name(a: ps.Array, tmp_path: Path) -> None:
    ps.write_pyramid(a, tmp_path / "n.zarr", levels=1, axes=["y", "x"])
    assert [(axis.name, axis.type) for axis in ps.open(tmp_path / "n.zarr").axes] == [("y", "space"), ("x", "space")]


def test_a_path_that_is_not_there_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("nope.zarr", str(tmp_path / "nope.zarr")):
        check(ps.open, FileNotFoundError, f"[Errno 2] no zarr array or group here: {path!r}", path)
    for path in ("nope.tif", str(tmp_path / "nope.nii.gz")):
        check(ps.open, FileNotFoundError, f"[Errno 2] no such file: {path!r}", path)


def test_files_of_other_formats_do_not_become_directories(a: ps.Array, tmp_path: Path) -> None:
    lazy = penstock.ndimage.gaussian_filter(a, 1)
    for name, call in {
        "a.tif": lambda url: lazy.write(url),
        "b.tif": lambda url: ps.create(url, shape=4, dtype="u1"),
        "c.nii.gz": lambda url: ps.create_group(url),
        "d.nii": lambda url: ps.copy(a, url),
    }.items():
        with pytest.raises(ps.UnsupportedError, match=f"{name}: files of this name are .*, not zarr"):
            call(tmp_path / name)
        assert not (tmp_path / name).exists()
