"""Reads into and writes from CUDA memory.  Part of a run only where there is a GPU; no other GPU library is needed."""

from __future__ import annotations

import concurrent.futures
import pathlib
from typing import Any

import numpy as np
import pytest

import penstock

from support import FIXED, SPECIFIED_V3, STRUCT, codec, name_of, same, sample, slow_array

SHAPE = (37, 40, 41)
VALUES = sample("u2", SHAPE)
DEVICES = [device.name for device in penstock.devices() if device.name.startswith("cuda")]
LZ4 = [codec("numcodecs.lz4", acceleration=1)]


@pytest.fixture(scope="module")
def array(tmp_path_factory: pytest.TempPathFactory) -> penstock.Array:
    a = penstock.create(tmp_path_factory.mktemp("g") / "a", shape=SHAPE, dtype="u2", chunks=(16, 16, 16))
    a[...] = VALUES
    return a


class OnlyInterface:
    """Device memory as Numba shows it: __cuda_array_interface__ and nothing else."""

    def __init__(self, owner: penstock.DeviceArray, **changes: Any) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


class OnlyDlpack:
    """Notes which streams it was asked for."""

    def __init__(self, owner: penstock.DeviceArray) -> None:
        self.owner = owner
        self.streams: list[Any] = []

    def __dlpack__(self, *, stream: Any = None, **kwargs: Any) -> Any:
        self.streams.append(stream)
        return self.owner.__dlpack__(stream=stream, **kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.owner.__dlpack_device__()


WRAPS = {"DeviceArray": lambda d: d, "interface": OnlyInterface, "dlpack": OnlyDlpack}


def on_device(values: np.ndarray[Any, Any], path: pathlib.Path, device: str = "cuda") -> penstock.DeviceArray:
    """A NumPy array in device memory."""
    a = penstock.create(path, shape=values.shape, dtype=values.dtype, codecs=[], overwrite=True)
    a[...] = values
    made = a.read(device=device)
    assert isinstance(made, penstock.DeviceArray)
    return made


# Reading.


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "index", [np.s_[...], np.s_[3:30:3, ::-1, 5], np.s_[::-2, 1:2, ::7], np.s_[5:5], np.s_[1, 2, 3], np.s_[::20, ::39]]
)
def test_selections(array: penstock.Array, index: Any, device: str) -> None:
    want = VALUES[index]
    got = array.read(index, device=device)
    assert isinstance(got, penstock.DeviceArray)
    assert (got.shape, got.dtype, got.device) == (np.shape(want), array.dtype, device)
    assert got.__dlpack_device__() == (2, int(device.removeprefix("cuda:")))
    assert same(got.numpy(), want)


@pytest.mark.parametrize("place", ["auto", "cpu", "device"])
@pytest.mark.parametrize("codecs", [*SPECIFIED_V3, LZ4], ids=name_of)
def test_codecs(tmp_path: pathlib.Path, codecs: Any, place: str) -> None:
    """Decoded by the CPU, and where it can be by the device; whole chunks and shards."""
    for dtype in ["u1", "i2", "f4", "c16", ">u4", "M8[ns]"]:
        values = sample(np.dtype(dtype).newbyteorder("="), (30, 50))
        for order in ("C", "F"):
            for shards in (None, (32, 32)):
                a = penstock.create(
                    tmp_path / "a",
                    shape=(30, 50),
                    dtype=dtype,
                    chunks=(16, 8),
                    shards=shards,
                    codecs=codecs,
                    order=order,
                    overwrite=True,
                )
                a[...] = values
                assert same(a.read(device="cuda", decode=place).numpy(), values), (dtype, order, shards)
                assert same(a.read(np.s_[::-3, 7], device="cuda", decode=place).numpy(), values[::-3, 7]), (
                    dtype,
                    order,
                    shards,
                )


