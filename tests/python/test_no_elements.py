"""Arrays with an extent of 0: everything ends, with nothing or with an error."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import zarr

import penstock

SHAPES = [(0,), (0, 8), (8, 0), (0, 0), (8, 0, 8), (3, 4, 0)]


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_operation_ends(tmp_path: pathlib.Path, shape: tuple[int, ...], sharded: bool) -> None:
    url = str(tmp_path / "a")
    chunks, shards = (2,) * len(shape), (4,) * len(shape) if sharded else None
    a = penstock.create(url, shape=shape, dtype="u2", chunks=chunks, shards=shards)
    a[...] = 7
    a[...] = np.zeros(shape, "u2")
    assert a[...].shape == a.read(threads=4).shape == zarr.open_array(url)[...].shape == shape
    assert a.read_async().result(timeout=60).shape == shape
    assert a[(slice(0, 0),) * len(shape)].size == 0
    if 0 not in shape[1:]:  # and more than nothing
        a.resize((8, *shape[1:]))
        a[...] = 7
        assert (a[...] == 7).all()
        a.resize(shape)
    with pytest.raises(IndexError):
        a[tuple(n for n in shape)]
    assert [p.name for p in (tmp_path / "a").rglob("*") if p.is_file()] == ["zarr.json"]
    assert penstock.open(url)[...].shape == shape
