"""Writing: read-modify-write, broadcasting, casting, what is stored."""

from __future__ import annotations

import gc
import pathlib
import subprocess
import sys
import warnings
import zipfile
from typing import Any

import hypothesis.extra.numpy as npst
import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock

import support
from support import same


@settings(max_examples=120)
@given(data=st.data())
def test_any_sequence_of_writes(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Writes of random regions, steps and negatives, checked against NumPy after each and by zarr-python last."""
    shape = data.draw(npst.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=9))
    chunks = [data.draw(st.integers(1, extent)) for extent in shape]
    sharded = bool(shape) and data.draw(st.booleans())
    shards = [chunk * data.draw(st.integers(1, 3)) for chunk in chunks] if sharded else None
    fill = data.draw(st.sampled_from([0, 5]))
    path = tmp_path_factory.mktemp("w") / "a"
    a = penstock.create(path, shape=shape, dtype="i4", chunks=chunks, shards=shards, fill_value=fill)
    want = np.full(shape, fill, "i4")
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(npst.basic_indices(shape, allow_newaxis=False))
        region = want[index]
        value = data.draw(npst.arrays("i4", np.shape(region), elements=st.integers(0, 9)))
        want[index] = value
        a[index] = value
        assert same(a[...], want)
    assert same(support.read_with_zarr(path), want)


@pytest.fixture
def array(tmp_path: pathlib.Path) -> penstock.Array:
    return penstock.create(tmp_path / "a.zarr", shape=(6, 8), dtype="i4", chunks=(4, 3))


@pytest.mark.parametrize("value", [3, np.arange(8), np.arange(6)[:, None], [[1], [2], [3], [4], [5], [6]], 2.7, True])
def test_values_are_broadcast_and_cast_as_numpy_does(array: penstock.Array, value: Any) -> None:
    want = np.zeros((6, 8), "i4")
    want[...] = value
    array[...] = value
    assert same(array[...], want)


@pytest.mark.parametrize(
    "make",
    [
        lambda v: v.T.copy().T,
        lambda v: np.repeat(v, 2, 1)[:, ::2],
        lambda v: v[::-1][::-1],
        lambda v: v.astype(">i4"),
        lambda v: v.astype("i8"),
    ],
    ids=["F", "strided", "reversed", "big-endian", "wider"],
)
def test_sources_of_any_layout(array: penstock.Array, make: Any) -> None:
    values = np.arange(48, dtype="i4").reshape(6, 8)
    array[...] = make(values)
    assert same(array[...], values)


def test_values_that_do_not_fit(array: penstock.Array) -> None:
    with pytest.raises(ValueError, match="broadcast"):
        array[...] = np.zeros((5, 8))
    with pytest.raises(OverflowError):
        array[0, 0] = 2**40
    with pytest.raises(IndexError):
        array[6] = 1


def test_only_the_fill_value_is_not_stored(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    array[:4, :3] = 1
    array[4:, 3:6] = 0
    assert [k for k in support.store_bytes(tmp_path / "a.zarr") if k != "zarr.json"] == ["c/0/0"]
    array[...] = 0
    assert list(support.store_bytes(tmp_path / "a.zarr")) == ["zarr.json"]


def test_absent_chunks_read_as_the_fill_value(tmp_path: pathlib.Path) -> None:
    a = penstock.create(tmp_path / "a", shape=(5, 5), dtype="f4", chunks=(2, 2), fill_value=np.nan)
    a[1, 1] = 3
    want = np.full((5, 5), np.nan, "f4")
    want[1, 1] = 3
    assert same(a[...], want)
    assert a.last_report is not None and a.last_report.absent_chunks == 8
    assert same(support.read_with_zarr(tmp_path / "a"), want)


def test_read_only(array: penstock.Array) -> None:
    reader = penstock.open(array.url)
    assert isinstance(reader, penstock.Array)
    with pytest.raises(PermissionError, match="reading only"):
        reader[0, 0] = 1
    with pytest.raises(PermissionError, match="reading only"):
        reader.resize((1, 1))
    with pytest.raises(PermissionError, match="reading only"):
        reader.set_attributes({"a": 1})
    assert penstock.open(array.url).shape == array.shape
    writer = penstock.open(array.url, "r+")
    assert isinstance(writer, penstock.Array)
    writer[0, 0] = 9
    assert reader[0, 0] == 9


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1, 1, 1)])
def test_small_shapes(tmp_path: pathlib.Path, shape: tuple[int, ...], zarr_format: int) -> None:
    values = np.full(shape, 7, "u2")
    a = penstock.create(tmp_path / "a", shape=shape, dtype="u2", zarr_format=zarr_format)
    a[...] = values
    assert same(a[...], values)
    assert same(support.read_with_zarr(tmp_path / "a"), values)
    theirs = zarr.create_array(
        str(tmp_path / "b"), shape=shape, dtype="u2", chunks=tuple(max(1, s) for s in shape), zarr_format=zarr_format
    )
    theirs[...] = values
    ours = penstock.open(tmp_path / "b")
    assert isinstance(ours, penstock.Array)
    assert same(ours[...], values)
    if shape == ():
        assert ours[()] == 7 and isinstance(ours[()], np.uint16)


def test_resize(tmp_path: pathlib.Path) -> None:
    a = penstock.create(tmp_path / "a", shape=(6, 6), dtype="u1", chunks=(2, 2), fill_value=9)
    a[...] = 1
    a.resize((3, 8))
    assert a.shape == (3, 8)
    want = np.full((3, 8), 9, "u1")
    want[:, :6] = 1
    assert same(a[...], want)
    assert same(support.read_with_zarr(tmp_path / "a"), want)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"chunks": (3, 3)},
        {"chunks": (2, 2), "shards": (8, 8)},
        {"codecs": []},
        {"codecs": ["gzip"], "zarr_format": 2},
        {"separator": "."},
        {"selection": np.s_[2:9, ::-1], "chunks": (4, 4)},
    ],
    ids=str,
)
def test_copy(tmp_path: pathlib.Path, changes: dict[str, Any]) -> None:
    values = support.sample("u2", (11, 13))
    a = penstock.create(tmp_path / "a", shape=(11, 13), dtype="u2", chunks=(4, 5), attributes={"unit": "mm"})
    a[...] = values
    b = penstock.copy(a, tmp_path / "b", budget="64MiB", **changes)
    assert same(b[...], values[changes.get("selection", ...)])
    assert same(support.read_with_zarr(tmp_path / "b"), values[changes.get("selection", ...)])
    assert b.attrs == {"unit": "mm"} and b.zarr_format == changes.get("zarr_format", 3)
    assert b.shards == changes.get("shards")
    with pytest.raises(FileExistsError):
        penstock.copy(a, tmp_path / "b")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_zip_both_ways(tmp_path: pathlib.Path, zarr_format: int) -> None:
    values = support.sample("f4", (10, 12))
    with penstock.create(tmp_path / "a.zip", shape=(10, 12), dtype="f4", chunks=(4, 5), zarr_format=zarr_format) as a:
        a[...] = values
    with zarr.storage.ZipStore(tmp_path / "a.zip", mode="r") as store:
        assert same(zarr.open_array(store, mode="r")[...], values)
    with zarr.storage.ZipStore(tmp_path / "b.zip", mode="w") as store:
        zarr.create_array(store, shape=(10, 12), dtype="f4", chunks=(4, 5), zarr_format=zarr_format)[...] = values
    assert same(penstock.open(tmp_path / "b.zip")[...], values)
    for penstock_path in (tmp_path / "a.zip", tmp_path / "b.zip"):
        again = penstock.open(penstock_path)
        assert isinstance(again, penstock.Array)
        assert same(again[::-1, 3], values[::-1, 3])


def test_memory_store() -> None:
    a = penstock.create("memory://write-test", shape=(5,), dtype="u1")
    a[...] = np.arange(5)
    again = penstock.open("memory://write-test")
    assert isinstance(again, penstock.Array)
    assert again[...].tolist() == [0, 1, 2, 3, 4]


def test_create_says_what_is_wrong(tmp_path: pathlib.Path) -> None:
    def create(**spec: Any) -> penstock.Array:
        return penstock.create(tmp_path / "x", **{"shape": (4, 4), "dtype": "u1", **spec})

    with pytest.raises(penstock.UnsupportedError, match="zstdd") as caught:
        create(codecs=["zstdd"])
    assert "zstd" in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    with pytest.raises(ValueError, match="multiples"):
        create(chunks=(2, 2), shards=(3, 4))
    with pytest.raises(ValueError, match="v2 has no shards"):
        create(chunks=(2, 2), shards=(4, 4), zarr_format=2)
    with pytest.raises(ValueError, match="dimension names"):
        create(dimension_names=["x"])
    with pytest.raises(ValueError, match="extent"):
        create(chunks=(0, 2))
    with pytest.raises(ValueError, match="zarr_format"):
        create(zarr_format=4)
    with pytest.raises(TypeError, match="string"):
        create(dtype=object)
    with pytest.raises(TypeError):
        create(dtype="f16")
    with pytest.raises(OverflowError):
        create(fill_value=300)
    assert not (tmp_path / "x" / "zarr.json").exists()
    create()
    with pytest.raises(FileExistsError):
        create()
    create(overwrite=True)


def zip_names(path: pathlib.Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_an_archive_is_saved_with_its_last_handle(tmp_path: pathlib.Path) -> None:
    a = penstock.create(tmp_path / "a.zip", shape=4, dtype="u1", chunks=2)
    again = penstock.Array._open(a._core.store, "")
    a[...] = 5
    del a
    assert not (tmp_path / "a.zip").exists()
    with pytest.warns(ResourceWarning, match=r"a\.zip was not flushed; it is saved now"):
        del again
    assert "c/0" in zip_names(tmp_path / "a.zip")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flushed = penstock.open(tmp_path / "a.zip", "r+")
        flushed[...] = 6
        flushed.flush()
        del flushed
    assert (penstock.open(tmp_path / "a.zip")[...] == 6).all()


def test_an_archive_is_saved_when_the_program_ends(tmp_path: pathlib.Path) -> None:
    code = """if True:
        import os, sys
        import penstock
        b = penstock.create(sys.argv[1], shape=4, dtype="u1", chunks=2)
        b[...] = 5
        keep = [b]
        keep.append(keep)
        if os.fork() == 0:
            sys.exit(0)  # saves nothing: the parent is still writing
        os.wait()
        assert not os.path.exists(sys.argv[1])
        b[:2] = 6
    """
    run = [sys.executable, "-W", "default", "-c", code, str(tmp_path / "b.zip")]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert "b.zip was not flushed; it is saved now" in done.stderr
    assert penstock.open(tmp_path / "b.zip")[...].tolist() == [6, 6, 5, 5]


def test_an_archive_stays_as_it_was_after_an_exception(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="half way"), penstock.create(tmp_path / "c.zip", shape=4, dtype="u1") as c:
        c[:2] = 1
        raise RuntimeError("half way")
    del c
    gc.collect()
    assert not (tmp_path / "c.zip").exists()
