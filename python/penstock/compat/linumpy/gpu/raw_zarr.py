"""The reader of arrays whose chunks are nothing but their elements: what it takes, and what it refuses by name."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import Any, cast

import numpy as np

import penstock as ps

__all__ = ["check_raw_zarr", "read_raw_zarr"]

PathLike = str | os.PathLike[str]


def check_raw_zarr(path: PathLike) -> None:
    """Whether the chunks of an array hold its elements and nothing else, in this machine's byte order.

    path: of an array, not of a group; zarr.json before .zarray.
    errors: FileNotFoundError (neither is there), ValueError (no JSON, another format, no array), NotImplementedError (what
        stands between the elements and the bytes, by name).
    """
    folder = pathlib.Path(path)
    for name, check in (("zarr.json", _check_v3), (".zarray", _check_v2)):
        if (folder / name).is_file():
            check(_document(folder / name), folder / name)
            return
    raise FileNotFoundError(f"{folder}: neither zarr.json nor .zarray is there")


def read_raw_zarr(path: PathLike, device: str = "cuda") -> Any:
    """Reads an array that ``check_raw_zarr`` takes.

    device: "cuda", "cuda:1", or "cpu".
    returns: a penstock.DeviceArray (NumPy array for "cpu"), complete.  Chunks that are not there are the fill value.
    errors: those of ``check_raw_zarr``; CorruptDataError (a chunk that is cut off), DeviceError, OSError, BudgetError.
    Many chunks are on their way at once, through pinned memory.
    """
    check_raw_zarr(path)
    return cast("ps.Array", ps.open(path)).read(device=device)


def _document(path: pathlib.Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{path}: no JSON object")
    return document


def _check_v3(document: dict[str, Any], path: pathlib.Path) -> None:
    if document.get("zarr_format") != 3:
        raise ValueError(f"{path}: zarr_format is {document.get('zarr_format')!r}, not 3")
    if document.get("node_type") != "array":
        raise ValueError(f"{path}: node_type is {document.get('node_type')!r}, not an array")
    if not isinstance(document.get("data_type"), str):
        raise NotImplementedError(f"{path}: data type {document.get('data_type')!r} is not read raw")
    grid = _name_of(document.get("chunk_grid"))
    if grid != "regular":
        raise NotImplementedError(f"{path}: chunk grid {grid!r} is not read raw, only 'regular' is")
    encoding = _name_of(document.get("chunk_key_encoding"))
    if encoding not in ("default", "v2"):
        raise NotImplementedError(f"{path}: chunk key encoding {encoding!r} is not read raw")
    codecs = document.get("codecs") or []
    if not isinstance(codecs, list):
        raise ValueError(f"{path}: codecs are no list")
    for codec in codecs:
        name = _name_of(codec)
        if name != "bytes":
            raise NotImplementedError(f"{path}: codec {name!r} is not read raw; read_zarr_to_gpu reads it")
        configuration = codec.get("configuration") if isinstance(codec, dict) else None
        endian = configuration.get("endian", "little") if isinstance(configuration, dict) else "little"
        if endian != sys.byteorder:
            raise NotImplementedError(f"{path}: elements are {endian} endian, this machine is {sys.byteorder}")


def _check_v2(document: dict[str, Any], path: pathlib.Path) -> None:
    if document.get("zarr_format") != 2:
        raise ValueError(f"{path}: zarr_format is {document.get('zarr_format')!r}, not 2")
    if document.get("compressor") is not None:
        raise NotImplementedError(
            f"{path}: compressor {document['compressor']!r} is not read raw; read_zarr_to_gpu reads it"
        )
    if document.get("filters"):
        raise NotImplementedError(f"{path}: filters {document['filters']!r} are not read raw")
    if document.get("order") != "C":
        raise NotImplementedError(f"{path}: order {document.get('order')!r} is not read raw, only 'C' is")
    if not isinstance(document.get("dtype"), str):
        raise NotImplementedError(f"{path}: data type {document.get('dtype')!r} is not read raw")
    try:
        dtype = np.dtype(document["dtype"])
    except TypeError as error:
        raise ValueError(f"{path}: {error}") from None
    if not dtype.isnative:
        raise NotImplementedError(f"{path}: elements are {dtype.str}, this machine is {sys.byteorder} endian")


def _name_of(value: Any) -> Any:
    return value.get("name") if isinstance(value, dict) else value