@pytest.mark.parametrize("dtype", ["bool", "f2", "f8", "bfloat16", "r24", *FIXED, STRUCT], ids=str)
def test_data_types(tmp_path: pathlib.Path, dtype: Any) -> None:
    a = penstock.create(
        tmp_path / "a", shape=(9, 11), dtype=dtype, chunks=(4, 5), zarr_format=2 if dtype is STRUCT else 3
    )
    values = sample("u2", (9, 11)).view(a.dtype) if dtype == "bfloat16" else sample(a.dtype, (9, 11))
    a[:7] = values[:7]  # the last chunks are absent
    want = a[...]
    got = a.read(device="cuda").numpy()
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("codecs", [[], ["zstd"], LZ4], ids=["raw", "zstd", "lz4"])
def test_more_than_the_staging_memory_holds_at_once(tmp_path: pathlib.Path, codecs: Any) -> None:
    shape = (192, 512, 512)  # 96 MiB: many slabs, several waves
    values = np.random.default_rng(1).integers(0, 60, shape, "u2")
    a = penstock.create(tmp_path / "a", shape=shape, dtype="u2", chunks=(64, 64, 64), codecs=codecs)
    a[...] = values
    assert np.array_equal(a.read(device="cuda", budget="64MiB").numpy(), values)
    assert np.array_equal(a.read(np.s_[100:, 7:500, ::-3], device="cuda").numpy(), values[100:, 7:500, ::-3])


@pytest.mark.parametrize("dtype", ["<u2", ">f4"])
@pytest.mark.parametrize("codecs", [[], ["zstd"]], ids=["raw", "zstd"])
def test_chunks_straight_from_pinned_memory_and_others(tmp_path: pathlib.Path, codecs: Any, dtype: str) -> None:
    """Chunks with long rows are placed over the bus, those at the far edge and in odd targets are staged first."""
    shape = (70, 90, 264)
    values = sample(np.dtype(dtype).newbyteorder("="), shape)
    values[:32] = 3  # absent
    a = penstock.create(tmp_path / "a", shape=shape, dtype=dtype, chunks=(32, 32, 128), codecs=codecs, fill_value=3)
    a[32:] = values[32:]
    mixed: list[Any] = [np.s_[...], np.s_[1:, :, :256], np.s_[::-1, 5:80], np.s_[:, ::2, 128:]]
    for index in [*mixed, np.s_[..., 1:]]:
        assert same(a.read(index, device="cuda", decode="cpu").numpy(), values[index]), index
        assert ("by their placement" in str(a.last_report)) == (index in mixed), index
    (tmp_path / "a/c/1/1/0").write_bytes(b"short")
    with pytest.raises(penstock.CorruptDataError, match="c/1/1/0"):
        a.read(device="cuda", decode="cpu")
    want = values.copy()
    want[32:64, 32:64, :128] = 3
    assert same(a.read(device="cuda", on_error="fill").numpy(), want)


@pytest.mark.parametrize("wrap", WRAPS)
def test_out(array: penstock.Array, wrap: str) -> None:
    memory = array.read(np.s_[::-1], device="cuda")
    out = WRAPS[wrap](memory)
    assert array.read(out=out) is out
    assert same(memory.numpy(), VALUES)


def test_out_with_strides(array: penstock.Array) -> None:
    memory = array.read(device="cuda")
    array.read(out=OnlyInterface(memory, strides=(2, 2 * 37, 2 * 37 * 40)))
    assert same(memory.numpy().reshape(41, 40, 37).transpose(2, 1, 0), VALUES)
    # Every other element, backwards along the first dimension; what lies between is left alone.
    memory = array.read(device="cuda")
    row = 2 * 40 * 41
    address, _ = memory.__cuda_array_interface__["data"]
    strides = (-row, 2 * 2 * 41, 2)
    out = OnlyInterface(memory, data=(address + 36 * row, False), shape=(37, 20, 41), strides=strides)
    array.read(np.s_[:, 20:], out=out)
    want = VALUES.copy()
    want[::-1, ::2] = VALUES[:, 20:]
    assert same(memory.numpy(), want)


