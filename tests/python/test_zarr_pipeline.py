"""zarr-python with ``penstock.zarr.CodecPipeline`` gives what it gives with its own pipeline, natively where it can."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import operator
import pathlib
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr
import zarr.storage
from zarr.registry import register_codec

import penstock
import penstock._stream
import penstock._zarr_boxes
import penstock.zarr

from support import NUMERIC, sample

PIPELINE = "penstock.zarr.CodecPipeline"
ZARRS_OWN = "zarr.core.codec_pipeline.BatchedCodecPipeline"


@pytest.fixture(autouse=True)
def pipeline() -> Iterator[None]:
    """The pipeline, strict: what is not native fails the test."""
    with zarr.config.set({"codec_pipeline.path": PIPELINE, "codec_pipeline.strict": True}):
        yield


def created(
    store: Any,
    data: np.ndarray[Any, Any],
    chunks: tuple[int, ...],
    shards: tuple[int, ...] | None = None,
    **kwargs: Any,
) -> zarr.Array[Any]:
    array = zarr.create_array(store, shape=data.shape, dtype=data.dtype, chunks=chunks, shards=shards, **kwargs)
    array[...] = data
    return array


def by_zarr(store: Any, selection: Any, **kwargs: Any) -> Any:
    """What zarr-python's own pipeline reads."""
    with zarr.config.set({"codec_pipeline.path": ZARRS_OWN}):
        return zarr.open_array(store, mode="r", **kwargs)[selection]


def stores(folder: pathlib.Path) -> list[Any]:
    return [str(folder / "a.zarr"), zarr.storage.MemoryStore(), zarr.storage.LocalStore(folder / "b.zarr")]


BASIC: list[Any] = [
    ...,
    (slice(3, 30), slice(None), slice(5, 6)),
    (slice(None, None, 3), slice(1, 20, 2), 4),
    (7, 8, 9),
    (slice(10, 11), ..., slice(0, 17)),
    (0,),
    (slice(2, 33, 16), slice(20, 21), ...),
]


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("shards", [None, (16, 16, 16)])
def test_basic_selections(tmp_path: pathlib.Path, kind: int, shards: tuple[int, ...] | None) -> None:
    data = sample("u2", (33, 21, 18))
    store = stores(tmp_path)[kind]
    before = penstock.zarr.native_calls()
    created(store, data, (8, 8, 8), shards)
    array = zarr.open_array(store, mode="r")
    for selection in BASIC:
        np.testing.assert_array_equal(array[selection], data[selection])
        np.testing.assert_array_equal(by_zarr(store, selection), data[selection])
    after = penstock.zarr.native_calls()
    assert after["read"] - before.get("read", 0) == len(BASIC)
    assert after["write"] - before.get("write", 0) == 1


@pytest.mark.parametrize("shards", [None, (16, 16)])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_index_arrays(tmp_path: pathlib.Path, shards: tuple[int, ...] | None, zarr_format: int) -> None:
    if zarr_format == 2 and shards:
        shards = None
    data = sample("i4", (40, 35))
    array = created(str(tmp_path / "a.zarr"), data, (8, 8), shards, zarr_format=zarr_format)
    rows, columns = np.array([3, 17, 17, 39, 0]), np.array([30, 2, 9, 9, 34])
    np.testing.assert_array_equal(array.oindex[rows, slice(4, 20)], data[rows, 4:20])
    np.testing.assert_array_equal(array.oindex[rows, columns], data[np.ix_(rows, columns)])
    np.testing.assert_array_equal(array.oindex[5, columns], data[5, columns])
    np.testing.assert_array_equal(array.vindex[rows, columns], data[rows, columns])
    mask = data % 3 == 0
    np.testing.assert_array_equal(array.get_mask_selection(mask), data[mask])
    np.testing.assert_array_equal(array.blocks[1:3, 2], data[8:24, 16:24] if not shards else array[16:48, 32:48])


