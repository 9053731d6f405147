"""out=, DLPack, buffers: any memory that can hold the result, and nothing else."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import penstock

from support import FLAT_STRUCT, same, sample

SHAPE = (9, 8, 7)
VALUES = np.arange(np.prod(SHAPE), dtype="u2").reshape(SHAPE)


@pytest.fixture(scope="module")
def array(tmp_path_factory: pytest.TempPathFactory) -> penstock.Array:
    a = penstock.create(tmp_path_factory.mktemp("m") / "a.zarr", shape=SHAPE, dtype="u2", chunks=(4, 3, 5))
    a[...] = VALUES
    return a


class OnlyDlpack:
    """A tensor of some other library: nothing but the two methods."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


LAYOUTS = {
    "C": lambda: np.empty(SHAPE, "u2"),
    "F": lambda: np.empty(SHAPE, "u2", order="F"),
    "permuted": lambda: np.empty((7, 9, 8), "u2").transpose(1, 2, 0),
    "strided": lambda: np.zeros((18, 24, 14), "u2")[::2, ::3, 1::2],
    "reversed": lambda: np.empty(SHAPE, "u2")[::-1, ::-1, ::-1],
    "mixed": lambda: np.zeros((9, 16, 7), "u2").transpose(2, 1, 0)[::-1, ::-2].transpose(2, 1, 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_out_with_any_strides(array: penstock.Array, layout: str) -> None:
    out = LAYOUTS[layout]()
    assert array.read(out=out) is out
    assert same(out, VALUES)


@pytest.mark.parametrize("layout", ["C", "F", "permuted", "strided", "reversed"])
def test_out_by_dlpack(array: penstock.Array, layout: str) -> None:
    out = OnlyDlpack(LAYOUTS[layout]())
    assert array.read(np.s_[...], out=out) is out
    assert same(out.array, VALUES)


def test_out_leaves_its_neighbours_alone(array: penstock.Array) -> None:
    around = np.full((13, 12, 11), 0xABCD, "u2")
    array.read(np.s_[::-2, 1:7, 3], out=around[2:7, 3:9, 5])
    assert same(around[2:7, 3:9, 5], VALUES[::-2, 1:7, 3])
    around[2:7, 3:9, 5] = 0xABCD
    assert (around == 0xABCD).all()


def test_out_of_dropped_and_empty_dimensions(array: penstock.Array) -> None:
    one = np.zeros((), "u2")
    assert array.read((3, -1, 2), out=one) is one
    assert one == VALUES[3, -1, 2]
    nothing = np.empty((0, 8, 7), "u2")
    assert array.read(np.s_[5:5], out=nothing) is nothing


def test_out_buffers(array: penstock.Array) -> None:
    import array as stdlib

    out = stdlib.array("H", bytes(14))
    assert array.read((0, 0), out=out) is out
    assert list(out) == VALUES[0, 0].tolist()


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.empty((9, 8, 6), "u2"), ValueError, "shape"),
        (np.empty(SHAPE, "u4"), TypeError, "uint32"),
        (np.empty(SHAPE, ">u2"), TypeError, "same"),
        (OnlyDlpack(np.empty(SHAPE, "i2")), TypeError, "out holds int16, the array uint16"),
        (np.broadcast_to(np.zeros(1, "u2"), SHAPE), ValueError, "read-only"),
        (bytes(VALUES.nbytes), TypeError, "holds"),
        ([1, 2, 3], TypeError, "list"),
        (3, TypeError, "int"),
    ],
    ids=["shape", "dtype", "byte order", "dlpack dtype", "read-only", "bytes", "list", "int"],
)
def test_out_that_does_not_fit(array: penstock.Array, out: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        array.read(out=out)


def test_a_read_only_tensor_is_refused(array: penstock.Array) -> None:
    values = np.empty(SHAPE, "u2")
    values.flags.writeable = False
    with pytest.raises((ValueError, TypeError, BufferError)):
        array.read(out=OnlyDlpack(values))


def test_numpy_takes_it(array: penstock.Array) -> None:
    assert same(np.asarray(array), VALUES)
    assert same(np.asarray(array, dtype="f4"), VALUES.astype("f4"))
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, copy=False)


