"""Image operators on stored arrays: nothing is read until it is asked for, and writes are whole or not there."""

from __future__ import annotations

import pathlib
import re
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from images import MODES, expect_same, image

import penstock as ps
import penstock.ndimage as nd


def test_affine_transforms_of_stored_arrays(tmp_path: pathlib.Path) -> None:
    x = image((50, 40, 30), "f4")
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(8, 20, 30))
    a[...] = x
    matrix = [[0.9, 0.1, 0], [-0.1, 0.9, 0], [0, 0.2, 1]]
    for mode in MODES:
        made = nd.affine_transform(ps.open(tmp_path / "a.zarr"), matrix, [1, 2, -3], mode=mode)
        wanted = nd.affine_transform(x, matrix, [1, 2, -3], mode=mode)
        expect_same(made[5:40, 3:, ::2], wanted[5:40, 3:, ::2])
    b = made.write(tmp_path / "b.zarr", device="cpu", budget="8MiB")
    expect_same(b[...], wanted)
    with pytest.raises(TypeError, match="read the stored array"):
        nd.map_coordinates(a, np.zeros((3, 1)))


def test_a_stored_array_stays_where_it_is(tmp_path: pathlib.Path) -> None:
    x = image((50, 60, 40), "f4")
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(16, 20, 40))
    a[...] = x
    a = ps.open(tmp_path / "a.zarr")
    smooth = nd.gaussian_filter(a, 2)
    half = nd.resize(smooth, scale=0.5)
    assert a.last_report is None, "nothing was read"
    assert (smooth.shape, smooth.dtype, half.shape) == (x.shape, x.dtype, (25, 30, 20))
    wanted = nd.gaussian_filter(x, 2)
    expect_same(smooth[10:30, ::-3, 5], wanted[10:30, ::-3, 5])
    assert smooth[1, 2, 3] == pytest.approx(wanted[1, 2, 3], abs=1e-2)
    expect_same(np.asarray(half), nd.resize(wanted, scale=0.5))
    for name in ("tiles", "twice", "memory", "correlate along axis 0"):
        assert name in half.explain(device="cpu", budget="16MiB")
    b = half.write(tmp_path / "b.zarr", device="cpu", budget="16MiB", chunks=10)
    assert b.chunks == (10, 10, 10)
    expect_same(b[...], nd.resize(wanted, scale=0.5))
    np.testing.assert_allclose(nd.percentile(a, [1, 99.5], budget="8MiB"), np.percentile(x.astype("f8"), [1, 99.5]))
    with pytest.raises(FileExistsError):
        half.write(tmp_path / "b.zarr", device="cpu")
    with pytest.raises(ps.BudgetError, match="needs") as caught:
        half.write(tmp_path / "c.zarr", device="cpu", budget="20KiB")
    with pytest.raises(FileNotFoundError):
        ps.open(tmp_path / "c.zarr")
    enough = re.search(r"at least (\d+) bytes", caught.value.__notes__[0])
    assert enough is not None
    half.write(tmp_path / "c.zarr", device="cpu", budget=int(enough[1]))
    expect_same(ps.open(tmp_path / "c.zarr")[...], nd.resize(wanted, scale=0.5))


STOPPED = {
    "killed": "lambda what, done, total: done * 2 > total and os.kill(os.getpid(), signal.SIGKILL)",
    "full": "lambda what, done, total: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))",
}


@pytest.mark.parametrize("how", STOPPED)
def test_a_write_that_is_stopped_leaves_no_array(tmp_path: pathlib.Path, how: str) -> None:
    x = image((192, 64, 64), "f4")
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(8, 64, 64))
    a[...] = x
    program = f"""
import os, resource, signal, sys, penstock, penstock.ndimage as nd
lazy = nd.gaussian_filter(penstock.open(sys.argv[1] + "/a.zarr"), 1)
try:
    lazy.write(sys.argv[1] + "/b.zarr", device="cpu", budget="2MiB", progress={STOPPED[how]})
except OSError as error:
    print(error)
    sys.exit(3)
"""
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=False)
    assert ended.returncode == (-signal.SIGKILL if how == "killed" else 3), ended.stderr
    if how == "full":
        assert "b.zarr" in ended.stdout and "too large" in ended.stdout.lower()
    assert (tmp_path / "b.zarr").exists(), "it was under way"
    with pytest.raises(FileNotFoundError):
        ps.open(tmp_path / "b.zarr")
    expect_same(ps.open(tmp_path / "a.zarr")[...], x)
    made = nd.gaussian_filter(ps.open(tmp_path / "a.zarr"), 1).write(tmp_path / "b.zarr", device="cpu", overwrite=True)
    expect_same(made[...], nd.gaussian_filter(x, 1))


