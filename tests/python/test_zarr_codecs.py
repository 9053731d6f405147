"""penstock.codecs in place of zarr-python's compressors: the same stores, decoded and encoded in batches."""

from __future__ import annotations

import asyncio
import concurrent.futures
import ctypes
import json
import multiprocessing
import pathlib
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import zarr
import zarr.storage

import penstock
import penstock.codecs
from penstock import _core

from support import sample
from zarr_codecs import BASES, OURS, STORES, Counted, spec, zarrs_own


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    """All of our codecs, strict: what is left to others fails the test."""
    strict = {"codec_pipeline.strict": True}
    with zarr.config.set({**penstock.codecs.settings(), **strict}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Numcodecs codecs are not in the Zarr")
        yield


def opened(store: Any, path: str = "", **changes: Any) -> zarr.Array[Any]:
    """The array with the codecs that the configuration names."""
    with zarr.config.set(changes):
        return zarr.open_array(store, path=path, mode="r")


def opened_by_zarr(store: Any, path: str = "") -> zarr.Array[Any]:
    """The array with zarr-python's own codecs."""
    with zarr.config.set({"codecs": zarr.config.defaults[0]["codecs"]}):
        return zarr.open_array(store, path=path, mode="r")


# The cases that zarr-python's proposal of codecs for GPUs tests.


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("where", [np.s_[:, :], np.s_[4:, 4:]], ids=["all", "first chunk absent"])
def test_there_and_back(tmp_path: pathlib.Path, kind: str, name: str, where: Any) -> None:
    data = sample("u2", (16, 16))
    store = STORES[kind](tmp_path / "a.zarr")
    array = zarr.create_array(
        store, shape=data.shape, chunks=(4, 4), dtype=data.dtype, fill_value=9, compressors=OURS[name]
    )
    with Counted() as counted:
        array[where] = data[where]
    want = np.full_like(data, 9)
    want[where] = data[where]
    written = array.nchunks_initialized
    assert written == (16 if where == np.s_[:, :] else 9)
    codec = OURS[name].to_dict()["name"]
    assert counted.counts == {f"encode {codec} on cpu": written, f"encode {codec} on cpu, calls": 1}
    with Counted() as counted:
        np.testing.assert_array_equal(array[:, :], want)
    assert counted.counts == {f"decode {codec} on cpu": written, f"decode {codec} on cpu, calls": 1}
    np.testing.assert_array_equal(array[where], want[where])
    np.testing.assert_array_equal(opened_by_zarr(store)[:, :], want)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("shards", [None, (8, 16)])
def test_what_zarr_python_writes_is_read(tmp_path: pathlib.Path, name: str, shards: Any) -> None:
    data = sample("u2", (16, 16))
    own = zarrs_own(OURS[name])
    assert not isinstance(own, type(OURS[name]))
    with zarr.config.set({"codecs": zarr.config.defaults[0]["codecs"]}):
        array = zarr.create_array(
            tmp_path, shape=data.shape, chunks=(4, 4), shards=shards, dtype=data.dtype, compressors=own
        )
        array[...] = data
    read = opened(tmp_path)
    codec = (read.metadata.codecs[0].codecs if shards else read.metadata.codecs)[-1]
    assert type(codec) is type(OURS[name])
    assert codec.to_dict() == own.to_dict()
    with Counted() as counted:
        np.testing.assert_array_equal(read[...], data)
    assert sum(counted.counts.values()) > 0


def test_wrong_parameters_are_refused_as_zarr_python_does() -> None:
    with pytest.raises(ValueError, match="22"):
        penstock.codecs.Zstd(level=100)
    with pytest.raises(TypeError):
        penstock.codecs.Zstd(level="100")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        penstock.codecs.Zstd(checksum="False")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="9"):
        penstock.codecs.Gzip(level=10)
    with pytest.raises(ValueError):
        penstock.codecs.Blosc(cname="lzma")  # type: ignore[arg-type]


