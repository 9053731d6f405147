"""penstock.codecs and penstock.zarr with zarr-python's buffers in CUDA memory.  Where there are a GPU and CuPy."""

from __future__ import annotations

import asyncio
import pathlib
import warnings
from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np
import pytest
import zarr
import zarr.storage
from zarr.buffer.gpu import buffer_prototype

import penstock
import penstock._codecs_cuda
import penstock._zarr_boxes
import penstock.codecs
import penstock.zarr

from support import sample
from zarr_codecs import OURS, STORES, Counted, spec, zarrs_own


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    with zarr.config.set(penstock.codecs.settings()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Numcodecs codecs are not in the Zarr")
        warnings.simplefilter("ignore", penstock.codecs.FallbackWarning)
        yield


def same(got: Any, want: np.ndarray[Any, Any]) -> bool:
    assert isinstance(got, cupy.ndarray)
    return bool(np.array_equal(cupy.asnumpy(got), want))


def items(arrays: list[np.ndarray[Any, Any]]) -> list[Any]:
    """Chunks in CUDA memory and one that is absent."""
    made: list[Any] = []
    for array in arrays:
        told = spec(array.shape, array.dtype, buffer_prototype)
        made.append((buffer_prototype.buffer.from_array_like(cupy.asarray(array.view("B").ravel())), told))
    return [*made, (None, spec((3,), "u2", buffer_prototype))]


def encoded(codec: Any, plain: list[Any]) -> list[Any]:
    return list(zip(asyncio.run(codec.encode(plain)), [told for _, told in plain], strict=True))


def decoded(codec: Any, batch: list[Any]) -> list[bytes | None]:
    made = asyncio.run(codec.decode(batch))
    assert all(b is None or isinstance(b.as_array_like(), cupy.ndarray) for b in made)
    return [None if b is None else b.to_bytes() for b in made]


CHUNKS = [sample("u2", (n,), n) for n in (1000, 3, 70_000, 1, 5000)]
PLAIN = [*(c.tobytes() for c in CHUNKS), None]


# The cases that zarr-python's proposal of codecs for GPUs tests.


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("where", [np.s_[:, :], np.s_[4:, 4:]], ids=["all", "first chunk absent"])
def test_there_and_back(tmp_path: pathlib.Path, kind: str, name: str, where: Any) -> None:
    data = sample("u2", (16, 16))
    store = STORES[kind](tmp_path / "a.zarr")
    with zarr.config.enable_gpu():
        array = zarr.create_array(
            store, shape=data.shape, chunks=(4, 4), dtype=data.dtype, fill_value=9, compressors=OURS[name]
        )
        array[where] = cupy.asarray(data)[where]
        want = np.full_like(data, 9)
        want[where] = data[where]
        assert array.nchunks_initialized == (16 if where == np.s_[:, :] else 9)
        with Counted() as counted:
            assert same(array[:, :], want)
        assert counted.counts[f"decode {OURS[name].to_dict()['name']} on cuda:0, calls"] == 1
        assert same(array[where], want[where])
    np.testing.assert_array_equal(zarr.open_array(store, mode="r")[:, :], want)  # in host memory


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("writer", ["host", "device"])
def test_both_ways_with_zarr_pythons_own(tmp_path: pathlib.Path, name: str, writer: str) -> None:
    data = sample("u2", (16, 16))
    how: Any = {"shape": data.shape, "chunks": (4, 4), "dtype": data.dtype}
    zarrs = {"codecs": zarr.config.defaults[0]["codecs"]}
    if writer == "host":
        with zarr.config.set(zarrs):
            zarr.create_array(tmp_path, **how, compressors=zarrs_own(OURS[name]))[...] = data
        with zarr.config.enable_gpu():
            array = zarr.open_array(tmp_path, mode="r")
            assert type(array.metadata.codecs[-1]) is type(OURS[name])
            assert same(array[...], data)
    else:
        with zarr.config.enable_gpu():
            zarr.create_array(tmp_path, **how, compressors=OURS[name])[...] = cupy.asarray(data)
        with zarr.config.set(zarrs):
            np.testing.assert_array_equal(zarr.open_array(tmp_path, mode="r")[...], data)


def test_the_configured_codec_is_used(tmp_path: pathlib.Path) -> None:
    zarr.create_array(tmp_path, shape=(10, 10), chunks=(10, 10), dtype="i4")
    with zarr.config.enable_gpu():
        assert type(zarr.open_array(tmp_path, mode="r").metadata.codecs[-1]) is penstock.codecs.Zstd


@pytest.mark.parametrize("name", OURS)
def test_chunks_that_are_none(name: str) -> None:
    absent = [(None, spec((10, 10), "i4", buffer_prototype))]
    assert asyncio.run(OURS[name].encode(absent)) == [None]
    assert asyncio.run(OURS[name].decode(absent)) == [None]


# Batches.


@pytest.mark.parametrize("name", OURS)
def test_a_batch_is_one_call_in_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codec, own = OURS[name], zarrs_own(OURS[name])
    kind = codec.to_dict()["name"]
    batch = encoded(codec, items(CHUNKS))
    assert isinstance(batch[0][0].as_array_like(), cupy.ndarray)
    with Counted() as counted:
        assert decoded(codec, batch) == PLAIN
    assert counted.counts == {f"decode {kind} on cuda:0": 5, f"decode {kind} on cuda:0, calls": 1}
    assert [None if b is None else b.to_bytes() for b in asyncio.run(own.decode(batch))] == PLAIN
    if name != "lz4":  # zarr-python's own does not encode what is in CUDA memory
        assert decoded(codec, encoded(own, items(CHUNKS))) == PLAIN
    # In waves, as when the batch is large.
    monkeypatch.setattr(penstock._codecs_cuda, "_WAVE_BYTES", 3000)
    assert decoded(codec, batch) == PLAIN


@pytest.mark.parametrize("name", OURS)
def test_chunks_that_begin_anywhere(name: str) -> None:
    """As in a shard that came to the device as a whole."""
    batch = encoded(OURS[name], items(CHUNKS))[:-1]
    for shift in (1, 2, 3, 5):
        parts = [cupy.zeros(shift, "B"), *(b.as_array_like() for b, _ in batch)]
        whole, moved, at = cupy.concatenate(parts), [], shift
        for b, told in batch:
            moved.append((buffer_prototype.buffer.from_array_like(whole[at : at + len(b)]), told))
            at += len(b)
        with Counted() as counted:
            assert decoded(OURS[name], moved) == PLAIN[:-1]
        assert counted.counts[f"decode {OURS[name].to_dict()['name']} on cuda:0"] == len(batch)


@pytest.mark.parametrize("writer", ["host", "device"])
def test_shards(tmp_path: pathlib.Path, writer: str) -> None:
    data = sample("u2", (64, 48))
    how: Any = {"shape": data.shape, "chunks": (8, 8), "shards": (32, 24), "dtype": "u2", "compressors": OURS["zstd"]}
    if writer == "host":
        zarr.create_array(tmp_path, **how)[...] = data
    with zarr.config.enable_gpu():
        if writer == "device":
            zarr.create_array(tmp_path, **how)[...] = cupy.asarray(data)
        array = zarr.open_array(tmp_path, mode="r")
        assert same(array[...], data)
        assert same(array[3:40, 7:9], data[3:40, 7:9])
    np.testing.assert_array_equal(zarr.open_array(tmp_path, mode="r")[...], data)


def test_host_and_device_chunks_in_one_batch() -> None:
    codec = OURS["zstd"]
    batch = encoded(codec, items(CHUNKS))
    host = spec(CHUNKS[1].shape, "u2")
    batch[1] = (host.prototype.buffer.from_bytes(batch[1][0].to_bytes()), host)
    made = asyncio.run(codec.decode(batch))
    assert [None if b is None else b.to_bytes() for b in made] == PLAIN
    assert isinstance(made[1].as_array_like(), np.ndarray) and isinstance(made[2].as_array_like(), cupy.ndarray)


@pytest.mark.parametrize("name", OURS)
def test_sizes_that_are_not_the_shapes(tmp_path: pathlib.Path, name: str) -> None:
    codec = OURS[name]
    batch = encoded(codec, items(CHUNKS))
    batch[0] = (batch[0][0], spec((7,), "u2", buffer_prototype))
    before = penstock.codecs.fallbacks()
    assert decoded(codec, batch) == PLAIN
    assert penstock.codecs.fallbacks() != before
    data = sample("u2", (40, 9))
    compressors = [zarr.codecs.Crc32cCodec(), codec]
    with zarr.config.enable_gpu():
        array = zarr.create_array(tmp_path, shape=data.shape, chunks=(8, 9), dtype="u2", compressors=compressors)
        array[...] = cupy.asarray(data)
        assert same(array[...], data)


# Encoding.

ENCODED_ON_CUDA = ("zstd", "zstd-checksum", "lz4")


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("place", ["cpu", "device", "auto"])
def test_encoding_is_done_where_the_setting_says(name: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_ENCODE", place)
    codec = OURS[name]
    able = name in ENCODED_ON_CUDA
    before = penstock.codecs.fallbacks()
    with Counted() as counted:
        batch = encoded(codec, items(CHUNKS))
    where = {key.split(" on ")[1] for key in counted.counts if not key.endswith(", calls")}
    if able and place != "auto":
        assert where == {"cpu" if place == "cpu" else "cuda:0"}
    else:
        assert len(where) == 1 and (able or where == {"cpu"})
    assert sum(counted.counts.values()) == len(CHUNKS) + 1  # one call
    assert (penstock.codecs.fallbacks() == before) == able  # a choice is no fallback
    assert all(b is None or isinstance(b.as_array_like(), cupy.ndarray) for b, _ in batch)
    assert decoded(codec, batch) == PLAIN
    made = asyncio.run(zarrs_own(codec).decode(batch))
    assert [None if b is None else b.to_bytes() for b in made] == PLAIN
    if able and place != "cpu":
        with zarr.config.set({"codec_pipeline.strict": True}):
            assert decoded(codec, encoded(codec, items(CHUNKS))) == PLAIN


@pytest.mark.parametrize("name", ENCODED_ON_CUDA)
def test_encoding_in_waves_and_of_chunks_that_begin_anywhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_ENCODE", "device")
    codec = OURS[name]
    once = [b.to_bytes() for b, _ in encoded(codec, items(CHUNKS))[:-1]]
    shifted = []
    for chunk, told in items(CHUNKS)[:-1]:
        whole = cupy.concatenate([cupy.zeros(3, "B"), chunk.as_array_like()])
        shifted.append((buffer_prototype.buffer.from_array_like(whole[3:]), told))
    assert [b.to_bytes() for b, _ in encoded(codec, shifted)] == once
    monkeypatch.setattr(penstock._codecs_cuda, "_WAVE_BYTES", 3000)
    assert [b.to_bytes() for b, _ in encoded(codec, items(CHUNKS))[:-1]] == once


def test_encoding_in_the_order_of_the_callers_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_ENCODE", "device")
    plain = items(CHUNKS)
    large = cupy.ones(1 << 26, "f4")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        for _ in range(40):
            cupy.sin(large, out=large)  # milliseconds of work before the bytes are there
        late = [
            (None if b is None else buffer_prototype.buffer.from_array_like(b.as_array_like().copy()), told)
            for b, told in plain
        ]
        assert decoded(OURS["zstd"], encoded(OURS["zstd"], late)) == PLAIN


class OnlyOnTheCpu:
    """A codec without a device decoder and encoder."""

    device_decoder = None
    device_encoder = None

    def __init__(self, native: penstock._core.BytesCodec) -> None:
        self.decode = native.decode
        self.encode = native.encode


@pytest.mark.parametrize("operation", ["encode", "decode"])
def test_what_the_device_does_not_do_is_announced_and_forbidden(
    operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec, batch = OURS["zstd"], encoded(OURS["zstd"], items(CHUNKS))
    native = penstock.codecs._native
    monkeypatch.setattr(penstock.codecs, "_native", lambda *key: OnlyOnTheCpu(native(*key)))
    reason = f"no {operation}r for CUDA"
    for strict in (False, True):
        with zarr.config.set({"codec_pipeline.strict": strict}), Counted() as counted:
            work = codec.encode(items(CHUNKS)) if operation == "encode" else codec.decode(batch)
            if strict:
                with pytest.raises(penstock.UnsupportedError, match=reason):
                    asyncio.run(work)
            else:
                asyncio.run(work)
                assert any(reason in text for text in penstock.codecs.fallbacks())
        assert counted.counts[f"{operation} zstd on cpu"] == 5


@pytest.mark.parametrize("name", OURS)
def test_damage_is_an_error_and_no_fallback(name: str) -> None:
    codec = OURS[name]
    batch = encoded(codec, items(CHUNKS))
    bad = batch[2][0].as_array_like()
    batch[2] = (buffer_prototype.buffer.from_array_like(bad[: bad.size // 2].copy()), batch[2][1])
    before = penstock.codecs.fallbacks()
    with pytest.raises(penstock.CorruptDataError, match=f"codec {codec.to_dict()['name']}"):
        asyncio.run(codec.decode(batch))
    assert penstock.codecs.fallbacks() == before


def test_the_callers_stream() -> None:
    codec = OURS["zstd"]
    batch = encoded(codec, items(CHUNKS))
    large = cupy.ones(1 << 26, "f4")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        for _ in range(40):
            cupy.sin(large, out=large)  # milliseconds of work before the encoded bytes are there
        late = [
            (None if b is None else buffer_prototype.buffer.from_array_like(b.as_array_like().copy()), told)
            for b, told in batch
        ]
        made = asyncio.run(codec.decode(late))
        assert [None if b is None else b.to_bytes() for b in made] == PLAIN


# The pipelines.


def test_every_pipeline_takes_them(tmp_path: pathlib.Path) -> None:
    data = sample("u2", (24, 24))
    own = zarr.core.codec_pipeline
    paths = [f"{own.__name__}.{kind}" for kind in ("BatchedCodecPipeline", "FusedCodecPipeline") if hasattr(own, kind)]
    for i, path in enumerate([*paths, "penstock.zarr.CodecPipeline"]):
        with zarr.config.set({"codec_pipeline.path": path}), zarr.config.enable_gpu():
            array = zarr.create_array(
                tmp_path / str(i), shape=data.shape, chunks=(4, 4), dtype="u2", compressors=OURS["zstd"]
            )
            array[...] = cupy.asarray(data)
            assert same(array[...], data), path
        np.testing.assert_array_equal(zarr.open_array(tmp_path / str(i), mode="r")[...], data)


def test_index_arrays_with_device_memory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = sample("i4", (40, 35))
    new, boxes = penstock._zarr_boxes.Place.new, []

    def recorded(*args: Any) -> list[Any]:
        made = new(*args)
        boxes.extend(made)
        return made

    monkeypatch.setattr(penstock._zarr_boxes.Place, "new", recorded)
    pipeline = {"codec_pipeline.path": "penstock.zarr.CodecPipeline", "codec_pipeline.strict": True}
    rows, columns = np.array([3, 17, 39, 0]), np.array([30, 2, 9, 34])
    with zarr.config.set(pipeline), zarr.config.enable_gpu():
        array = zarr.create_array(tmp_path, shape=data.shape, chunks=(8, 8), dtype="i4")
        array[...] = cupy.asarray(data)
        array.oindex[rows, slice(4, 20)] = cupy.full((4, 16), -3, "i4")
        data[rows, 4:20] = -3
        array.vindex[rows, columns] = cupy.arange(4, dtype="i4")
        data[rows, columns] = np.arange(4)
        assert same(array.oindex[rows, slice(4, 20)], data[rows, 4:20])
        assert same(array.oindex[rows, 7], data[rows, 7])
        # array.vindex: zarr-python itself takes what was read for NumPy, and CuPy refuses.
        array[5:30, 6] = 11
        data[5:30, 6] = 11
        assert same(array[...], data)
        mask = data % 3 == 0
        array.set_mask_selection(mask, cupy.arange(np.count_nonzero(mask), dtype="i4"))
        data[mask] = np.arange(np.count_nonzero(mask))
        assert same(array[...], data)
        array.oindex[[1, 30], [2, 5, 33]] = cupy.arange(6, dtype="i4").reshape(2, 3)
        data[np.ix_([1, 30], [2, 5, 33])] = np.arange(6).reshape(2, 3)
        assert same(array.oindex[[0, 1, 30], [2, 5, 33]], data[np.ix_([0, 1, 30], [2, 5, 33])])
        array.oindex[rows, slice(None)] = 5  # one element: from the host
        data[rows] = 5
        assert same(array[...], data)
    assert {type(box) for box in boxes} == {cupy.ndarray, np.ndarray}
    assert sum(isinstance(box, cupy.ndarray) for box in boxes) > 20


def test_a_stream_that_is_named_orders_writes(tmp_path: pathlib.Path) -> None:
    pipeline = {"codec_pipeline.path": "penstock.zarr.CodecPipeline", "codec_pipeline.strict": True}
    large = cupy.ones(1 << 26, "f4")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with zarr.config.set(pipeline), zarr.config.enable_gpu():
        array = zarr.create_array(tmp_path, shape=(64, 64), chunks=(16, 16), dtype="u2", compressors=OURS["zstd"])
        with stream, penstock.zarr.use_stream(stream):
            data = cupy.zeros((64, 64), "u2")
            for _ in range(40):
                cupy.sin(large, out=large)  # milliseconds of work before the elements are there
            data += 9
            array[...] = data
            assert same(array[...], np.full((64, 64), 9, "u2"))