def test_the_result_goes_out_by_dlpack(array: penstock.Array) -> None:
    assert same(np.from_dlpack(array[2:5]), VALUES[2:5])


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_no_cuda_says_why(array: penstock.Array, device: str) -> None:
    if penstock.cuda_unavailable_reason():
        with pytest.raises(penstock.DeviceError, match="(?i)cuda"):
            array.read(device=device)
    else:
        assert same(array.read(device=device).numpy(), VALUES)


def test_device_names(array: penstock.Array) -> None:
    assert same(array.read(device="cpu"), VALUES)
    with pytest.raises(ValueError, match="tpu"):
        array.read(device="tpu")
    with pytest.raises(ValueError, match="stream"):
        array.read(stream=1)


@pytest.mark.parametrize("dtype", ["M8[ns]", "S5", "U3", "V3", FLAT_STRUCT], ids=str)
def test_out_of_types_that_dlpack_does_not_have(tmp_path: pathlib.Path, dtype: Any) -> None:
    values = sample(dtype, (6, 5))
    a = penstock.create(tmp_path / "a", shape=(6, 5), dtype=dtype, chunks=(4, 2), zarr_format=2)
    a[...] = values
    out = np.zeros((12, 6), dtype)[::-2, 1:].T[::-1].T
    a.read(out=out)
    assert same(out, values)


def test_objects_with_strides(tmp_path: pathlib.Path) -> None:
    values = sample("string", (6, 5))
    a = penstock.create(tmp_path / "a", shape=(6, 5), dtype="string", chunks=(4, 2))
    a[...] = np.asfortranarray(values)
    out = np.full((6, 10), "old", object)[::-1, ::2]
    a.read(out=out)
    assert same(out, values)
    assert a[2, 3] == values[2, 3] and isinstance(a[2, 3], str)
    assert same(a[::-2, 1], values[::-2, 1])


def test_objects_of_the_wrong_type(tmp_path: pathlib.Path) -> None:
    a = penstock.create(tmp_path / "a", shape=(2, 2), dtype="string")
    with pytest.raises(TypeError, match=r"\[1, 0\].*3.*not str"):
        a[...] = np.array([["a", "b"], [3, "c"]], object)
    with pytest.raises(ValueError, match="surrogates"):
        a[...] = "\ud800"
    b = penstock.create(tmp_path / "b", shape=(2,), dtype="bytes")
    with pytest.raises(TypeError, match="not bytes"):
        b[...] = "text"


def test_string_dtype_of_numpy(tmp_path: pathlib.Path) -> None:
    words = np.array(["a", "Grüße", ""], np.dtypes.StringDType())
    a = penstock.create(tmp_path / "a", shape=(3,), dtype=words.dtype)
    a[...] = words
    assert a[...].tolist() == words.tolist()


def test_references_of_objects_are_counted_right(tmp_path: pathlib.Path) -> None:
    import gc
    import sys

    a = penstock.create(tmp_path / "a", shape=(50,), dtype="string", chunks=(7,))
    word = "".join(["some ", "word"])
    a[...] = np.array([word] * 50, object)
    gc.collect()
    before = sys.getrefcount(word)
    a[...] = np.array([word] * 50, object)
    out = np.array([word] * 50, object)
    a.read(out=out)
    gc.collect()
    assert sys.getrefcount(word) == before
    assert all(sys.getrefcount(s) < 6 for s in out)


def test_large_results_begin_at_a_cache_line(tmp_path: pathlib.Path) -> None:
    for dtype in ("u1", "m8[s]", "f8"):
        made = penstock.create(tmp_path / dtype, shape=(1 << 20,), dtype=dtype, chunks=(1 << 18,))
        made[: 1 << 19] = np.arange(1 << 19).astype(dtype)
        got = made[...]
        assert got.__array_interface__["data"][0] % 64 == 0
        assert got.dtype == np.dtype(dtype)
        assert got.flags.writeable
        np.testing.assert_array_equal(got[: 1 << 19], np.arange(1 << 19).astype(dtype))
        (part,) = penstock.read_many([(made, slice(1, 5))])
        np.testing.assert_array_equal(part, got[1:5])
