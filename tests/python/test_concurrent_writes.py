"""Rows of one chunk or shard, written by several handles, processes and libraries at once: none is lost."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest
import zarr

import penstock
import penstock.zarr

ROWS = 64
REPEATS = 20


def make(url: str, sharded: bool) -> None:
    chunks, shards = ((8, 256), (ROWS, 256)) if sharded else ((ROWS, 256), None)
    penstock.create(url, shape=(ROWS, 256), dtype="u2", chunks=chunks, shards=shards)


def write_rows(url: str, rows: range) -> None:
    for row in rows:
        penstock.open(url, "r+")[row] = np.full(256, row + 1, "u2")


def lost(url: str) -> int:
    return int((penstock.open(url)[...] != np.arange(1, ROWS + 1)[:, None]).any(axis=1).sum())


def in_threads(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("kind", ["file", "memory"])
def test_threads_with_a_handle_each(tmp_path: pathlib.Path, kind: str, sharded: bool) -> None:
    url = str(tmp_path / "a") if kind == "file" else f"memory://concurrent-{sharded}"
    make(url, sharded)
    in_threads([lambda t=t: write_rows(url, range(t, ROWS, 8)) for t in range(8)])  # type: ignore[misc]
    assert lost(url) == 0


@pytest.mark.parametrize("sharded", [False, True])
def test_processes(tmp_path: pathlib.Path, sharded: bool) -> None:
    code = "import sys, numpy, penstock\nfor row in range(int(sys.argv[2]), 64, 4):\n"
    code += "    penstock.open(sys.argv[1], 'r+')[row] = numpy.full(256, row + 1, 'u2')"
    for repeat in range(2):  # tests/faults/test_writers_at_once.cpp has more
        url = str(tmp_path / f"a{repeat}")
        make(url, sharded)
        workers = [subprocess.Popen([sys.executable, "-c", code, url, str(p)]) for p in range(4)]
        assert [worker.wait() for worker in workers] == [0] * 4
        assert lost(url) == 0, f"repeat {repeat}"


def test_a_part_of_the_hierarchy_as_a_store_beside_the_whole(tmp_path: pathlib.Path) -> None:
    penstock.create_group(str(tmp_path / "g"))
    url = str(tmp_path / "g" / "a")
    make(url, False)

    def through_the_group(rows: range) -> None:
        for row in rows:
            penstock.open(str(tmp_path / "g"), "r+")["a"][row] = np.full(256, row + 1, "u2")

    in_threads([lambda: write_rows(url, range(0, ROWS, 2)), lambda: through_the_group(range(1, ROWS, 2))])
    assert lost(url) == 0


def write_by_both(url: str) -> None:
    with zarr.config.set({"codec_pipeline.path": "penstock.zarr.CodecPipeline"}):
        handles = [zarr.open_array(url, mode="r+") for _ in range(2)]

        def by_zarr(theirs: zarr.Array, rows: range) -> None:
            for row in rows:
                theirs[row] = np.full(256, row + 1, "u2")

        in_threads(
            [lambda t=t: by_zarr(handles[t // 2], range(t, ROWS, 5)) for t in range(3)]  # type: ignore[misc]
            + [lambda t=t: write_rows(url, range(t, ROWS, 5)) for t in (3, 4)]  # type: ignore[misc]
        )


@pytest.mark.parametrize("sharded", [False, True])
def test_zarr_python_with_our_pipeline_beside_penstock(tmp_path: pathlib.Path, sharded: bool) -> None:
    for repeat in range(REPEATS):  # each with first calls of the pipeline, which make what it keeps
        url = str(tmp_path / f"a{repeat}")
        make(url, sharded)
        write_by_both(url)
        assert lost(url) == 0, f"repeat {repeat}"


def test_an_older_handle_keeps_what_a_newer_one_changed(tmp_path: pathlib.Path) -> None:
    url = str(tmp_path / "a")
    make(url, False)
    older, newer = penstock.open(url, "r+"), penstock.open(url, "r+")
    newer.resize((128, 256))
    older.set_attributes({"x": 1})
    assert penstock.open(url).shape == (128, 256)
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["zarr.json"]
