"""create, create_group, copy, write_pyramid: what makes new arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _core, _selection
from ._array import Array
from ._create import DEFAULT, ArraySpec, Codec, codec_texts
from ._dtype import DTypeLike
from ._group import Group, Image
from ._node import attributes_json
from ._options import Bytes, Durable, Progress, options
from ._selection import Selection
from ._url import location


def _make_store(url: str | os.PathLike[str], durable: Durable | None) -> _core.Store:
    return _core.Store.open(location(url), "a", durable)


def create(
    url: str | os.PathLike[str],
    *,
    shape: int | Sequence[int],
    dtype: DTypeLike,
    chunks: int | Sequence[int] | Literal["auto"] | None = None,
    shards: int | Sequence[int] | None = None,
    codecs: Sequence[Codec] | None = None,
    fill_value: Any = DEFAULT,
    zarr_format: int = 3,
    order: Literal["C", "F"] = "C",
    separator: Literal["/", "."] | None = None,
    dimension_names: Sequence[str | None] | None = None,
    attributes: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    path: str = "",
    durable: Durable | None = None,
) -> Array:
    """Makes a new array and opens it for reading and writing.

    url: a directory or ``*.zip`` to make if it is absent, or "memory://name".
    shape: extent of each dimension.  dtype: NumPy's, or "bfloat16", "r24", "string", "bytes"; a big-endian one is
        stored big-endian.
    chunks: shape of the smallest unit that can be read alone; None, True or "auto": a choice, up to 4 MiB.
    shards: shape of the objects in the store, multiples of ``chunks``; None: each chunk is an object.
    codecs: in encoding order, names or {"name", "configuration"}, zarr v3 spelling for v2 too; "bytes" (or
        "vlen-utf8", "vlen-bytes") may be left out.  None: zstd, level 3.  []: none.
    fill_value: what absent chunks read as; default zero, empty, or not-a-time; None with zarr v2: null.
    zarr_format: 2 or 3.  order: of elements within a chunk.  separator: in chunk keys; default "/" (v2: ".").
    dimension_names: v3.  attributes: anything that JSON has, and NumPy numbers and arrays.
    path: of the array in the store; "" is the root.
    durable: what is safe from a power cut when a write returns, as in ``open``.
    errors: FileExistsError, TypeError, ValueError, UnsupportedError (names the codec), MetadataError, OSError.
    """
    spec = ArraySpec(
        shape=shape,
        dtype=dtype,
        chunks=chunks,
        shards=shards,
        codecs=codecs,
        fill_value=fill_value,
        zarr_format=zarr_format,
        order=order,
        separator=separator,
        dimension_names=dimension_names,
        attributes=attributes,
    )
    dataset = spec.dataset()
    return Array(_core.Array.create(_make_store(url, durable), path.strip("/"), dataset, overwrite))


def create_group(
    url: str | os.PathLike[str],
    *,
    zarr_format: int = 3,
    attributes: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    path: str = "",
    durable: Durable | None = None,
) -> Group:
    """Makes a new group.  Arguments and errors as ``create``."""
    if zarr_format not in (2, 3):
        raise ValueError(f"zarr_format must be 2 or 3, not {zarr_format!r}")
    text = attributes_json(attributes)
    return Group(_core.Group.create(_make_store(url, durable), path.strip("/"), zarr_format, text, overwrite))


def copy(
    source: Array,
    url: str | os.PathLike[str],
    *,
    selection: Selection = ...,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    codecs: Sequence[Codec] | None = None,
    zarr_format: int | None = None,
    separator: Literal["/", "."] | None = None,
    overwrite: bool = False,
    resume: bool = False,
    path: str = "",
    durable: Durable | None = None,
    budget: Bytes | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Array:
    """Copies an array in bounded memory; what is not given stays as it is.

    selection: as in ``source[...]``, but integers keep their dimension (extent 1).
    shards: () takes the shards away.  codecs: the bytes-to-bytes codecs ("zstd", "crc32c", ...).
    resume: keeps objects that a broken copy has already written.
    returns: the new array, open for reading and writing; ``last_report`` says what was done.
    errors: those of ``Array.read`` and ``create``.
    memory: at most ``budget``.
    """
    _check_source(source)
    region = None if selection is ... else _selection.parse(selection, source.shape).ranges
    store = _make_store(url, durable)
    report = _core.copy(
        source._core,
        store,
        path.strip("/"),
        region,
        zarr_format,
        None if chunks is None else list(chunks),
        None if shards is None else list(shards),
        None if codecs is None else codec_texts(codecs),
        separator,
        overwrite,
        resume,
        options(budget, threads, progress=progress),
    )
    made = Array(_core.Array.open(store, path.strip("/")))
    made._last_report = report
    return made


def write_pyramid(
    source: Array,
    url: str | os.PathLike[str],
    *,
    method: Literal["mean", "nearest"] = "mean",
    levels: int | None = None,
    axes: Sequence[_core.Axis | str] = (),
    scale: Sequence[float] = (),
    name: str = "",
    overwrite: bool = False,
    path: str = "",
    durable: Durable | None = None,
    budget: Bytes | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> _core.Report:
    """Writes an OME-NGFF image: level 0 is ``source``, the others are made of 2 x 2 (x 2) blocks of the spatial axes.

    method: "mean" averages a block; "nearest" takes one element of it (labels).
    levels: None: until the largest spatial extent is 256 or less.
    axes: names or Axis objects; default from the dimension names, else the last of t, c, z, y, x.  scale: size of an element of level 0, in the axes'
        units; default ones.
    errors: those of ``Array.read`` and ``create``.  memory: at most ``budget``.
    """
    _check_source(source)
    named = [_axis(axis) for axis in axes]
    opts = options(budget, threads, progress=progress)
    store = _make_store(url, durable)
    return _core.write_pyramid(
        source._core, store, path.strip("/"), method, levels or 0, named, list(scale), name, overwrite, opts
    )


def _check_source(source: Any) -> None:
    if isinstance(source, Array):
        return
    if isinstance(source, Group):
        kind = "an Image" if isinstance(source, Image) else "a Group"
        raise TypeError(f"source is {kind}, not an Array; the command `penstock copy` copies groups and images")
    raise TypeError(f"source is a penstock.Array, not {type(source).__name__}")


def _axis(axis: Any) -> _core.Axis:
    """An axis given by name has the type that OME-NGFF gives to t, c, z, y and x."""
    if isinstance(axis, _core.Axis):
        return axis
    if not isinstance(axis, str):
        raise TypeError(f"an axis is a name or a penstock.Axis, not {type(axis).__name__}")
    kinds = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
    return _core.Axis(axis, kinds.get(axis, ""))