def test_the_configuration_names_the_codec(tmp_path: pathlib.Path) -> None:
    zstd: Any = {"name": "zstd", "configuration": {}}
    named = zarr.create_array(tmp_path / "n", shape=(10, 10), dtype="i4", compressors=zstd)
    assert type(named.metadata.codecs[-1]) is penstock.codecs.Zstd
    # Of an array that it creates zarr-python 3.1 to 3.4 keep the object that was given, or their own by default.
    zarr.create_array(tmp_path / "d", shape=(10, 10), dtype="i4")
    codec = opened(tmp_path / "d").metadata.codecs[-1]
    assert type(codec) is penstock.codecs.Zstd
    assert codec.to_dict() == {"name": "zstd", "configuration": {"level": 0, "checksum": False}}
    assert type(opened_by_zarr(tmp_path / "d").metadata.codecs[-1]) is zarr.codecs.ZstdCodec


@pytest.mark.parametrize("name", OURS)
def test_there_and_back_through_metadata(name: str) -> None:
    codec = OURS[name]
    assert type(codec).from_dict(codec.to_dict()) == codec == pickle.loads(pickle.dumps(codec))
    assert codec.to_dict() == zarrs_own(codec).to_dict()
    with pytest.raises(NotImplementedError):
        codec.compute_encoded_size(0, spec((10, 10), "i4"))


@pytest.mark.parametrize("name", OURS)
def test_chunks_that_are_none(name: str) -> None:
    absent = [(None, spec((10, 10), "i4")), (None, spec((10, 10), "i4"))]
    assert asyncio.run(OURS[name].encode(absent)) == [None, None]
    assert asyncio.run(OURS[name].decode(absent)) == [None, None]
    assert asyncio.run(OURS[name].decode([])) == []


# Batches.


def items(arrays: list[np.ndarray[Any, Any]]) -> list[Any]:
    made: list[Any] = []
    for array in arrays:
        told = spec(array.shape, array.dtype)
        made += [(told.prototype.buffer.from_array_like(array.view("B").ravel()), told), (None, told)]
    return made


def decoded(codec: Any, encoded: list[Any]) -> list[bytes | None]:
    return [None if b is None else b.to_bytes() for b in asyncio.run(codec.decode(encoded))]


@pytest.mark.parametrize("name", OURS)
def test_a_batch_is_one_call_in_order(name: str) -> None:
    codec, own = OURS[name], zarrs_own(OURS[name])
    plain = items([sample("u2", (n,), n) for n in (1000, 3, 70_000, 1, 5000)])
    with Counted() as counted:
        encoded = list(zip(asyncio.run(codec.encode(plain)), [s for _, s in plain], strict=True))
    kind = codec.to_dict()["name"]
    assert counted.counts == {f"encode {kind} on cpu": 5, f"encode {kind} on cpu, calls": 1}
    want = [None if b is None else b.to_bytes() for b, _ in plain]
    assert decoded(own, encoded) == want
    with Counted() as counted:
        assert decoded(codec, encoded) == want
    assert counted.counts == {f"decode {kind} on cpu": 5, f"decode {kind} on cpu, calls": 1}
    by_own = list(zip(asyncio.run(own.encode(plain)), [s for _, s in plain], strict=True))
    assert decoded(codec, by_own) == want
    # A size that is not what the chunk's shape says: another codec stands in between.
    assert decoded(codec, [(b, spec((7,), "u2")) for b, _ in encoded]) == want


@pytest.mark.parametrize("name", [*BASES, "blosc-zstd"])
def test_other_codecs_in_between(tmp_path: pathlib.Path, name: str) -> None:
    codec = next(OURS[key] for key in OURS if key.startswith(name))
    data = sample("u2", (40, 9))
    array = zarr.create_array(
        tmp_path / "a",
        shape=data.shape,
        chunks=(8, 9),
        dtype="u2",
        compressors=[zarr.codecs.Crc32cCodec(), codec, zarr.codecs.Crc32cCodec()],
    )
    array[...] = data
    np.testing.assert_array_equal(array[...], data)
    np.testing.assert_array_equal(opened_by_zarr(tmp_path / "a")[...], data)
    words = np.array([f"{i} Grüße" * (i % 5) for i in range(30)], object)
    text = zarr.create_array(tmp_path / "t", shape=words.shape, chunks=(7,), dtype=str, compressors=codec)
    text[...] = words
    np.testing.assert_array_equal(text[...].astype(object), words)
    np.testing.assert_array_equal(opened_by_zarr(tmp_path / "t")[...].astype(object), words)


