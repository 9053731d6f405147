"""asarray, views, and what goes out again; deadline, decode, encode and memory of a call."""

from __future__ import annotations

import array as stdlib
import ctypes
import datetime
import gc
import pathlib
import time
from typing import Any

import numpy as np
import pytest

import penstock as ps

from support import FLAT_STRUCT, same, sample

VALUES = np.arange(60, dtype="i4").reshape(3, 4, 5)


class OnlyDlpack:
    """A tensor of some library; `old`: of before DLPack's version 1."""

    def __init__(self, array: np.ndarray[Any, Any], *, old: bool = False) -> None:
        self.array = array
        self.old = old
        self.asked: dict[str, Any] = {}

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.old and kwargs:
            raise TypeError("__dlpack__() got an unexpected keyword argument")
        self.asked = kwargs
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.fixture
def a(tmp_path: pathlib.Path) -> ps.Array:
    made = ps.create(tmp_path / "a.zarr", shape=(3, 4, 5), dtype="i4", chunks=(2, 2, 2))
    made[...] = VALUES
    return made


VIEWS = [
    np.s_[...],
    np.s_[1],
    np.s_[1, -1, 2],
    np.s_[::-1, 1:3, ::-2],
    np.s_[..., 0],
    np.s_[2:1],
    np.s_[-2:, ::3],
    np.s_[np.int64(1), ..., np.uint8(2)],
]


@pytest.mark.parametrize("view", VIEWS, ids=repr)
def test_views_are_numpys(view: Any) -> None:
    x = VALUES.copy()
    t = ps.asarray(x)
    part, want = t[view], x[view]
    got = part.numpy()
    assert same(got, np.asarray(want)) and part.shape == np.shape(want)
    assert isinstance(part, ps.Tensor) and (part.size, part.ndim) == (np.size(want), np.ndim(want))
    assert same(part.contiguous().numpy(), np.asarray(want))
    assert same(np.asarray(part), np.asarray(want))
    assert same(np.from_dlpack(part), np.asarray(want))
    if np.size(want) and np.ndim(want):
        got[...] = -1
        assert (x[view] == -1).all(), "the same memory"


@pytest.mark.parametrize(
    "dtype", ["?", "u1", "i8", "f2", "f4", "c16", "M8[ns]", "m8[s]", "S5", "U3", "V4", FLAT_STRUCT]
)
def test_all_data_types_come_and_go(dtype: Any) -> None:
    values = sample(np.dtype(dtype), (4, 6))[::-1, ::2]
    t = ps.asarray(values)
    assert t.dtype == values.dtype and t.strides == values.strides and t.device == "cpu"
    assert same(t.numpy(), values)
    assert same(t.contiguous().numpy(), values)
    if np.dtype(dtype).kind in "?uifc":
        assert same(np.from_dlpack(t), values)
    elif np.dtype(dtype).kind != "b":
        with pytest.raises(BufferError, match="DLPack: there is no data type for"):
            t.__dlpack__()


def test_takes_what_others_have() -> None:
    for old in (False, True):
        other = OnlyDlpack(VALUES.copy()[:, ::-1], old=old)
        t = ps.asarray(other)
        assert same(t.numpy(), other.array) and t.address == other.array.__array_interface__["data"][0]
        assert old or other.asked == {"max_version": (1, 1)}
    buffer = stdlib.array("d", [1, 2, 3])
    assert same(ps.asarray(buffer).numpy(), np.array([1.0, 2, 3]))
    assert ps.asarray(b"ab").read_only and ps.asarray(b"ab").numpy().tolist() == [97, 98]
    t = ps.asarray(VALUES)
    assert ps.asarray(t) is t


def test_read_only_stays_so() -> None:
    x = VALUES.copy()
    x.flags.writeable = False
    for given in (x, OnlyDlpack(x)):
        t = ps.asarray(given)
        assert t.read_only and not t.numpy().flags.writeable
        assert not np.from_dlpack(t).flags.writeable
        with pytest.raises(BufferError, match="since version 1 only"):
            t.__dlpack__()
    assert not ps.asarray(x)[::2].contiguous().read_only


