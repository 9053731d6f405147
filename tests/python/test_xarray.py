"""xarray and dask over stores that penstock copies, changes and reads: nothing missing that was there, nothing more."""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

import penstock
import penstock.zarr

COMMAND = pathlib.Path(penstock.__file__).parent / "bin" / "penstock"
CHANGES = {
    "plain": [],
    "chunks": ["--chunks", "5"],
    "codec": ["--codec", "gzip"],
    "v2": ["--zarr-format", "2"],
    "v3": ["--zarr-format", "3"],
    "shards": ["--zarr-format", "3", "--chunks", "3", "--shards", "6"],
    "all": ["--zarr-format", "3", "--chunks", "4", "--shards", "8", "--codec", "blosc"],
    "zip": [],
}


def dataset() -> xr.Dataset:
    """One variable of each thing that a fill value could be mistaken for."""
    n = 12
    numbers = np.arange(n)
    gaps = np.where(numbers % 5 == 2, np.nan, numbers * 0.5)
    words = ["", "a", "Grüße", "日本"] * 3
    variables: dict[str, Any] = {
        "zeros": ("x", np.zeros(n, "i4")),
        "ints": ("x", numbers),
        "unsigned": ("x", numbers.astype("u1")),
        "floats": ("x", gaps.astype("f4")),
        "doubles": (("x", "y"), np.stack([gaps, gaps[::-1]], axis=1)),
        "halves": ("x", gaps.astype("f2")),
        "complex": ("x", gaps + 1j * numbers),
        "packed": ("x", gaps),
        "flags": ("x", numbers % 3 == 0),
        "when": ("x", pd.date_range("2000-01-01", periods=n)),
        "some_time": ("x", np.where(numbers % 4 == 1, np.datetime64("NaT"), np.datetime64("2001-02-03T04:05:06"))),
        "lag": ("x", np.where(numbers % 4 == 1, np.timedelta64("NaT", "ns"), np.timedelta64(90, "s"))),
        "marked": ("x", gaps),
        "text": ("x", np.array(words)),
        "objects": ("x", np.array(words, object)),
        "bytes": ("x", np.array([b"", b"a", b"bc"] * 4)),
        "scalar": ((), 5),
        "real_scalar": ((), 0.0),
    }
    return xr.Dataset(variables, coords={"x": numbers * 10}, attrs={"title": "Grüße"})


ENCODING = {
    "packed": {"dtype": "int16", "scale_factor": 0.1, "add_offset": 2.0, "_FillValue": -32767},
    "marked": {"dtype": "float32", "_FillValue": -9999.0},
}