def test_a_result_is_not_written_over_its_array(tmp_path: pathlib.Path) -> None:
    """However the place is spelled: it would read what is not there any more."""
    group = ps.create_group(tmp_path / "a.zarr")
    x = np.random.default_rng(3).integers(0, 99, (40, 40), "u2")
    group.create_array("0", shape=x.shape, dtype=x.dtype, chunks=(16, 16))[...] = x
    (tmp_path / "link").symlink_to(tmp_path / "a.zarr")
    for source in (ps.open(tmp_path / "a.zarr/0"), ps.open(tmp_path / "a.zarr")["0"]):
        made = nd.gaussian_filter(source, 2)
        for to in (
            "a.zarr/0",
            "a.zarr/./0",
            "link/0",
            "../" + tmp_path.name + "/a.zarr//0",
            "a.zarr",
            "a.zarr/0/inner",
        ):
            with pytest.raises(ValueError, match="would replace the array"):
                made.write(f"{tmp_path}/{to}", overwrite=True)
        with pytest.raises(ValueError, match="would replace the array"):
            made.write(f"file://{tmp_path}/a.zarr/0", overwrite=True)
        np.testing.assert_array_equal(source[...], x)
        made.write(tmp_path / "a.zarr/1", overwrite=True)  # beside it is well


def test_two_writes_to_one_place_do_not_mix(tmp_path: pathlib.Path) -> None:
    x = image((192, 64, 64), "f4")
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(8, 64, 64))
    a[...] = x
    first, second = nd.gaussian_filter(a, 1), nd.maximum_filter(a, 3)
    met: list[Any] = []

    def meet(what: str, done: int, total: int) -> None:
        if done and not met:
            met.append(1)
            with pytest.raises(FileExistsError, match="another write to this place is under way"):
                second.write(tmp_path / "b.zarr", device="cpu")
            met.append(2)

    made = first.write(tmp_path / "b.zarr", device="cpu", budget="2MiB", progress=meet)
    assert met == [1, 2]
    expect_same(made[...], nd.gaussian_filter(x, 1))
    assert not list(tmp_path.rglob(".penstock*"))

    # Who overwrites takes the place over, and the other one is told.
    def take_over(what: str, done: int, total: int) -> None:
        if done and len(met) == 2:
            met.append(second.write(tmp_path / "b.zarr", device="cpu", overwrite=True))

    with pytest.raises(FileExistsError, match="was begun meanwhile"):
        first.write(tmp_path / "b.zarr", device="cpu", budget="2MiB", progress=take_over, overwrite=True)


def test_larger_than_the_budget(tmp_path: pathlib.Path) -> None:
    """A sharded array of six times the budget, against the whole."""
    x = image((192, 128, 128), "f4")
    a = ps.create(tmp_path / "a.zarr", shape=x.shape, dtype=x.dtype, chunks=(4, 32, 32), shards=(4, 64, 64), codecs=[])
    a[...] = x
    budget = x.nbytes // 6
    b = nd.gaussian_filter(ps.open(tmp_path / "a.zarr"), 1).write(tmp_path / "b.zarr", device="cpu", budget=budget)
    report = b.last_report
    assert report is not None
    assert report.peak_host_bytes <= budget
    assert b.shards == (4, 64, 64)
    expect_same(b[...], nd.gaussian_filter(x, 1))


def test_selections_of_nothing(tmp_path: pathlib.Path) -> None:
    a = ps.create(tmp_path / "a.zarr", shape=(6, 5), dtype="u2", chunks=(3, 2))
    a[...] = np.arange(30).reshape(6, 5)
    for lazy in (nd.gaussian_filter(a, 1), nd.median_filter(a, 3), nd.zoom(a, 2, order=1), nd.sum(a, axes=1)):
        for selection in (slice(0, 0), slice(3, 2), (slice(4, 4), ...), (..., slice(9, 3))):
            made = lazy[selection]
            assert made.dtype == lazy.dtype
            assert made.shape == np.empty(lazy.shape)[selection].shape