def test_read_only_memory_can_be_written_from_but_not_read_into(a: ps.Array) -> None:
    x = VALUES[::-1].copy()
    x.flags.writeable = False
    a[...] = OnlyDlpack(x)
    assert same(a[...], x)
    with pytest.raises(ValueError, match="^out is read-only$"):
        a.read(out=OnlyDlpack(x))
    with pytest.raises(ValueError, match="^out is read-only$"):
        a.read(out=ps.asarray(x))


def test_reads_go_into_tensors_and_writes_come_from_them(a: ps.Array) -> None:
    room = np.zeros((3, 8, 5), "i4")
    out = ps.asarray(room)[::-1, ::2]
    assert a.read(out=out) is out
    assert same(room[::-1, ::2], VALUES) and not room[:, 1::2].any()
    a[:, 1] = ps.asarray(VALUES)[::-1, 3]
    assert same(a[:, 1], VALUES[::-1, 3])


def test_memory_lives_with_the_last_view() -> None:
    x = np.arange(100000)
    part = ps.asarray(x[::-1])[10:20]
    out = np.from_dlpack(part)
    again = part.numpy()
    del x, part
    gc.collect()
    np.zeros(100000)  # would take the place
    assert out.tolist() == again.tolist() == list(range(99989, 99979, -1))


def test_a_capsule_is_taken_once() -> None:
    from penstock import _core

    capsule = ps.asarray(VALUES).__dlpack__(max_version=(1, 0))
    _core.Tensor.from_capsule(capsule)
    with pytest.raises(ValueError, match="gave no tensor that is not taken yet"):
        _core.Tensor.from_capsule(capsule)
    ps.asarray(VALUES).__dlpack__()  # nobody takes it: it is given back


class Capsule:
    """Hands over whatever it is told to, as a hostile producer could."""

    def __init__(self, fields: dict[str, Any], device: tuple[int, int] = (1, 0)) -> None:
        self.fields = fields
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **_: Any) -> Any:
        class DLTensor(ctypes.Structure):
            _fields_ = [
                ("data", ctypes.c_void_p),
                ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64),
                ("manager_ctx", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p),
            ]

        self.memory = (ctypes.c_int32 * 6)(*range(6))
        made = DLTensor(
            data=ctypes.addressof(self.memory), device_type=1, ndim=2, code=0, bits=32, lanes=1, byte_offset=0
        )
        self.shape = (ctypes.c_int64 * 2)(*self.fields.get("shape", (2, 3)))
        self.strides = (ctypes.c_int64 * 2)(*self.fields.get("strides", (3, 1)))
        made.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        made.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        for name, value in self.fields.items():
            if name not in ("shape", "strides"):
                setattr(made, name, value)
        self.made = made
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(made), b"dltensor", None)


HOSTILE: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"ndim": -1}, TypeError, "x: DLPack: -1 dimensions; 0 to 32 are understood"),
    ({"ndim": 1000}, TypeError, "x: DLPack: 1000 dimensions; 0 to 32 are understood"),
    ({"lanes": 4}, TypeError, "x: DLPack: data type (code 0, 32 bits) in vectors of 4"),
    ({"code": 3}, TypeError, "x: DLPack: data type (code 3, 32 bits)"),
    ({"bits": 4}, TypeError, "x: DLPack: data type (code 0, 4 bits)"),
    ({"device_type": 4}, TypeError, "x: DLPack: device type 4; known are the CPU and CUDA"),
    ({"device_type": 2}, ValueError, "DLPack: memory of cuda:0 with a stream of cpu"),
    ({"data": None}, ValueError, "DLPack: there are elements, but no memory"),
    ({"shape": (2, -3)}, ValueError, "DLPack: dimension 1 has extent -3"),
    ({"byte_offset": (1 << 64) - 1}, IndexError, "DLPack: the byte offset does not fit in the address space"),
    ({"strides": (1 << 62, 1)}, IndexError, "DLPack: a stride does not fit in 63 bits"),
    ({"strides": ((1 << 61) - 1, 1)}, IndexError, "DLPack: the elements do not fit in the address space"),
]


