"""Data types of the library as NumPy's, and back."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

from . import _core

DTypeLike: TypeAlias = Any
"""What ``np.dtype`` takes, or a name of zarr v3: "bfloat16", "r24", "string", "bytes"."""

_SIMPLE = {"boolean": "b", "signed_int": "i", "unsigned_int": "u", "floating": "f", "complex": "c"}
_CORE_NAMES = {"bfloat16", "string", "bytes"}


def bfloat16() -> np.dtype[Any]:
    """ml_dtypes.bfloat16 if that package is installed, else uint16 holding the bits."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    made: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return made


def to_numpy(dtype: _core.DType) -> np.dtype[Any]:
    """NumPy's data type, native byte order.  Variable-length text and bytes are object."""
    kind, size = dtype.kind, dtype.size_bytes
    if kind in _SIMPLE:
        return np.dtype(f"{_SIMPLE[kind]}{size}")
    if kind == "bfloat":
        return bfloat16()
    if kind == "raw":
        return np.dtype(f"V{size}")
    if kind == "bytes":
        return np.dtype(f"S{size}")
    if kind == "utf32":
        return np.dtype(f"U{size // 4}")
    if kind in ("datetime", "timedelta"):
        letter = "M8" if kind == "datetime" else "m8"
        if dtype.unit == "generic":
            return np.dtype(letter)
        return np.dtype(f"{letter}[{dtype.unit_count}{dtype.unit}]")
    if kind == "structure":
        fields = dtype.fields
        return np.dtype(
            {
                "names": [name for name, _, _, _ in fields],
                "formats": [(to_numpy(sub), tuple(shape)) if shape else to_numpy(sub) for _, sub, _, shape in fields],
                "offsets": [offset for _, _, offset, _ in fields],
                "itemsize": size,
            }
        )
    return np.dtype(object)


def from_numpy(dtype: DTypeLike) -> tuple[_core.DType, str]:
    """The library's data type, and the byte order ("little" or "big") that the given one asks for in the file.

    Errors: TypeError for object (say "string" or "bytes") and for types that zarr does not have.
    """
    if dtype is str:
        return _core.DType("vlen_utf8", 16), "little"
    if dtype is bytes:
        return _core.DType("vlen_bytes", 16), "little"
    if isinstance(dtype, _core.DType):
        return dtype, "little"
    if isinstance(dtype, str) and (dtype in _CORE_NAMES or (dtype[:1] == "r" and dtype[1:].isdigit())):
        return _core.DType.parse(dtype), "little"
    numpy = np.dtype(dtype)
    order = numpy.byteorder if numpy.byteorder in "<>" else "<" if sys.byteorder == "little" else ">"
    return _from_dtype(numpy), "big" if order == ">" else "little"


def _from_dtype(numpy: np.dtype[Any]) -> _core.DType:
    kind, size = numpy.kind, numpy.itemsize
    for name, letter in _SIMPLE.items():
        if kind == letter and size <= 16 and not (kind == "f" and size > 8):
            return _core.DType(name, size)
    if numpy.name == "bfloat16":
        return _core.DType("bfloat", 2)
    if kind in "mM":
        unit, count = np.datetime_data(numpy)
        return _core.DType("datetime" if kind == "M" else "timedelta", 8, unit, count)
    if kind in "SU" and size > 0:
        return _core.DType("bytes" if kind == "S" else "utf32", size)
    if kind == "T":
        return _core.DType("vlen_utf8", 16)
    if numpy.fields is not None:
        return _core.DType("structure", size, "", 1, [_field(name, numpy) for name in numpy.names or ()])
    if kind == "V" and size > 0 and numpy.subdtype is None:
        return _core.DType("raw", size)
    error = TypeError(f"data type {numpy!r} has no form in zarr")
    if kind in "OSU":
        error.add_note("For text or bytes of any length say dtype='string' or dtype='bytes'.")
    raise error


def _field(name: str, numpy: np.dtype[Any]) -> tuple[str, _core.DType, int, list[int]]:
    assert numpy.fields is not None
    dtype, offset = numpy.fields[name][:2]
    base, shape = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
    return name, _from_dtype(base), offset, list(shape)


def element_bytes(value: Any, dtype: _core.DType) -> bytes:
    """One element as the library keeps fill values.

    Errors: what NumPy raises when the value does not fit; TypeError for text or bytes of the wrong kind.
    """
    if dtype.kind == "vlen_utf8":
        if not isinstance(value, str):
            raise TypeError(f"fill_value must be str, not {type(value).__name__}")
        return value.encode()
    if dtype.kind == "vlen_bytes":
        if not isinstance(value, bytes):
            raise TypeError(f"fill_value must be bytes, not {type(value).__name__}")
        return value
    numpy = to_numpy(dtype)
    if dtype.kind in ("raw", "structure") and isinstance(value, bytes):
        if len(value) != dtype.size_bytes:
            raise ValueError(f"fill_value has {len(value)} bytes, an element has {dtype.size_bytes}")
        return value
    element = np.zeros((), numpy)
    element[()] = value
    return element.tobytes()


def default_fill(dtype: _core.DType) -> Any:
    """Zero, empty, or not-a-time."""
    if dtype.kind == "vlen_utf8":
        return ""
    if dtype.kind == "vlen_bytes":
        return b""
    if dtype.kind in ("datetime", "timedelta"):
        return np.array("NaT", to_numpy(dtype))
    return np.zeros((), to_numpy(dtype))


def element_value(raw: bytes, dtype: _core.DType) -> Any:
    """A fill value for people; None when there is none."""
    if dtype.kind == "vlen_utf8":
        return raw.decode()
    if dtype.kind == "vlen_bytes":
        return raw
    if not raw:
        return None
    return np.frombuffer(raw, to_numpy(dtype))[0]