def pipelines() -> list[str]:
    own = zarr.core.codec_pipeline
    found = [f"{own.__name__}.{kind}" for kind in ("BatchedCodecPipeline", "FusedCodecPipeline") if hasattr(own, kind)]
    return [*found, "penstock.zarr.CodecPipeline"]


@pytest.mark.parametrize("pipeline", pipelines())
@pytest.mark.parametrize("shards", [None, (8, 8)])
def test_every_pipeline_takes_them(tmp_path: pathlib.Path, pipeline: str, shards: Any) -> None:
    data = sample("u2", (24, 24))
    with zarr.config.set({"codec_pipeline.path": pipeline}):
        array = zarr.create_array(
            tmp_path, shape=data.shape, chunks=(4, 4), shards=shards, dtype="u2", compressors=OURS["zstd"]
        )
        array[...] = data
        array[3:9, 5:7] = 1
        data[3:9, 5:7] = 1
        np.testing.assert_array_equal(array[...], data)
        np.testing.assert_array_equal(opened(tmp_path)[2:17, ::3], data[2:17, ::3])
    np.testing.assert_array_equal(opened_by_zarr(tmp_path)[...], data)


def test_damage_is_named(tmp_path: pathlib.Path) -> None:
    for name, codec in OURS.items():
        path = tmp_path / name
        array = zarr.create_array(path, shape=(6000,), chunks=(2000,), dtype="u2", compressors=codec)
        array[...] = sample("u2", (6000,))
        whole = (path / "c/1").read_bytes()
        (path / "c/1").write_bytes(whole[: len(whole) // 2])
        kind = codec.to_dict()["name"]
        with pytest.raises(penstock.CorruptDataError, match=f"chunk 1 of 3: codec {kind}"):
            array[...]
        np.testing.assert_array_equal(array[:2000], sample("u2", (6000,))[:2000])


def test_bombs_are_refused() -> None:
    told = spec((1,), "u1")
    zeros = told.prototype.buffer.from_array_like(np.zeros(1 << 20, "B"))
    bomb = asyncio.run(OURS["zstd"].encode([(zeros, told)]))[0].to_bytes() * 600  # concatenated frames
    with pytest.raises(penstock.CorruptDataError, match="possible"):
        asyncio.run(OURS["zstd"].decode([(told.prototype.buffer.from_bytes(bomb), told)]))


def test_a_parameter_that_only_we_refuse_is_named() -> None:
    codec = penstock.codecs.Blosc(typesize=1, clevel=11, shuffle="shuffle")
    with pytest.raises(penstock.MetadataError, match="clevel"):
        asyncio.run(codec.encode(items([np.zeros(4, "u1")])))


def use_in_child(_: int) -> str:
    try:
        asyncio.run(OURS["zstd"].encode(items([np.zeros(400, "u1")])))
    except RuntimeError as error:
        return str(error)
    return "works"


def test_processes() -> None:
    assert use_in_child(0) == "works"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads
        for method, answer in [("fork", "forked"), ("spawn", "works")]:
            context = multiprocessing.get_context(method)
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                assert answer in pool.submit(use_in_child, 0).result(timeout=120), method


def test_threads_of_zarrs_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Native:
        def encode(self, chunks: list[Any], threads: int) -> list[Any]:
            asked.append(threads)
            return chunks

    monkeypatch.setattr(penstock.codecs, "_native", lambda *_: Native())
    for workers in (None, 3):
        with zarr.config.set({"threading.max_workers": workers}):
            asyncio.run(OURS["zstd"].encode(items([np.zeros(4, "u1")])))
    assert asked == [0, 3]


def test_entry_points_need_no_import(tmp_path: pathlib.Path) -> None:
    code = f"""
import os, zarr
zarr.create_array({str(tmp_path)!r}, shape=(3,), dtype="u2")[...] = [1, 2, 3]
zarr.config.set({{"codecs.zstd": "penstock.codecs.Zstd"}})
a = zarr.open_array({str(tmp_path)!r}, mode="r")
print(type(a.metadata.codecs[-1]).__module__, a[...])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "penstock.codecs [1 2 3]\n"


# The device's side on a machine without one: the decoders' algorithm on the CPU.


def aligned(nbytes: int) -> np.ndarray[Any, Any]:
    room = np.empty(nbytes + 256, "B")
    return room[-room.ctypes.data % 256 :][:nbytes]


@pytest.mark.parametrize("name", OURS)
def test_decoding_where_the_chunks_are(name: str) -> None:
    document = OURS[name].to_dict()
    native = _core.BytesCodec(document["name"], json.dumps(document["configuration"]))
    plain = [sample("u2", (n,), n).view("B") for n in (4000, 1, 70_000)]
    encoded = native.encode(plain)
    outs = [aligned(p.nbytes) for p in plain]
    tasks = [(e.ctypes.data, e.nbytes, o.ctypes.data, o.nbytes) for e, o in zip(encoded, outs, strict=True)]
    assert native.device_decoder
    room = aligned(native.room_bytes(tasks))
    assert native.decode_on(tasks, room.ctypes.data, room.nbytes) == ["", "", ""]
    for got, want in zip(outs, plain, strict=True):
        np.testing.assert_array_equal(got, want)
    # One chunk of another size, one cut off: said of these alone.
    tasks[0] = (*tasks[0][:3], tasks[0][3] - 2)
    tasks[2] = (tasks[2][0], tasks[2][1] // 2, *tasks[2][2:])
    outs[1][...] = 0
    problems = native.decode_on(tasks, room.ctypes.data, room.nbytes)
    assert problems[0] and problems[2] and not problems[1]
    np.testing.assert_array_equal(outs[1], plain[1])
    with pytest.raises(ValueError, match="multiple of 256"):
        native.decode_on(tasks, room.ctypes.data, room.nbytes - 256)


@pytest.mark.parametrize("name", OURS)
def test_encoding_where_the_chunks_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = OURS[name].to_dict()
    native = _core.BytesCodec(document["name"], json.dumps(document["configuration"]))
    plain = [sample("u2", (n,), n).view("B") for n in (4000, 1, 70_000)]
    chunks = [(p.ctypes.data, p.nbytes) for p in plain]
    if name not in ("zstd", "zstd-checksum", "lz4"):
        assert native.device_encoder is None
        with pytest.raises(penstock.UnsupportedError, match="no device encoder"):
            native.encode_room_bytes(chunks)
        return
    assert native.device_encoder
    room = aligned(native.encode_room_bytes(chunks))
    monkeypatch.setenv("PENSTOCK_ENCODE", "device")
    assert native.wants_device(3)
    on_device, reason, encoded = native.encode_on(chunks, room.ctypes.data, room.nbytes)
    assert on_device and reason == "PENSTOCK_ENCODE=device"
    told = [spec(p.shape, "u1") for p in plain]
    batch = [
        (s.prototype.buffer.from_bytes(ctypes.string_at(at, nbytes)), s)
        for (at, nbytes), s in zip(encoded, told, strict=True)
    ]
    assert decoded(zarrs_own(OURS[name]), batch) == [p.tobytes() for p in plain]
    with pytest.raises(ValueError, match="multiple of 256"):
        native.encode_on(chunks, room.ctypes.data, room.nbytes - 256)
    monkeypatch.setenv("PENSTOCK_ENCODE", "cpu")
    assert not native.wants_device(3)
    monkeypatch.setenv("PENSTOCK_ENCODE", "auto")
    assert native.wants_device(3)  # to be tried
    on_device, reason, _ = native.encode_on(chunks, room.ctypes.data, room.nbytes, threads=1)
    assert "on 1 CPU thread" in reason
    assert native.wants_device(3) == on_device
    monkeypatch.setenv("PENSTOCK_ENCODE", "gpu")
    with pytest.raises(ValueError, match="PENSTOCK_ENCODE"):
        native.wants_device(3)


def test_what_has_no_device_decoder_says_so() -> None:
    native = _core.BytesCodec("numcodecs.bz2", '{"level":1}')
    assert native.device_decoder is None
    with pytest.raises(penstock.UnsupportedError, match="no device decoder"):
        native.room_bytes([])
