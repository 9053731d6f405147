"""With CuPy and PyTorch: memory both ways without a copy, and in the order of their streams.  Where they are installed."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock
import penstock.ndimage

from support import sample

SHAPE = (64, 96, 80)
VALUES = sample("i4", SHAPE)
BUSY = 1 << 26  # elements that keep the device at work for a while


@pytest.fixture(scope="module")
def array(tmp_path_factory: pytest.TempPathFactory) -> penstock.Array:
    a = penstock.create(tmp_path_factory.mktemp("l") / "a", shape=SHAPE, dtype="i4", chunks=(32, 32, 32))
    a[...] = VALUES
    return a


class CuPy:
    """What the tests ask of a library."""

    def __init__(self) -> None:
        self.lib = importlib.import_module("cupy")
        self.large = self.lib.ones(BUSY, "f4")

    def stream(self) -> Any:
        return self.lib.cuda.Stream(non_blocking=True)

    def within(self, stream: Any) -> Any:
        return stream

    def synchronize(self) -> None:
        self.lib.cuda.Device().synchronize()

    def full(self, value: int) -> Any:
        return self.lib.full(SHAPE, value, "i4")

    def from_dlpack(self, x: Any) -> Any:
        return self.lib.from_dlpack(x)

    def numpy(self, x: Any) -> Any:
        return self.lib.asnumpy(x)

    def handle(self, stream: Any) -> int:
        return int(stream.ptr)

    def keep_busy(self) -> None:
        """Puts milliseconds of work into the current stream."""
        for _ in range(40):
            self.lib.sin(self.large, out=self.large)


class Torch(CuPy):
    def __init__(self) -> None:
        self.lib = importlib.import_module("torch")
        self.large = self.lib.ones(BUSY, dtype=self.lib.float32, device="cuda")

    def stream(self) -> Any:
        return self.lib.cuda.Stream()

    def within(self, stream: Any) -> Any:
        return self.lib.cuda.stream(stream)

    def synchronize(self) -> None:
        self.lib.cuda.synchronize()

    def full(self, value: int) -> Any:
        return self.lib.full(SHAPE, value, dtype=self.lib.int32, device="cuda")

    def numpy(self, x: Any) -> Any:
        return x.cpu().numpy()

    def handle(self, stream: Any) -> int:
        return int(stream.cuda_stream)


MAKERS: dict[str, Callable[[], CuPy]] = {"cupy": CuPy, "torch": Torch}
INSTALLED = [name for name in MAKERS if importlib.util.find_spec(name) is not None]


@pytest.fixture(scope="module", params=INSTALLED)
def lib(request: pytest.FixtureRequest) -> CuPy:
    return MAKERS[request.param]()


def test_from_dlpack(array: penstock.Array, lib: CuPy) -> None:
    x = array.read(device="cuda")
    taken = lib.from_dlpack(x)
    address = taken.data_ptr() if isinstance(lib, Torch) else taken.data.ptr
    assert address == x.address
    del x
    assert np.array_equal(lib.numpy(taken), VALUES)


def test_asarray(array: penstock.Array, lib: CuPy) -> None:
    taken = lib.lib.as_tensor(array.read(device="cuda"), device="cuda") if isinstance(lib, Torch) else None
    taken = lib.lib.asarray(array.read(device="cuda")) if taken is None else taken
    assert np.array_equal(lib.numpy(taken), VALUES)


def test_out(array: penstock.Array, lib: CuPy) -> None:
    out = lib.full(-1)
    assert array.read(out=out) is out
    assert np.array_equal(lib.numpy(out), VALUES)
    out = lib.full(-1)
    part = out[1::2, 3:90:3]  # strides
    array.read(np.s_[::-2, 9:96:3], out=part)
    want = np.full_like(VALUES, -1)
    want[1::2, 3:90:3] = VALUES[::-2, 9:96:3]
    assert np.array_equal(lib.numpy(out), want)


def test_a_read_comes_after_what_its_stream_does(array: penstock.Array, lib: CuPy) -> None:
    stream = lib.stream()
    out = lib.full(-1)
    lib.synchronize()
    with lib.within(stream):
        lib.keep_busy()
        out[...] = 7  # late: a read that did not wait would be overwritten
        assert array.read(out=out, stream=stream) is out
        after = out + 1
    lib.synchronize()
    assert np.array_equal(lib.numpy(out), VALUES)
    assert np.array_equal(lib.numpy(after), VALUES + 1)


def test_a_read_comes_after_what_the_owner_of_out_does(array: penstock.Array, lib: CuPy) -> None:
    out = lib.full(-1)
    lib.keep_busy()
    out[...] = 7
    array.read(out=out)  # no stream: DLPack makes it wait for the owner's
    lib.synchronize()
    assert np.array_equal(lib.numpy(out), VALUES)


def test_a_consumer_waits_for_the_stream_of_the_read(array: penstock.Array, lib: CuPy) -> None:
    stream = lib.stream()
    lib.synchronize()
    with lib.within(stream):
        lib.keep_busy()
    x = array.read(device="cuda", stream=stream)
    assert x.__cuda_array_interface__["stream"] == lib.handle(stream)
    after = lib.from_dlpack(x) + 1  # in the default stream
    assert np.array_equal(lib.numpy(after), VALUES + 1)


def test_memory_is_not_used_again_before_its_consumers_are_done(array: penstock.Array, lib: CuPy) -> None:
    """A loop that reads and computes: the work on one result is still queued when the next read begins."""
    lib.synchronize()
    lib.keep_busy()
    sums = []
    for i in range(4):
        x = lib.from_dlpack(array.read(np.s_[i::4], device="cuda"))
        sums.append(x + 0)
        del x
    for i, got in enumerate(sums):
        assert np.array_equal(lib.numpy(got), VALUES[i::4]), i


def test_operators_give_what_they_are_given(lib: CuPy) -> None:
    x = lib.full(7)
    made = penstock.ndimage.maximum_filter(x, 3)
    assert type(made) is type(x)
    assert np.array_equal(lib.numpy(made), np.full(SHAPE, 7, "i4"))


def test_writing(array: penstock.Array, lib: CuPy, tmp_path: pathlib.Path) -> None:
    b = penstock.create(tmp_path / "b", shape=SHAPE, dtype="i4", chunks=(20, 30, 40), shards=(40, 60, 80))
    source = lib.full(3)
    lib.keep_busy()
    source[...] = lib.from_dlpack(array.read(device="cuda"))
    b[...] = source  # waits for the owner's stream
    assert np.array_equal(b[...], VALUES)
    b[::2, :40] = source[1::2, 7:47]  # strides
    want = VALUES.copy()
    want[::2, :40] = VALUES[1::2, 7:47]
    assert np.array_equal(b[...], want)
    stream = lib.stream()
    lib.synchronize()
    with lib.within(stream):
        lib.keep_busy()
        source[...] = 11
        b.write(..., source, stream=stream)
    assert (b[...] == 11).all()
