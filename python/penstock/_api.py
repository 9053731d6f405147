"""create, create_group, copy, write_pyramid, write_label: what makes new arrays; consolidate, validate_ngff."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, cast

from . import _core, _selection
from ._array import Array
from ._cog import _write_cog
from ._create import DEFAULT, ArraySpec, Codec, codec_texts
from ._dtype import DTypeLike
from ._group import Group, Image, open, wrap
from ._node import attributes_json
from ._options import Bytes, Deadline, Durable, Progress
from ._options import options as _options
from ._selection import Selection
from ._url import checked_options, location

Copied = TypeVar("Copied", bound=Array | Group)

Downsample: TypeAlias = Literal["mean", "gaussian", "mode", "nearest"]
"""How a level of an image is made of the finer one."""


def _make_store(url: str | os.PathLike[str], durable: Durable | None, options: Mapping[str, str] | None) -> _core.Store:
    told = checked_options(options)
    _core.check_zarr_name(location(url))  # before there is a directory
    return _core.Store.open(location(url), "a", durable, None, told)


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
    options: Mapping[str, str] | None = None,
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
    options: what the kind of store is told beyond the URL, by name, as in ``open``.
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
    return Array(_core.Array.create(_make_store(url, durable, options), path.strip("/"), dataset, overwrite))


def create_group(
    url: str | os.PathLike[str],
    *,
    zarr_format: int = 3,
    attributes: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    path: str = "",
    durable: Durable | None = None,
    options: Mapping[str, str] | None = None,
) -> Group:
    """Makes a new group.  Arguments and errors as ``create``."""
    if zarr_format not in (2, 3):
        raise ValueError(f"zarr_format must be 2 or 3, not {zarr_format!r}")
    text = attributes_json(attributes)
    return Group(_core.Group.create(_make_store(url, durable, options), path.strip("/"), zarr_format, text, overwrite))


def copy(
    source: Copied,
    url: str | os.PathLike[str],
    *,
    selection: Selection = ...,
    chunks: int | Sequence[int] | None = None,
    shards: int | Sequence[int] | None = None,
    codecs: Sequence[Codec] | None = None,
    zarr_format: int | None = None,
    separator: Literal["/", "."] | None = None,
    overwrite: bool = False,
    resume: bool = False,
    path: str = "",
    durable: Durable | None = None,
    options: Mapping[str, str] | None = None,
    budget: Bytes | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    deadline: Deadline | None = None,
) -> Copied:
    """Copies an array, or a group or image with all that is below it, in bounded memory.

    What is not given stays as it is.  Metadata come last: a copy that is stopped opens as nothing.

    selection: of an array, as in ``source[...]``, but integers keep their dimension (extent 1).
    chunks, shards: one number for all dimensions, or a shape.  shards=(): none.
    codecs: the bytes-to-bytes codecs ("zstd", "crc32c", ...).
    url: as in ``create``; one that ends in .tif makes a COG of an array (``write_cog`` has its options).
    overwrite: replaces what is there when all of the source has been read: a directory is written beside and put in
        its place.  Handles of what was there are to be opened again.
    resume: goes on with the same copy that was stopped; of one that is complete, every element is compared.
    durable, options: of the store that is written to, as in ``open``.
    deadline: seconds from now, or a timedelta; ``resume`` goes on with the copy that it stopped.  None: none.
    returns: the copy, open for reading and writing; ``last_report`` says what was done.
    errors: FileExistsError, also where another copy was stopped or stands (says what differs); TimeoutError (the
        deadline); those of ``Array.read`` and ``create``.
    memory: at most ``budget``.
    """
    if not isinstance(source, Array | Group):
        raise TypeError(f"source is a penstock.Array, Group or Image, not {type(source).__name__}")
    if selection is not ... and not isinstance(source, Array):
        raise TypeError("a selection is of one array: copy a member of the group")
    region = _selection.parse(selection, source.shape).ranges if isinstance(source, Array) else None
    if isinstance(source, Array) and _core.names_raster(location(url)) and not path:
        if (chunks, shards, codecs, zarr_format, separator, resume) != (None, None, None, None, None, False):
            raise ValueError("a COG has options of its own: penstock.write_cog")
        return cast(
            Copied,
            _write_cog(source, url, {}, _core.CogOptions(), region, overwrite, budget, threads, progress, deadline),
        )
    store = _make_store(url, durable, options)
    report = _core.copy(
        source._core,
        store,
        path.strip("/"),
        None if selection is ... else region,
        zarr_format,
        _shape(chunks),
        _shape(shards),
        None if codecs is None else codec_texts(codecs),
        separator,
        overwrite,
        resume,
        _options(budget, threads, progress=progress, deadline=deadline),
    )
    made = wrap(_core.open_node(store.reopened() if overwrite else store, path.strip("/")))
    made._last_report = report
    return cast(Copied, made)


def _shape(given: int | Sequence[int] | None) -> list[int] | None:
    if given is None:
        return None
    return [given] if isinstance(given, int) else list(given)


def consolidate(
    url: str | os.PathLike[str], *, durable: Durable | None = None, options: Mapping[str, str] | None = None
) -> Group:
    """Writes the metadata of all that is below a group once more into its own, as zarr-python's consolidate_metadata.

    Other programs then open it with one read; penstock reads what stands.  durable, options: as in ``open``.
    returns: the group.  errors: TypeError for an array; those of ``open``.
    """
    node = open(url, "r+", durable=durable, options=options)
    if not isinstance(node, Group):
        raise TypeError(f"{node.url} is an array; only groups have consolidated metadata")
    node.consolidate()
    return node


def validate_ngff(url: str | os.PathLike[str] | Group) -> list[str]:
    """What is wrong with the OME-NGFF images of a group, a line for each problem; empty when nothing is, or no image.

    errors: those of ``open``; MetadataError (the description of the images cannot be read).
    """
    node = url if isinstance(url, Group) else open(url)
    return node._core.image_problems() if isinstance(node, Group) else []


def write_label(
    image: Image,
    name: str,
    source: Array,
    *,
    method: Downsample = "nearest",
    levels: int | None = None,
    overwrite: bool = False,
    budget: Bytes | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    deadline: Deadline | None = None,
) -> Image:
    """Writes ``source`` as the label image ``labels/name`` of ``image``, and lists it there.

    Axes and scale are those of the image's finest level when ``source`` has as many dimensions.
    method, levels, deadline: as in ``write_pyramid``.  returns: the label image.
    errors: TypeError, ValueError, FileExistsError; those of ``Array.read``.  memory: at most ``budget``.
    """
    if not isinstance(image, Image):
        raise TypeError(f"image is a penstock.Image, not {type(image).__name__}")
    _check_source(source)
    opts = _options(budget, threads, progress=progress, deadline=deadline)
    report = _core.write_label(image._core, name, source._core, method, levels or 0, overwrite, opts)
    made = image[f"labels/{name}"]
    assert isinstance(made, Image)
    made._last_report = report
    return made


def write_pyramid(
    source: Array,
    url: str | os.PathLike[str],
    *,
    method: Downsample = "mean",
    levels: int | None = None,
    factor: int | Sequence[int] = 2,
    axes: Sequence[_core.Axis | str] = (),
    scale: Sequence[float] = (),
    name: str = "",
    overwrite: bool = False,
    path: str = "",
    durable: Durable | None = None,
    options: Mapping[str, str] | None = None,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    deadline: Deadline | None = None,
) -> _core.Report:
    """Writes an OME-NGFF image: level 0 is ``source``, the others are made of blocks of the spatial axes.

    method: "mean" averages a block; "gaussian" weights it and what is around it; "mode" takes the element
        that is there most often, "nearest" the first (labels).
    factor: from level to level, 2 or more, or one for each axis of space, (1, 2, 2).  levels: None: until the largest spatial extent is 256 or less.
    device: where levels are made: "cpu", "cuda", "cuda:1", "auto".
    axes: names or Axis objects; default from the dimension names, else the last of t, c, z, y, x.  scale: size of an element of level 0, in the axes'
        units; default ones.
    durable, options: as in ``create``.
    deadline: seconds from now, or a timedelta, after which nothing opens as an image there; None: none.
    errors: TimeoutError (the deadline); those of ``Array.read`` and ``create``.  memory: at most ``budget``.
    """
    _check_source(source)
    is_cuda, index = _core.parse_device(device)
    named = [_axis(axis) for axis in axes]
    opts = _options(budget, threads, progress=progress, deadline=deadline)
    store = _make_store(url, durable, options)
    return _core.write_pyramid(
        source._core,
        store,
        path.strip("/"),
        method,
        levels or 0,
        named,
        list(scale),
        name,
        [factor] if isinstance(factor, int) else list(factor),
        index if is_cuda else None,
        overwrite,
        opts,
    )


def _check_source(source: Any) -> None:
    if isinstance(source, Array):
        return
    if isinstance(source, Group):
        kind = "an Image" if isinstance(source, Image) else "a Group"
        raise TypeError(f"source is {kind}, not an Array; name a member or a level")
    raise TypeError(f"source is a penstock.Array, not {type(source).__name__}")


def _axis(axis: Any) -> _core.Axis:
    """An axis given by name has the type that OME-NGFF gives to t, c, z, y and x."""
    if isinstance(axis, _core.Axis):
        return axis
    if not isinstance(axis, str):
        raise TypeError(f"an axis is a name or a penstock.Axis, not {type(axis).__name__}")
    kinds = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
    return _core.Axis(axis, kinds.get(axis, ""))
