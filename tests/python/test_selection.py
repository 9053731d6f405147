"""Indexing is NumPy's."""

from __future__ import annotations

import pathlib
from typing import Any

import hypothesis.extra.numpy as npst
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock

from support import same, sample

SHAPE = (7, 5, 6)
VALUES = np.arange(np.prod(SHAPE), dtype="i4").reshape(SHAPE)


@pytest.fixture(scope="module")
def array(tmp_path_factory: pytest.TempPathFactory) -> penstock.Array:
    a = penstock.create(tmp_path_factory.mktemp("s") / "a.zarr", shape=SHAPE, dtype="i4", chunks=(3, 2, 4))
    a[...] = VALUES
    return a


@settings(max_examples=400)
@given(index=npst.basic_indices(SHAPE, allow_newaxis=False, allow_ellipsis=True))
def test_any_basic_index_gives_what_numpy_gives(array: penstock.Array, index: Any) -> None:
    want = VALUES[index]
    got = array[index]
    assert type(got) is type(want)
    assert same(got, want)


@settings(max_examples=150)
@given(shape=npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6), data=st.data())
def test_any_shape(tmp_path_factory: pytest.TempPathFactory, shape: tuple[int, ...], data: st.DataObject) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype="u2").reshape(shape)
    chunks = [data.draw(st.integers(1, max(1, extent + 1))) for extent in shape]
    a = penstock.create(tmp_path_factory.mktemp("any") / "a.zarr", shape=shape, dtype="u2", chunks=chunks)
    a[...] = values
    index = data.draw(npst.basic_indices(shape, allow_newaxis=False))
    assert same(a[index], values[index])


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (None, "None"),
        ((0, None), "None"),
        (True, "boolean"),
        (np.True_, "boolean"),
        ([0, 1], "list"),
        (np.array([0, 1]), "ndarray"),
        (np.ones(SHAPE, bool), "ndarray"),
        (1.5, "float"),
        ("x", "str"),
        (7, "out of bounds"),
        (-8, "out of bounds"),
        ((0, 0, 6), "dimension 2"),
        ((0, 0, 0, 0), "too many"),
        ((..., ...), "ellipsis"),
    ],
)
def test_refused_indices_say_why(array: penstock.Array, index: Any, words: str) -> None:
    with pytest.raises(IndexError, match=words):
        array[index]


def test_refused_indices_say_what_to_do(array: penstock.Array) -> None:
    with pytest.raises(IndexError) as caught:
        array[[0, 1]]
    assert "read_many" in caught.value.__notes__[0]


def test_step_of_zero(array: penstock.Array) -> None:
    with pytest.raises(ValueError, match="zero"):
        array[::0]


def test_integers_of_numpy_and_index_protocol(array: penstock.Array) -> None:
    class Two:
        def __index__(self) -> int:
            return 2

    assert same(array[np.int64(2), Two(), np.uint8(1)], VALUES[2, 2, 1])


def test_length_and_iteration(array: penstock.Array) -> None:
    assert len(array) == 7
    assert same(np.stack(list(array)), VALUES)


def test_read_many(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    other = penstock.create(tmp_path / "b.zarr", shape=(9,), dtype="f8", chunks=(4,))
    other[...] = np.arange(9.0)
    out = np.full((5, 6), -1, "i4")
    got = penstock.read_many(
        [(array, np.s_[1:6:2, ::-1]), (other, np.s_[-1]), (array, 3, out), (other, ...)], budget="64MiB"
    )
    assert same(got[0], VALUES[1:6:2, ::-1])
    assert got[1] == 8.0 and isinstance(got[1], np.float64)
    assert got[2] is out and same(out, VALUES[3])
    assert same(got[3], np.arange(9.0))
    assert array.last_report is other.last_report


def test_read_many_of_slices_is_numpys(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    class Two:
        def __index__(self) -> int:
            return 2

    ends = [None, 0, 1, Two(), 3, 6, 7, 100, -1, -3, -100, 2**70]
    random = np.random.default_rng(5)

    def some_slice() -> slice:
        start, stop = (ends[i] for i in random.integers(0, len(ends), 2))
        return slice(start, stop, [None, 1, 2, 5, -1, -3, 2**70, -(2**70)][random.integers(0, 8)])

    indices = [tuple(some_slice() for _ in range(3)) for _ in range(500)]
    indices += [(), (slice(2, 4),), (slice(None), 3, slice(None)), (slice(1, 3), ..., slice(2))]
    for got, index in zip(penstock.read_many((array, i) for i in indices), indices, strict=True):
        assert same(got, VALUES[index])
        assert got.flags.owndata and got.flags.writeable

    flat = np.arange(300_000, dtype="u4")  # around the size from which memory is aligned
    long = penstock.create(tmp_path / "long", shape=flat.shape, dtype="u4", chunks=(4096,))
    long[...] = flat
    parts = [np.s_[7:count] for count in (65_542, 65_543, 300_000)]
    for got, part in zip(penstock.read_many([(long, (p,)) for p in parts]), parts, strict=True):
        assert same(got, flat[part])

    single = penstock.create(tmp_path / "single", shape=(), dtype="f4", chunks=())
    single[...] = 1.5
    (got,) = penstock.read_many([(single, ())])
    assert got == 1.5 and type(got) is np.float32

    with pytest.raises(ValueError, match="zero"):
        penstock.read_many([(array, np.s_[:, ::0, :])])
    with pytest.raises(TypeError, match="slice indices"):
        penstock.read_many([(array, (slice("a"), slice(None), slice(None)))])  # type: ignore[misc]


def test_read_many_of_all_types(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    kinds = ["string", "bytes", "M8[ns]", "V3", "U4", "string"]
    values = [sample(kind, (4, 5), seed) for seed, kind in enumerate(kinds)]
    arrays = []
    for i, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        arrays.append(penstock.create(tmp_path / str(i), shape=(4, 5), dtype=kind, chunks=(3, 2)))
        arrays[-1][...] = value
    out = np.full((4, 10), "old", object)
    index = np.s_[::-1, 1::2]
    got = penstock.read_many(
        [*((a, index) for a in arrays), (array, 2), (arrays[0], ..., out[:, ::-2]), (arrays[1], (1, 2))]
    )
    for a, want in zip(got, values, strict=False):
        assert same(a, want[index])
    assert same(got[6], VALUES[2]) and same(out[:, ::-2], values[0]) and (out[:, ::2] == "old").all()
    assert got[8] == values[1][1, 2] and type(got[8]) is bytes
    with pytest.raises(penstock.CorruptDataError, match="c/0/0"):
        (tmp_path / "1" / "c/0/0").write_bytes(b"nonsense")
        penstock.read_many([(array, ...), (arrays[1], ...)])