ROWS, COLUMNS = np.array([3, 17, 18, 39, 0, 16]), np.array([30, 2, 9, 8, 34, 3])
MASK = sample("i4", (40, 35)) % 3 == 0
INDEXED: dict[str, Any] = {
    "rows": lambda a, v: a.oindex.__setitem__((ROWS, slice(4, 20)), v((6, 16))),
    "rows and columns": lambda a, v: a.oindex.__setitem__((ROWS[:2], COLUMNS), v((2, 6))),
    "a row of columns": lambda a, v: a.oindex.__setitem__((5, COLUMNS), v((6,))),
    "a column, every third row": lambda a, v: a.oindex.__setitem__((slice(1, None, 3), [7]), v((13, 1))),
    "whole chunks": lambda a, v: a.oindex.__setitem__((np.arange(8, 24), slice(None)), v((16, 35))),
    "a mask for each axis": lambda a, v: a.oindex.__setitem__((np.arange(40) % 7 == 0, slice(0, 9)), v((6, 9))),
    "points": lambda a, v: a.vindex.__setitem__((ROWS, COLUMNS), v((6,))),
    "points twice": lambda a, v: a.vindex.__setitem__(
        (np.r_[ROWS, ROWS], np.r_[COLUMNS, COLUMNS]), np.resize(v((6,)), 12)
    ),
    "a mask": lambda a, v: a.set_mask_selection(MASK, v((int(MASK.sum()),))),
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("shards", [None, (16, 16)])
@pytest.mark.parametrize("kind", range(2))
def test_writing_through_index_arrays(
    tmp_path: pathlib.Path, name: str, shards: Any, kind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = sample("i4", (40, 35))
    for scalar in (False, True):
        store = stores(tmp_path / str(scalar))[kind]
        theirs = zarr.storage.MemoryStore()

        def value(shape: tuple[int, ...], scalar: bool = scalar) -> Any:
            return -5 if scalar else sample("i4", shape, 1)

        with zarr.config.set({"codec_pipeline.path": ZARRS_OWN}):
            INDEXED[name](created(theirs, data, (8, 8)), value)  # zarr-python 3.1 cannot do all of it in shards
        array = created(store, data, (8, 8), shards)
        before = penstock.zarr.native_calls()["write"]
        INDEXED[name](array, value)
        assert penstock.zarr.native_calls()["write"] == before + 1
        want = by_zarr(theirs, ...)
        assert not np.array_equal(want, data)
        np.testing.assert_array_equal(array[...], want)
        np.testing.assert_array_equal(by_zarr(store, ...), want)
    # In groups, as when the boxes are many.
    monkeypatch.setattr(penstock._zarr_boxes, "_MOST_BYTES", 300)
    array[...] = data
    INDEXED[name](array, value)
    np.testing.assert_array_equal(array[...], want)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", ["bool", ">f8", "c8", "U4", "M8[ns]", "string"])
def test_other_data_types_through_index_arrays(tmp_path: pathlib.Path, dtype: str, zarr_format: int) -> None:
    data = sample(dtype, (30, 4)) if dtype == "string" else sample(dtype, (30, 4)).astype(dtype)
    new = data[::-1][:3]
    kind: Any = str if dtype == "string" else data.dtype
    array = zarr.create_array(tmp_path, shape=(30, 4), chunks=(8, 3), dtype=kind, zarr_format=zarr_format)
    array[...] = data
    array.oindex[[1, 9, 28], :] = new
    want = data.copy()
    want[[1, 9, 28]] = new
    np.testing.assert_array_equal(np.asarray(array[...]).astype(want.dtype), want)
    np.testing.assert_array_equal(np.asarray(by_zarr(tmp_path, ...)).astype(want.dtype), want)
    rows, columns = np.array([28, 3, 17, 9]), np.array([0, 3, 1, 1])
    np.testing.assert_array_equal(np.asarray(array.oindex[rows, :]).astype(want.dtype), want[rows])
    np.testing.assert_array_equal(np.asarray(array.oindex[rows, 2]).astype(want.dtype), want[rows, 2])
    np.testing.assert_array_equal(np.asarray(array.vindex[rows, columns]).astype(want.dtype), want[rows, columns])


def test_index_arrays_leave_no_chunk_of_fill_values(tmp_path: pathlib.Path) -> None:
    for keep in (False, True):
        path = tmp_path / str(keep)
        with zarr.config.set({"array.write_empty_chunks": keep}):
            array = zarr.create_array(path, shape=(12,), dtype="f4", chunks=(4,), fill_value=1)
            array.oindex[[1, 9]] = [5, 6]
            assert sorted(p.name for p in (path / "c").iterdir()) == ["0", "2"]
            array.oindex[[1, 5]] = [1, 1]
            assert sorted(p.name for p in (path / "c").iterdir()) == (["0", "1", "2"] if keep else ["2"])
        np.testing.assert_array_equal(by_zarr(path, ...), [1] * 9 + [6, 1, 1])


def test_damage_in_what_index_arrays_change_is_named(tmp_path: pathlib.Path) -> None:
    array = created(str(tmp_path / "a.zarr"), sample("u2", (16,)), (8,))
    (tmp_path / "a.zarr" / "c" / "1").write_bytes(b"damaged")
    with pytest.raises(penstock.CorruptDataError, match="c/1"):
        array.oindex[[2, 9]] = 0
    np.testing.assert_array_equal(array[:8], sample("u2", (16,))[:8])


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_data_types(tmp_path: pathlib.Path, dtype: str, zarr_format: int) -> None:
    for order in ("<", ">"):
        data = sample(dtype, (20, 9))
        kind = data.dtype.newbyteorder(order)
        array = created(str(tmp_path / f"{order == '<'}.zarr"), data.astype(kind), (8, 4), zarr_format=zarr_format)
        got = array[1:19, 2:]
        assert got.dtype.newbyteorder("=") == data.dtype
        np.testing.assert_array_equal(got, data[1:19, 2:])
        np.testing.assert_array_equal(by_zarr(str(tmp_path / f"{order == '<'}.zarr"), ...), data)


def test_parts_are_merged(tmp_path: pathlib.Path) -> None:
    for shards in (None, (20, 20)):
        model = np.zeros((37, 44), "u2")
        path = str(tmp_path / f"{shards}.zarr")
        array = zarr.create_array(path, shape=model.shape, dtype="u2", chunks=(10, 10), shards=shards, fill_value=0)
        rng = np.random.default_rng(3)
        for _ in range(25):
            low = [int(rng.integers(0, n)) for n in model.shape]
            high = [int(rng.integers(a + 1, n + 1)) for a, n in zip(low, model.shape, strict=True)]
            step = [int(rng.integers(1, 4)) for _ in low]
            where = tuple(slice(a, b, s) for a, b, s in zip(low, high, step, strict=True))
            value = rng.integers(0, 2, model[where].shape).astype("u2") * 7
            array[where] = value
            model[where] = value
            np.testing.assert_array_equal(array[...], model)
        array[...] = 5
        model[...] = 5
        np.testing.assert_array_equal(by_zarr(path, ...), model)


def test_grown_and_shrunk_arrays_keep_their_edges(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "a.zarr")
    array = zarr.create_array(path, shape=(10,), dtype="i4", chunks=(8,), fill_value=-1)
    array[...] = np.arange(10)
    array.resize((16,))
    array[10:] = np.arange(10, 16)
    array[8:10] = [80, 90]  # the pipeline was made when the array ended here
    np.testing.assert_array_equal(array[...], [*range(8), 80, 90, *range(10, 16)])
    array.resize((40,))
    array[30:40] = 1
    np.testing.assert_array_equal(array[14:32], [14, 15, *[-1] * 14, 1, 1])
    array.resize((12,))
    array[11:] = 3
    np.testing.assert_array_equal(array[...], by_zarr(path, ...))


@pytest.mark.parametrize("keep", [False, True])
def test_chunks_of_fill_values(tmp_path: pathlib.Path, keep: bool) -> None:
    path = tmp_path / "a.zarr"
    with zarr.config.set({"array.write_empty_chunks": keep}):
        array = zarr.create_array(path, shape=(8,), dtype="f4", chunks=(4,), fill_value=np.nan)
        array[...] = [1, 2, 3, 4, np.nan, np.nan, np.nan, np.nan]
    assert (path / "c" / "1").exists() == keep
    np.testing.assert_array_equal(array[...], [1, 2, 3, 4] + [np.nan] * 4)


def test_nested_arrays_zero_dimensions_and_scalars(tmp_path: pathlib.Path) -> None:
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    for zarr_format in (2, 3):
        root = group if zarr_format == 3 else zarr.open_group(tmp_path / "g2.zarr", mode="w", zarr_format=2)
        array = root.create_array("deep/er", shape=(6, 0), dtype="u1", chunks=(2, 1))
        assert array[...].shape == (6, 0)
        scalar = root.create_array("deep/one", shape=(), dtype="f8", fill_value=2.5)
        assert scalar[()] == 2.5
        scalar[()] = 7.25
        assert scalar[()] == 7.25 == root["deep/one"][...]
        named = root.create_array("deep/x", shape=(5, 5), dtype="i2", chunks=(2, 2), fill_value=3)
        named[1:4, 2] = 9
        expected = np.full((5, 5), 3)
        expected[1:4, 2] = 9
        np.testing.assert_array_equal(named[...], expected)


def test_text(tmp_path: pathlib.Path) -> None:
    words = np.array([["a", "Grüße"], ["", "日本" * 30]], dtype=object)
    array = zarr.create_array(tmp_path / "a.zarr", shape=(2, 2), dtype=str, chunks=(1, 2))
    array[...] = words
    np.testing.assert_array_equal(array[...].astype(object), words)


def test_missing_chunks_are_told_apart(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "read_missing_chunks" not in zarr.config.get("array"):
        assert tuple(int(n) for n in zarr.__version__.split(".")[:2]) < (3, 2)
        return
    array = zarr.create_array(tmp_path / "a.zarr", shape=(8,), dtype="i4", chunks=(4,))
    array[:4] = 1
    with zarr.config.set({"array.read_missing_chunks": False}):
        strict = zarr.open_array(tmp_path / "a.zarr", mode="r")
    np.testing.assert_array_equal(strict[:4], 1)
    with pytest.raises(Exception, match="chunk 'c/1'"):
        strict[...]
    # Index arrays are read in groups: what an earlier group lacks counts too.
    monkeypatch.setattr(penstock._zarr_boxes, "_MOST_BYTES", 1)
    turned = zarr.create_array(tmp_path / "b.zarr", shape=(8,), dtype="i4", chunks=(4,))
    turned[4:] = 1
    with zarr.config.set({"array.read_missing_chunks": False}):
        strict = zarr.open_array(tmp_path / "b.zarr", mode="r")
    with pytest.raises(Exception, match="chunk 'c/0'"):
        strict.oindex[np.array([1, 5])]


def test_pickled_arrays_work(tmp_path: pathlib.Path) -> None:
    data = sample("u2", (20, 20))
    array = pickle.loads(pickle.dumps(created(str(tmp_path / "a.zarr"), data, (8, 8))))
    np.testing.assert_array_equal(array[...], data)


def test_forked_workers_use_zarrs_pipeline_and_spawned_ones_ours(tmp_path: pathlib.Path) -> None:
    array = created(str(tmp_path / "a.zarr"), np.arange(5, 25), (8,))
    array[...]
    with zarr.config.set({"codec_pipeline.strict": False}), warnings.catch_warnings():
        warnings.simplefilter("ignore", (penstock.zarr.FallbackWarning, DeprecationWarning))
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                assert pool.submit(operator.itemgetter(0), array).result(timeout=60) == 5


def test_reads_run_side_by_side(tmp_path: pathlib.Path) -> None:
    data = sample("u2", (64, 64))
    array = created(str(tmp_path / "a.zarr"), data, (8, 8), (16, 16))

    async def many() -> list[Any]:
        return await asyncio.gather(*(array.async_array.getitem((slice(i, i + 9), slice(None))) for i in range(50)))

    for i, got in enumerate(asyncio.run(many())):
        np.testing.assert_array_equal(got, data[i : i + 9])


def test_the_stream_in_use_reaches_the_thread_that_works(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = created(str(tmp_path / "a.zarr"), np.arange(5, 25), (8,))
    seen = []
    memory_of = penstock.zarr.CodecPipeline._memory_of

    def spy(*args: Any) -> Any:
        seen.append(penstock._stream._used.get())
        return memory_of(*args)

    monkeypatch.setattr(penstock.zarr.CodecPipeline, "_memory_of", spy)
    stream = object()
    with penstock.zarr.use_stream(stream):
        array[...]
        array[0] = 7
    array[...]
    assert seen == [stream, stream, None]


class OwnBytes(zarr.codecs.BytesCodec):
    """Somebody's codec in the place of zarr-python's."""


def own_codec() -> Any:
    register_codec("bytes", OwnBytes)
    return zarr.config.set({"codecs.bytes": f"{__name__}.{OwnBytes.__qualname__}"})


def test_read_only_stays_so_and_own_codecs_are_kept(tmp_path: pathlib.Path) -> None:
    created(str(tmp_path / "a.zarr"), sample("u2", (16,)), (8,))
    with pytest.raises(ValueError, match="read-only"):
        zarr.open_array(str(tmp_path / "a.zarr"), mode="r")[...] = 1
    np.testing.assert_array_equal(by_zarr(str(tmp_path / "a.zarr"), ...), sample("u2", (16,)))

    with own_codec():
        array = zarr.open_array(str(tmp_path / "a.zarr"), mode="r")
        with pytest.raises(penstock.UnsupportedError, match="OwnBytes"):
            array[...]


def test_damage_is_named(tmp_path: pathlib.Path) -> None:
    array = created(str(tmp_path / "a.zarr"), sample("u2", (16,)), (8,))
    (tmp_path / "a.zarr" / "c" / "1").write_bytes(b"damaged")
    with pytest.raises(penstock.CorruptDataError, match="c/1"):
        array[...]
    np.testing.assert_array_equal(array[:8], sample("u2", (16,))[:8])


def test_what_is_not_native_is_announced_counted_and_forbidden(tmp_path: pathlib.Path) -> None:
    created(str(tmp_path / "a.zarr"), sample("u2", (12, 9)), (4, 4))
    with own_codec():
        array = zarr.open_array(str(tmp_path / "a.zarr"), mode="r+")
    with pytest.raises(penstock.UnsupportedError, match="OwnBytes"):
        array[2] = 1
    before = sum(penstock.zarr.fallbacks().values())
    with zarr.config.set({"codec_pipeline.strict": False}), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        array[2, 2:5] = 1
        array[2, 5:8] = 2
    announced = [w for w in caught if issubclass(w.category, penstock.zarr.FallbackWarning)]
    assert len(announced) == 1 and "zarr-python: codec class" in str(announced[0].message)
    assert sum(penstock.zarr.fallbacks().values()) == before + 2
    expected = sample("u2", (12, 9))
    expected[2, 2:5], expected[2, 5:8] = 1, 2
    np.testing.assert_array_equal(by_zarr(str(tmp_path / "a.zarr"), ...), expected)


def test_an_unknown_codec_is_announced_by_name(tmp_path: pathlib.Path) -> None:
    path, data = str(tmp_path / "a.zarr"), sample("u2", (12,))
    with zarr.config.set({"codec_pipeline.strict": False}), pytest.warns(penstock.zarr.FallbackWarning, match="base64"):
        array = created(path, data, (4,), zarr_format=2, compressors=numcodecs.Base64())
        np.testing.assert_array_equal(array[...], data)
    with pytest.raises(penstock.UnsupportedError, match="base64"):
        zarr.open_array(path, mode="r")[...]


def test_a_failing_store_is_an_error(tmp_path: pathlib.Path) -> None:
    class Failing(zarr.storage.MemoryStore):
        broken = False

        async def get(self, key: str, *args: Any, **kwargs: Any) -> Any:
            if self.broken and "/" in key:
                raise ConnectionError("the line is dead")
            return await super().get(key, *args, **kwargs)

        def get_sync(self, key: str, **kwargs: Any) -> Any:
            if self.broken and "/" in key:
                raise ConnectionError("the line is dead")
            return super().get_sync(key, **kwargs)

    store = Failing()
    array = created(store, sample("u2", (16,)), (8,))
    store.broken = True
    with pytest.raises(OSError, match=r"c/\d.*the line is dead"):
        array[...]
