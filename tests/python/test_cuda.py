"""Reads into and writes from CUDA memory.  Part of a run only where there is a GPU; no other GPU library is needed."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import penstock

from support import SPECIFIED_V3, name_of, same, sample

SHAPE = (37, 40, 41)


@pytest.fixture(scope="module")
def array(tmp_path_factory: pytest.TempPathFactory) -> penstock.Array:
    a = penstock.create(tmp_path_factory.mktemp("g") / "a", shape=SHAPE, dtype="u2", chunks=(16, 16, 16))
    a[...] = sample("u2", SHAPE)
    return a


class OnlyInterface:
    """Device memory as Numba shows it: __cuda_array_interface__ and nothing else."""

    def __init__(self, owner: penstock.DeviceArray, **changes: Any) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


class OnlyDlpack:
    def __init__(self, owner: penstock.DeviceArray) -> None:
        self.owner = owner
        self.streams: list[Any] = []

    def __dlpack__(self, *, stream: Any = None, **kwargs: Any) -> Any:
        self.streams.append(stream)
        return self.owner.__dlpack__(stream=stream, **kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.owner.__dlpack_device__()


@pytest.mark.parametrize(
    "index", [np.s_[...], np.s_[3:30:3, ::-1, 5], np.s_[::-2, 1:2, ::7], np.s_[5:5], np.s_[1, 2, 3]]
)
def test_selections(array: penstock.Array, index: Any) -> None:
    want = sample("u2", SHAPE)[index]
    got = array.read(index, device="cuda")
    assert isinstance(got, penstock.DeviceArray) and got.shape == np.shape(want)
    assert same(got.numpy(), want)


@pytest.mark.parametrize("codecs", [*SPECIFIED_V3, [{"name": "numcodecs.lz4"}]], ids=name_of)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "c16", ">u4", "M8[ns]"])
def test_codecs(tmp_path: pathlib.Path, dtype: str, codecs: Any) -> None:
    values = sample(np.dtype(dtype).newbyteorder("="), (30, 50))
    for order in ("C", "F"):
        a = penstock.create(
            tmp_path / "a",
            shape=(30, 50),
            dtype=dtype,
            chunks=(16, 8),
            shards=(32, 32),
            codecs=codecs,
            order=order,
            overwrite=True,
        )
        a[...] = values
        assert same(a.read(device="cuda").numpy(), values)
        assert same(a.read(np.s_[::-3, 7], device="cuda").numpy(), values[::-3, 7])


def test_out_by_interface_and_dlpack(array: penstock.Array) -> None:
    want = sample("u2", SHAPE)
    for wrap in (lambda d: d, OnlyInterface, OnlyDlpack):
        memory = array.read(np.s_[::-1], device="cuda")
        out = wrap(memory)
        assert array.read(out=out) is out
        assert same(memory.numpy(), want)


def test_out_with_strides(array: penstock.Array) -> None:
    memory = array.read(device="cuda")
    strides = (2, 2 * 37, 2 * 37 * 40)
    array.read(out=OnlyInterface(memory, strides=strides))
    got = memory.numpy().reshape(41, 40, 37).transpose(2, 1, 0)
    assert same(got, sample("u2", SHAPE))


def test_writing_from_the_device(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    memory = array.read(device="cuda")
    for i, source in enumerate([memory, OnlyInterface(memory), OnlyDlpack(memory)]):
        b = penstock.create(tmp_path / f"b{i}", shape=SHAPE, dtype="u2", chunks=(9, 9, 9))
        b[...] = source
        assert same(b[...], sample("u2", SHAPE))


def test_the_callers_stream(array: penstock.Array) -> None:
    stream = penstock.Stream.create(0)
    for given in (stream, stream.handle):
        got = array.read(device="cuda", stream=given)
        assert got.__cuda_array_interface__["stream"] == stream.handle
        got.__dlpack__(stream=1)
        stream.synchronize()
        assert same(got.numpy(), sample("u2", SHAPE))
    out = OnlyDlpack(array.read(device="cuda"))
    array.read(out=out, stream=stream)
    assert out.streams == [stream.handle]
    assert array.read(device="cuda").__cuda_array_interface__["stream"] is None


def test_memory_outlives_its_array(array: penstock.Array) -> None:
    tensor: Any = array.read(device="cuda").__dlpack__()
    from penstock import _core

    taken = _core.import_readable(tensor)
    del tensor
    for _ in range(20):
        array.read(np.s_[::-1], device="cuda")
    got = np.empty(SHAPE, "u2")
    _core.copy_to_host(got.ctypes.data, taken.address, got.nbytes, penstock.Stream.create(0))
    assert same(got, sample("u2", SHAPE))


def test_what_does_not_fit(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    memory = array.read(device="cuda")
    with pytest.raises(ValueError, match="shape"):
        array.read(np.s_[1:], out=memory)
    with pytest.raises(ValueError, match="cpu"):
        array.read(out=memory, device="cpu")
    with pytest.raises(penstock.DeviceError):
        array.read(device="cuda:99")
    with pytest.raises(TypeError, match="stream"):
        array.read(device="cuda", stream="fast")
    words = penstock.create(tmp_path / "w", shape=(3,), dtype="string")
    with pytest.raises(TypeError, match="host memory"):
        words.read(device="cuda")
    times = penstock.create(tmp_path / "t", shape=(3,), dtype="M8[ns]").read(device="cuda")
    with pytest.raises(BufferError):
        times.__dlpack__()


def test_reports_name_the_device(array: penstock.Array) -> None:
    array.read(device="cuda")
    assert array.last_report is not None
    assert "cuda:0" in str(array.last_report) and array.last_report.peak_device_bytes >= 0


def test_async_on_the_device(array: penstock.Array) -> None:
    futures = [array.read_async(i, device="cuda") for i in range(8)]
    for i, future in enumerate(futures):
        assert same(future.result(60).numpy(), sample("u2", SHAPE)[i])