def penstock_copy(source: pathlib.Path, target: pathlib.Path, *options: str) -> None:
    done = subprocess.run([COMMAND, "copy", source, target, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def same_for_xarray(copied: Any, source: Any) -> None:
    for decoded in (True, False):
        ours = xr.open_zarr(copied, mask_and_scale=decoded, decode_times=decoded).load()
        theirs = xr.open_zarr(source, mask_and_scale=decoded, decode_times=decoded).load()
        if not decoded:  # where the mark of what is missing is kept differs between the zarr versions, not its value
            for name in theirs.variables:
                mark, other = (d[name].attrs.get("_FillValue") for d in (ours, theirs))
                assert np.array_equal(np.asarray(mark, "c16"), np.asarray(other, "c16"), equal_nan=True), name
                for d in (ours, theirs):
                    d[name].attrs.pop("_FillValue", None)
        xr.testing.assert_identical(ours, theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_is_the_same_to_xarray(
    tmp_path: pathlib.Path, zarr_format: Any, change: str, consolidated: bool
) -> None:
    source, target = tmp_path / "source.zarr", tmp_path / ("copy.zip" if change == "zip" else "copy.zarr")
    dataset().to_zarr(source, zarr_format=zarr_format, encoding=ENCODING, consolidated=consolidated)
    penstock_copy(source, target, *CHANGES[change])
    if change != "zip":
        same_for_xarray(target, source)
        return
    store = zarr.storage.ZipStore(target, mode="r")
    same_for_xarray(store, source)
    store.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target_format", [2, 3])
@pytest.mark.parametrize("source_format", [2, 3])
def test_arrays_copied_by_python_are_the_same_to_xarray(
    tmp_path: pathlib.Path, source_format: Any, target_format: Any
) -> None:
    source, target = tmp_path / "source.zarr", tmp_path / "copy.zarr"
    dataset().to_zarr(source, zarr_format=source_format, encoding=ENCODING, consolidated=False)
    group = penstock.open(source)
    assert isinstance(group, penstock.Group)
    penstock.create_group(target, zarr_format=target_format, attributes=group.attrs)
    for name, array in group.items():
        penstock.copy(array, target / name, zarr_format=target_format)
    same_for_xarray(target, source)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_there_and_back_keeps_what_is_missing(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    source, there, back = (tmp_path / name for name in ("source.zarr", "there.zarr", "back.zarr"))
    dataset().to_zarr(source, zarr_format=zarr_format, encoding=ENCODING, consolidated=True)
    penstock_copy(source, there, "--zarr-format", str(5 - zarr_format))
    penstock_copy(there, back, "--zarr-format", str(zarr_format))
    same_for_xarray(back, source)


def nested(path: pathlib.Path, zarr_format: Any) -> None:
    root = zarr.create_group(str(path), zarr_format=zarr_format)
    root.create_array("a", shape=(8, 8), chunks=(4, 2), dtype="i4", compressors=None)[...] = np.arange(64).reshape(8, 8)
    root.create_group("g").create_array("b", shape=(3,), dtype="u1")[...] = 1
    zarr.consolidate_metadata(str(path / "g"))
    zarr.consolidate_metadata(str(path))


def consolidated_names(path: pathlib.Path) -> list[str]:
    """What the consolidated metadata name; they must be there."""
    group = zarr.open_consolidated(str(path), mode="r")
    return sorted(name for name, _ in group.members(max_depth=None))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("to_format", [2, 3])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_copied_group_has_consolidated_metadata_of_its_own(
    tmp_path: pathlib.Path, zarr_format: Any, to_format: Any
) -> None:
    nested(tmp_path / "s.zarr", zarr_format)
    penstock_copy(
        tmp_path / "s.zarr", tmp_path / "d.zarr", "--chunks", "2", "--codec", "gzip", "--zarr-format", str(to_format)
    )
    assert consolidated_names(tmp_path / "d.zarr") == ["a", "g", "g/b"]
    assert consolidated_names(tmp_path / "d.zarr" / "g") == ["b"]
    a = zarr.open_consolidated(str(tmp_path / "d.zarr"), mode="r")["a"]
    assert isinstance(a, zarr.Array)
    assert a.chunks == (2, 2) and np.array_equal(a[...], np.arange(64).reshape(8, 8))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opened_at", ["root", "node"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_every_change_reaches_the_consolidated_metadata_above(
    tmp_path: pathlib.Path, zarr_format: Any, opened_at: str
) -> None:
    path = tmp_path / "s.zarr"
    nested(path, zarr_format)

    def node(name: str) -> Any:
        """Through the store's root, or by a URL whose store begins at the node itself."""
        if opened_at == "node":
            return penstock.open(path / name, "r+")
        root: Any = penstock.open(path, "r+")
        return root[name]

    def theirs(name: str) -> Any:
        return zarr.open_consolidated(str(path), mode="r")[name]

    node("a").resize((10, 8))
    assert theirs("a").shape == (10, 8)
    node("g/b").set_attributes({"k": 1})
    assert dict(theirs("g/b").attrs) == {"k": 1}
    assert dict(zarr.open_consolidated(str(path / "g"), mode="r")["b"].attrs) == {"k": 1}
    node("g").set_attributes({"of": "g"})
    assert dict(theirs("g").attrs) == {"of": "g"}
    node("g").create_array("new", shape=(2,), dtype="u1")
    node("g").create_group("inner")
    assert consolidated_names(path) == ["a", "g", "g/b", "g/inner", "g/new"]
    node("g").create_array("b", shape=(7,), dtype="i2", overwrite=True)
    assert theirs("g/b").shape == (7,)
    penstock.copy(node("a"), path / "g" / "copied")
    assert theirs("g/copied").shape == (10, 8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_stands_is_believed_before_consolidated_metadata(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    path = tmp_path / "s.zarr"
    nested(path, zarr_format)
    document = path / (".zmetadata" if zarr_format == 2 else "zarr.json")
    stale = document.read_text()
    zarr.open_group(str(path), mode="r+", use_consolidated=False).create_array("late", shape=(2,), dtype="u1")[...] = 3
    document.write_text(stale)
    group = penstock.open(path)
    assert isinstance(group, penstock.Group)
    assert group.keys() == ["a", "g", "late"]
    (path / "late").joinpath("0" if zarr_format == 2 else "c/0").write_bytes(b"broken")
    assert subprocess.run([COMMAND, "verify", path], capture_output=True, check=False).returncode == 65
    zarr.open_group(str(path), mode="r+", use_consolidated=False)["late"][...] = 3  # type: ignore[index]
    penstock_copy(path, tmp_path / "d.zarr")
    assert consolidated_names(tmp_path / "d.zarr") == ["a", "g", "g/b", "late"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nothing_is_consolidated_that_was_not(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    source = tmp_path / "s.zarr"
    zarr.create_group(str(source), zarr_format=zarr_format).create_array("a", shape=(2,), dtype="u1")
    penstock_copy(source, tmp_path / "d.zarr")
    penstock.open(tmp_path / "d.zarr" / "a", "r+").set_attributes({"k": 1})  # type: ignore[union-attr]
    assert not (tmp_path / "d.zarr" / ".zmetadata").exists()
    if zarr_format == 3:
        assert "consolidated_metadata" not in json.loads((tmp_path / "d.zarr" / "zarr.json").read_text())


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_dask_reads_and_stores(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    values = np.arange(120).reshape(12, 10)
    a = penstock.create(tmp_path / "a", shape=(12, 10), dtype="i8", chunks=(5, 4), zarr_format=zarr_format)
    a[...] = values
    lazy = da.from_array(a, chunks=a.chunks)
    assert np.array_equal((lazy * 2)[3:11, ::3].compute(), (values * 2)[3:11, ::3])
    assert lazy[lazy > 50].sum().compute() == values[values > 50].sum()
    b = penstock.create(tmp_path / "b", shape=(12, 10), dtype="i8", chunks=(5, 4), zarr_format=zarr_format)
    da.store(lazy + 1, b)
    assert np.array_equal(b[...], values + 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_xarray_and_dask_over_our_pipeline(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    data = dataset()[["floats", "packed", "marked", "when", "doubles", "scalar"]]
    with zarr.config.set({"codec_pipeline.path": "penstock.zarr.CodecPipeline"}):
        data.chunk(x=4).to_zarr(tmp_path / "s.zarr", zarr_format=zarr_format, encoding=ENCODING)
        more = data.drop_vars("scalar").assign_coords(x=data.x + 120)
        more.to_zarr(tmp_path / "s.zarr", append_dim="x", zarr_format=zarr_format)
        ours = xr.open_zarr(tmp_path / "s.zarr").load()
        picked = xr.open_zarr(tmp_path / "s.zarr").isel(x=[1, 7, 20]).load()
        lazy = da.from_zarr(str(tmp_path / "s.zarr" / "floats")).compute()
    theirs = xr.open_zarr(tmp_path / "s.zarr").load()
    xr.testing.assert_identical(ours, theirs)
    xr.testing.assert_identical(picked, theirs.isel(x=[1, 7, 20]))
    assert ours.sizes["x"] == 24 and np.array_equal(lazy, theirs.floats.values, equal_nan=True)


@pytest.mark.filterwarnings("ignore")
def test_what_v3_cannot_say_is_said_by_the_command(tmp_path: pathlib.Path) -> None:
    root = zarr.create_group(str(tmp_path / "s.zarr"), zarr_format=2)
    for name, dtype in (("text", "<U3"), ("number", "<i4")):
        a = root.create_array(name, shape=(2,), dtype=dtype, fill_value="" if name == "text" else 0)
        a.attrs["_ARRAY_DIMENSIONS"] = ["x"]
    done = subprocess.run(
        [COMMAND, "copy", tmp_path / "s.zarr", tmp_path / "d.zarr", "--zarr-format", "3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "copy: text: " in done.stderr and '"missing"' in done.stderr and "number" not in done.stderr
    number = json.loads((tmp_path / "d.zarr" / "number" / "zarr.json").read_text())
    assert number["attributes"] == {"_FillValue": 0} and number["dimension_names"] == ["x"]
