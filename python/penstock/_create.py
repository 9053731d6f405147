"""New arrays: shapes of chunks, codecs, fill values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from . import _core, _dtype
from ._node import attributes_json

Codec: TypeAlias = str | Mapping[str, Any]
"""A codec's name, or {"name": ..., "configuration": {...}} as in zarr v3 metadata."""

_CHUNK_BYTES = 4 << 20
DEFAULT_CODECS: tuple[Codec, ...] = ({"name": "zstd", "configuration": {"level": 3, "checksum": False}},)


class _Default:
    """Stands for "not given" where None means something."""

    def __repr__(self) -> str:
        return "default"


DEFAULT = _Default()


def codec_texts(codecs: Sequence[Codec]) -> list[tuple[str, str]]:
    """(name, configuration as JSON) of each codec.  Errors: TypeError, ValueError naming what was given."""
    made: list[tuple[str, str]] = []
    if isinstance(codecs, str | Mapping):
        codecs = [codecs]
    for codec in codecs:
        if isinstance(codec, str):
            made.append((codec, "{}"))
        elif isinstance(codec, Mapping):
            unknown = set(codec) - {"name", "configuration"}
            if "name" not in codec or unknown:
                raise ValueError(f"codec {dict(codec)!r} must have a name and may have a configuration, nothing else")
            made.append((str(codec["name"]), json.dumps(dict(codec.get("configuration") or {}), allow_nan=False)))
        else:
            raise TypeError(f"a codec is a name or a mapping with name and configuration, not {type(codec).__name__}")
    return made


def guess_chunks(shape: Sequence[int], item_bytes: int) -> list[int]:
    """Chunks of at most 4 MiB: the longest extent is halved until they fit."""
    chunks = [max(extent, 1) for extent in shape]
    size = item_bytes
    for extent in chunks:
        size *= extent
    while size > _CHUNK_BYTES and max(chunks) > 1:
        longest = chunks.index(max(chunks))
        size //= chunks[longest]
        chunks[longest] = (chunks[longest] + 1) // 2
        size *= chunks[longest]
    return chunks


class ArraySpec:
    """What ``create`` was asked for, as the library's Dataset."""

    def __init__(
        self,
        *,
        shape: int | Sequence[int],
        dtype: _dtype.DTypeLike,
        chunks: int | Sequence[int] | Literal["auto"] | None = None,
        shards: int | Sequence[int] | None = None,
        codecs: Sequence[Codec] | None = None,
        fill_value: Any = DEFAULT,
        zarr_format: int = 3,
        order: Literal["C", "F"] = "C",
        separator: Literal["/", "."] | None = None,
        dimension_names: Sequence[str | None] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        if zarr_format not in (2, 3):
            raise ValueError(f"zarr_format must be 2 or 3, not {zarr_format!r}")
        if order not in ("C", "F"):
            raise ValueError(f"order must be 'C' or 'F', not {order!r}")
        self.shape = _extents(shape, None, "shape", least=0)
        self.dtype, self.byte_order = _dtype.from_numpy(dtype)
        rank = len(self.shape)
        self.shards = None if shards is None else _extents(shards, rank, "shards", least=1)
        guess_for = self.shape if self.shards is None else self.shards
        chunks = _given_chunks(chunks)
        self.chunks = (
            guess_chunks(guess_for, self.dtype.size_bytes)
            if chunks is None
            else _extents(chunks, rank, "chunks", least=1)
        )
        self.codecs = codec_texts(DEFAULT_CODECS if codecs is None else codecs)
        if fill_value is DEFAULT or (fill_value is None and zarr_format == 3):
            fill_value = _dtype.default_fill(self.dtype)
        self.fill = b"" if fill_value is None else _dtype.element_bytes(fill_value, self.dtype)
        self.zarr_format = zarr_format
        self.order = order
        self.separator = separator or ("/" if zarr_format == 3 else ".")
        self.dimension_names = list(dimension_names or [])
        self.attributes = attributes_json(attributes)
        self._check(rank)

    def _check(self, rank: int) -> None:
        if self.dimension_names and len(self.dimension_names) != rank:
            raise ValueError(f"{len(self.dimension_names)} dimension names for {rank} dimensions")
        if self.dimension_names and self.zarr_format == 2:
            raise ValueError("zarr v2 has no dimension names (xarray keeps them in the attribute _ARRAY_DIMENSIONS)")
        if self.shards is None:
            return
        if self.zarr_format == 2:
            raise ValueError("zarr v2 has no shards")
        for shard, chunk in zip(self.shards, self.chunks, strict=True):
            if shard % chunk:
                raise ValueError(f"shards {tuple(self.shards)} are not multiples of chunks {tuple(self.chunks)}")

    def chain(self) -> list[tuple[str, str]]:
        """The whole codec chain of a chunk: what was left out is put in."""
        given = self.codecs
        kinds = _core.codec_kinds(given, self.chunks, self.dtype)
        if "array_bytes" not in kinds:
            at = sum(kind == "array_array" for kind in kinds)
            given = [*given[:at], self._array_to_bytes(given[:at]), *given[at:]]
        if self.order == "F":
            reverse = {"order": list(range(len(self.shape)))[::-1]}
            given = [("transpose", json.dumps(reverse)), *given]
        return given

    def _array_to_bytes(self, filters: Sequence[tuple[str, str]]) -> tuple[str, str]:
        if self.dtype.kind == "vlen_utf8":
            return "vlen-utf8", "{}"
        if self.dtype.kind == "vlen_bytes":
            return "vlen-bytes", "{}"
        # In v3 zarr-python hands elements to filters in the order in which they are stored, which must be the machine's.
        native = self.zarr_format == 3 and any(name != "transpose" for name, _ in filters)
        return "bytes", json.dumps({"endian": "little" if native else self.byte_order})

    def dataset(self) -> _core.Dataset:
        codecs = self.chain()
        outer = self.chunks
        if self.shards is not None:
            outer = self.shards
            codecs = [_core.sharding_codec(self.chunks, codecs)]
        kind = "default" if self.zarr_format == 3 else "v2"
        return _core.Dataset(
            self.zarr_format,
            self.shape,
            self.dtype,
            outer,
            kind,
            self.separator,
            codecs,
            self.fill,
            self.dimension_names,
            self.attributes,
        )


def _given_chunks(chunks: int | Sequence[int] | Literal["auto"] | None) -> int | Sequence[int] | None:
    """None where their shape is ours to choose: None, or True and "auto" as h5py, zarr-python and dask say."""
    if chunks is True or (isinstance(chunks, str) and chunks == "auto"):
        return None
    if chunks is False or isinstance(chunks, str):
        raise TypeError(f"chunks {chunks!r}: it is a shape, or None, True or 'auto' for a choice")
    return chunks


def _extents(given: int | Sequence[int], rank: int | None, what: str, *, least: int) -> list[int]:
    extents = [given] * (1 if rank is None else rank) if isinstance(given, int) else [int(extent) for extent in given]
    if rank is not None and len(extents) != rank:
        raise ValueError(f"{what} has {len(extents)} dimensions, the array {rank}")
    for extent in extents:
        if extent < least:
            raise ValueError(f"{what} {tuple(extents)}: an extent must be at least {least}")
    return extents