@pytest.mark.parametrize(("fields", "kind", "text"), HOSTILE, ids=[str(f) for f, _, _ in HOSTILE])
def test_hostile_tensors_are_refused(fields: dict[str, Any], kind: type[Exception], text: str) -> None:
    assert ps.asarray(Capsule({})).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(kind) as caught:
        ps.asarray(Capsule(fields))
    assert str(caught.value) == text


def test_deadline(a: ps.Array, tmp_path: pathlib.Path) -> None:
    for deadline in (0, -1.5, datetime.timedelta(seconds=-1)):
        for call in (
            lambda d: a.read(deadline=d),
            lambda d: ps.read_many([(a, ...)], deadline=d),
            lambda d: a.write(..., 0, deadline=d),
            lambda d: a.verify(deadline=d),
            lambda d: a.read_async(deadline=d).result(60),
        ):
            with pytest.raises(TimeoutError, match="was not done by its deadline"):
                call(deadline)
    for number, call in enumerate(
        (
            lambda url: ps.copy(a, url, deadline=0),
            lambda url: ps.write_pyramid(a, url, deadline=datetime.timedelta(seconds=-1)),
        )
    ):
        with pytest.raises(TimeoutError, match="was not done by its deadline"):
            call(tmp_path / str(number))
        with pytest.raises(FileNotFoundError):
            ps.open(tmp_path / str(number))
    assert same(ps.copy(a, tmp_path / "0", resume=True, deadline=1e300)[...], VALUES)
    assert same(a.read(deadline=1e300), VALUES), "too far away to matter, and nothing was written"
    assert same(a.read(deadline=datetime.timedelta(hours=1)), VALUES)


def test_deadline_that_passes_on_the_way(tmp_path: pathlib.Path) -> None:
    a = ps.create(tmp_path / "a.zarr", shape=(256, 256), dtype="u1", chunks=(4, 256), fill_value=7)
    a[...] = 1
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        a.read(deadline=0.2, threads=2, progress=lambda *_: time.sleep(0.25))
    assert time.monotonic() - begin < 30


class Counting:
    """A CPU allocator that counts."""

    device = "cpu"

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.allocations = 0

    def allocate(self, nbytes: int, stream: int) -> int:
        assert stream == 0
        room = ctypes.create_string_buffer(nbytes + 256)
        address = (ctypes.addressof(room) + 255) // 256 * 256
        self.blocks[address] = room
        self.allocations += 1
        return address

    def deallocate(self, address: int, nbytes: int, stream: int) -> None:
        del self.blocks[address]


def test_results_come_from_the_memory_that_was_given(a: ps.Array) -> None:
    memory = Counting()
    assert isinstance(memory, ps.Allocator)
    got = a.read(np.s_[1:], memory=memory)
    assert same(got, VALUES[1:]) and len(memory.blocks) == 1
    part = got[0, ::2]
    many = ps.read_many([(a, 0), (a, np.s_[..., 1])], memory=memory)
    assert same(many[0], VALUES[0]) and same(many[1], VALUES[..., 1]) and len(memory.blocks) == 3
    del got, many
    gc.collect()
    assert len(memory.blocks) == 1 and same(part, VALUES[1, ::2])
    del part
    gc.collect()
    assert not memory.blocks and memory.allocations == 3


def test_an_allocator_that_fails_is_an_error(a: ps.Array) -> None:
    class Failing(Counting):
        def allocate(self, nbytes: int, stream: int) -> int:
            raise RuntimeError(f"no {nbytes} bytes")

    with pytest.raises(MemoryError, match="the memory option's allocator: RuntimeError: no 240 bytes"):
        a.read(memory=Failing())

    class Crooked(Counting):
        def allocate(self, nbytes: int, stream: int) -> int:
            return 257

        def deallocate(self, address: int, nbytes: int, stream: int) -> None:
            assert address == 257

    with pytest.raises(MemoryError, match="gave no address at a multiple of 256"):
        a.read(memory=Crooked())