def test_the_callers_stream(array: penstock.Array) -> None:
    stream = penstock.Stream.create(0)
    for given in (stream, stream.handle):
        got = array.read(device="cuda", stream=given)
        assert got.__cuda_array_interface__["stream"] == stream.handle
        got.__dlpack__(stream=1)
        stream.synchronize()
        assert same(got.numpy(), VALUES)
        del got  # an address does not keep its stream alive: the memory goes first
    assert array.read(device="cuda").__cuda_array_interface__["stream"] is None
    out = OnlyDlpack(array.read(device="cuda"))
    array.read(out=out, stream=stream)
    assert out.streams == [stream.handle]
    stream.synchronize()
    # A DeviceArray that was read into is complete in the order of that stream only, and says so.
    memory = array.read(np.s_[::-1], device="cuda")
    array.read(out=memory, stream=stream)
    assert memory.__cuda_array_interface__["stream"] is not None
    assert same(memory.numpy(), VALUES)


def test_a_stream_of_the_caller_lives_as_long_as_the_memory(array: penstock.Array) -> None:
    for _ in range(50):
        got = array.read(np.s_[3], device="cuda", stream=penstock.Stream.create(0))
        assert same(got.numpy(), VALUES[3])


def test_read_many(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    other = penstock.create(tmp_path / "b", shape=(9,), dtype="f8", chunks=(4,), codecs=LZ4)
    other[...] = np.arange(9.0)
    memory = array.read(np.s_[::-1], device="cuda")
    got = penstock.read_many([(array, np.s_[1:6:2]), (other, ...), (array, ..., memory)], device="cuda")
    assert same(got[0].numpy(), VALUES[1:6:2]) and same(got[1].numpy(), np.arange(9.0))
    assert got[2] is memory and same(memory.numpy(), VALUES)
    stream = penstock.Stream.create(0)
    host = np.empty(9)
    ordered, kept = penstock.read_many([(array, 3), (other, np.s_[::2])], device="cuda", stream=stream)
    assert same(ordered.numpy(), VALUES[3]) and same(kept.numpy(), np.arange(9.0)[::2])
    # Host and device in one call.
    penstock.read_many([(other, ..., host), (array, ..., memory)])
    report = array.last_report
    assert same(host, np.arange(9.0)) and same(memory.numpy(), VALUES)
    assert report is not None and report.decoded_bytes == host.nbytes + VALUES.nbytes
    assert "cuda:0" in str(report) and "host memory" in str(report)


def test_reports_and_plans_name_the_device(array: penstock.Array) -> None:
    array.read(device="cuda")
    report = array.last_report
    assert report is not None and "cuda:0" in str(report) and report.decoded_bytes == VALUES.nbytes
    assert "cuda:0" in str(array.plan(device="cuda"))


def test_async(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    futures = [array.read_async(i, device="cuda") for i in range(8)]
    for i, future in enumerate(futures):
        assert same(future.result(60).numpy(), VALUES[i])
    slow = slow_array(tmp_path / "slow", seconds=100)
    cancelled = slow.read_async(device="cuda")
    cancelled.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        cancelled.result(60)


def test_many_threads(array: penstock.Array) -> None:
    def read(i: int) -> bool:
        return same(array.read(np.s_[i % 30 :: 2], device="cuda").numpy(), VALUES[i % 30 :: 2])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(100)))


# Memory going out.


def test_dlpack_out(array: penstock.Array) -> None:
    from penstock import _core

    got = array.read(device="cuda")
    for version in (None, (1, 0)):
        taken = _core.Tensor.from_capsule(got.__dlpack__(max_version=version), penstock.Stream.create(0))
        assert (taken.address, taken.shape, taken.device, taken.dtype.name) == (got.address, SHAPE, "cuda:0", "uint16")
    with pytest.raises(BufferError):
        got.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        got.__dlpack__(dl_device=(2, 99))
    # In host memory when asked for.
    assert same(np.from_dlpack(got, device="cpu"), VALUES)


def test_memory_outlives_its_array(array: penstock.Array) -> None:
    from penstock import _core

    tensor: Any = array.read(device="cuda").__dlpack__()
    taken = _core.Tensor.from_capsule(tensor, penstock.Stream.create(0))
    del tensor
    for _ in range(20):
        array.read(np.s_[::-1], device="cuda")
    got = np.empty(SHAPE, "u2")
    _core.copy_to_host(got.ctypes.data, taken.address, got.nbytes, penstock.Stream.create(0))
    assert same(got, VALUES)


