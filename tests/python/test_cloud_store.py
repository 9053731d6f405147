"""penstock.zarr.PenstockStore: zarr-python's Store over any URL."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import zarr
from servers import s3_options, serving
from zarr.abc.store import RangeByteRequest
from zarr.core.buffer import cpu, default_buffer_prototype
from zarr.core.sync import sync

import penstock
import penstock.zarr
from penstock.zarr import PenstockStore

OURS = {"codec_pipeline.path": "penstock.zarr.CodecPipeline", "codec_pipeline.strict": True}


def test_it_passes_zarr_s_tests_of_stores() -> None:
    # In a file of its own: the classes there are collected by pytest.
    program = pathlib.Path(__file__).with_name("penstock_store_tests.py")
    options = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-n", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(program)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) > 150 and "skipped" not in done.stdout, done.stdout[-300:]


@pytest.mark.parametrize("pipeline", ["zarr", "penstock"])
def test_arrays_there_and_back(tmp_path: pathlib.Path, pipeline: str) -> None:
    values = np.arange(600, dtype="i4").reshape(20, 30)
    with zarr.config.set(OURS if pipeline == "penstock" else {}):
        before = penstock.zarr.native_calls().get("read", 0)
        a = zarr.create_array(
            PenstockStore(tmp_path / "a.zarr"), shape=(20, 30), chunks=(5, 5), shards=(10, 10), dtype="i4"
        )
        a[...] = values
        a[3] = 7
        values[3] = 7
        assert np.array_equal(
            zarr.open_array(PenstockStore(tmp_path / "a.zarr", read_only=True), mode="r")[2:9], values[2:9]
        )
        assert (penstock.zarr.native_calls().get("read", 0) > before) == (pipeline == "penstock")
    assert np.array_equal(zarr.open_array(tmp_path / "a.zarr", mode="r")[...], values)


def test_our_pipeline_reads_it_natively() -> None:
    from penstock._zarr_store import native_store

    store = PenstockStore("memory://native")
    assert native_store(store, writable=True) is store._opened()
    assert native_store(store.with_read_only(True), writable=False).writable is False


def test_a_zip_is_whole_when_it_was_closed(tmp_path: pathlib.Path) -> None:
    store = PenstockStore(tmp_path / "a.zip")
    zarr.create_array(store, shape=(4,), dtype="u1")[...] = 3
    store.close()
    with zarr.storage.ZipStore(tmp_path / "a.zip", mode="r") as zipped:
        assert zarr.open_array(zipped, mode="r")[...].tolist() == [3, 3, 3, 3]


def test_ranges_past_the_end_are_cut() -> None:
    store = PenstockStore("memory://ranges")
    sync(store.set("k", cpu.Buffer.from_bytes(b"0123456789")))
    for (start, end), expected in {(8, 14): b"89", (10, 12): b"", (3, 3): b""}.items():
        got = sync(store.get("k", default_buffer_prototype(), RangeByteRequest(start, end)))
        assert got is not None and got.to_bytes() == expected
    assert sync(store.get("absent", default_buffer_prototype(), RangeByteRequest(3, 20))) is None


def test_what_is_wrong_is_said_when_it_is_opened(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync(PenstockStore.open(tmp_path / "absent", read_only=True))
    with pytest.raises(ValueError, match="no option 'regoin'; did you mean region"):
        sync(PenstockStore.open("s3://b/x", options={"regoin": "x"}))
    with pytest.raises(TypeError, match="options are a mapping"):
        PenstockStore("s3://b/x", options=["region"])  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError):
        sync(PenstockStore.open("https://host/x"))
    assert not PenstockStore("https://host/x", read_only=True).supports_listing


def test_secrets_are_not_shown_but_travel(tmp_path: pathlib.Path) -> None:
    import pickle

    with serving("objects") as url:
        store = PenstockStore("s3://bucket/a", options=s3_options(url))
        sync(store.set("k", cpu.Buffer.from_bytes(b"x")))
        assert "testsecret" not in repr(store) + str(store)
        copy: Any = pickle.loads(pickle.dumps(store))
        assert copy == store and sync(copy.exists("k"))
    shown = repr(PenstockStore("https://user:testsecret@host/x?sig=testsecret", read_only=True))
    assert "testsecret" not in shown and "host" in shown