# Writing.


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("shards", [None, (18, 18, 18)], ids=["chunks", "shards"])
def test_writing(array: penstock.Array, tmp_path: pathlib.Path, wrap: str, shards: Any) -> None:
    memory = array.read(device="cuda")
    b = penstock.create(tmp_path / "b", shape=SHAPE, dtype="u2", chunks=(9, 9, 9), shards=shards)
    b[...] = WRAPS[wrap](memory)
    assert same(b[...], VALUES)
    report = b.last_report
    b.write(..., WRAPS[wrap](memory))
    report = b.last_report
    assert report is not None and report.stages[0].stage == "download" and "cuda:0" in report.stages[0].path
    # A part, over chunks that hold something else, from memory with strides.
    part = OnlyInterface(memory, shape=(10, 20, 41), strides=(2 * 2 * 40 * 41, 2 * 2 * 41, 2))
    b[5:25:2, 30:10:-1] = part
    want = VALUES.copy()
    want[5:25:2, 30:10:-1] = VALUES[:20:2, ::2]
    assert same(b[...], want)


def test_writing_objects_larger_than_a_slab(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(2).integers(0, 9, (40, 1024, 1024), "u1")
    memory = on_device(values, tmp_path / "a")
    b = penstock.create(tmp_path / "b", shape=values.shape, dtype="u1", chunks=(40, 1024, 1000))
    b[...] = memory
    assert np.array_equal(b[...], values)
    b[1:, :, ::-1] = OnlyInterface(memory, shape=(39, 1024, 1024))
    assert np.array_equal(b[1:, :, ::-1], values[:39])


def test_writing_keeps_to_streams_and_futures(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    stream = penstock.Stream.create(0)
    b = penstock.create(tmp_path / "b", shape=SHAPE, dtype="u2", chunks=(9, 9, 9))
    source = OnlyDlpack(array.read(device="cuda", stream=stream))
    b.write(..., source, stream=stream)
    assert source.streams == [stream.handle] and same(b[...], VALUES)
    future = b.write_async(..., array.read(np.s_[::-1], device="cuda"))
    assert future.result(60) is None
    assert same(b[...], VALUES[::-1])


# What does not work.


def test_what_does_not_fit(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    memory = array.read(device="cuda")
    with pytest.raises(ValueError, match="shape"):
        array.read(np.s_[1:], out=memory)
    with pytest.raises(TypeError, match="must be the same"):
        penstock.create(tmp_path / "i", shape=SHAPE, dtype="i2").read(out=memory)
    with pytest.raises(TypeError, match="must be the same"):
        penstock.create(tmp_path / "f", shape=SHAPE, dtype="f4").read(out=OnlyInterface(memory))
    with pytest.raises(ValueError, match="read-only"):
        array.read(out=OnlyInterface(memory, data=(memory.address, True)))
    with pytest.raises(ValueError, match="not CUDA memory"):
        host = np.empty(SHAPE, "u2")
        array.read(out=OnlyInterface(memory, data=(host.ctypes.data, False)))
    with pytest.raises(TypeError, match="stream"):
        array.read(device="cuda", stream="fast")
    with pytest.raises(ValueError, match="stream"):
        array.write(..., VALUES, stream=penstock.Stream.create(0))
    with pytest.raises(ValueError, match="shape"):
        array.write(..., array.read(np.s_[1:], device="cuda"))
    words = penstock.create(tmp_path / "w", shape=SHAPE, dtype="string")
    with pytest.raises(TypeError, match="host memory"):
        words.read(device="cuda")
    with pytest.raises(TypeError, match="host memory"):
        words[...] = memory
    times = penstock.create(tmp_path / "t", shape=(3,), dtype="M8[ns]").read(device="cuda")
    with pytest.raises(BufferError):
        times.__dlpack__()
    assert same(array[...], VALUES)


@pytest.mark.parametrize("exponent", [40, 58, 62])
def test_more_than_the_device_holds_is_named(tmp_path: pathlib.Path, exponent: int) -> None:
    a = penstock.create(tmp_path / "big", shape=(2**exponent, 2), dtype="f8", chunks=(2**20, 2))
    asked = rf"big: {2**exponent * 16} bytes for \({2**exponent}, 2\) of the array's .*: more than cuda:0 holds"
    with pytest.raises(MemoryError, match=asked):
        a.read(device="cuda")


def test_budgets(array: penstock.Array) -> None:
    memory = array.read(device="cuda")
    with pytest.raises(penstock.BudgetError, match="needs"):
        array.read(device="cuda", budget="1KiB")
    with pytest.raises(penstock.BudgetError, match="needs"):
        array.write(..., memory, budget="1KiB")
    assert same(array[...], VALUES)


@pytest.mark.parametrize("place", ["cpu", "device"])
@pytest.mark.parametrize("codecs", [["zstd"], LZ4, ["crc32c"]], ids=["zstd", "lz4", "crc32c"])
def test_damaged_chunks(tmp_path: pathlib.Path, codecs: Any, place: str) -> None:
    values = sample("u4", (64, 64))
    a = penstock.create(tmp_path / "a", shape=(64, 64), dtype="u4", chunks=(16, 16), codecs=codecs, fill_value=5)
    a[...] = values
    whole = (tmp_path / "a/c/1/2").read_bytes()
    for damaged in (whole[: len(whole) // 2], b""):
        (tmp_path / "a/c/1/2").write_bytes(damaged)
        with pytest.raises(penstock.CorruptDataError, match="c/1/2"):
            a.read(device="cuda", decode=place)
        got = a.read(device="cuda", decode=place, on_error="fill").numpy()
        report = a.last_report
        assert report is not None and [problem.key for problem in report.problems] == ["c/1/2"]
        want = values.copy()
        want[16:32, 32:48] = 5
        assert same(got, want)
    (tmp_path / "a/c/1/2").unlink()
    assert same(a.read(device="cuda", decode=place).numpy(), want)


def test_the_wrong_device(array: penstock.Array) -> None:
    memory = array.read(device="cuda")
    with pytest.raises(ValueError, match="cpu"):
        array.read(out=memory, device="cpu")
    with pytest.raises(ValueError, match="host memory"):
        array.read(out=np.empty(SHAPE, "u2"), device="cuda")
    with pytest.raises(penstock.DeviceError, match="cuda:99"):
        array.read(device="cuda:99")
    for other in DEVICES[1:]:
        index = int(other.removeprefix("cuda:"))
        there = array.read(device=other)
        assert same(there.numpy(), VALUES)
        with pytest.raises(ValueError, match=other):
            array.read(out=there, device="cuda:0")
        with pytest.raises(ValueError, match="stream"):
            array.read(out=there, stream=penstock.Stream.create(0))
        with pytest.raises(ValueError, match="stream"):
            array.read(device="cuda:0", stream=penstock.Stream.create(index))
        # Memory that says nothing about its device is found out.
        array.read(np.s_[::-1], out=OnlyInterface(there))
        assert same(there.numpy(), VALUES[::-1])


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_cog_of_device_memory_is_that_of_host_memory(wrap: str, tmp_path: pathlib.Path) -> None:
    """Also of a part that is not contiguous, and with a mask that lies on the device."""
    values = sample("u2", (3, 300, 410))
    mask = (sample("u1", (300, 410)) > 9).astype("u1")
    device, device_mask = on_device(values, tmp_path / "v.zarr"), on_device(mask, tmp_path / "m.zarr")
    options: dict[str, Any] = {"block": 64, "nodata": 5, "crs": 32633, "transform": (10, 0, 5e5, 0, -10, 5e6)}
    penstock.write_cog(values, tmp_path / "host.tif", mask=mask, **options)
    penstock.write_cog(WRAPS[wrap](device), tmp_path / "device.tif", mask=WRAPS[wrap](device_mask), **options)
    assert (tmp_path / "host.tif").read_bytes() == (tmp_path / "device.tif").read_bytes()
    penstock.write_cog(penstock.asarray(device)[1:, 7:290:3, 5:], tmp_path / "part.tif", **options)
    np.testing.assert_array_equal(penstock.open(tmp_path / "part.tif")[...], values[1:, 7:290:3, 5:])
