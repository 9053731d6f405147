"""Samples of every data type, codecs, and the peers that read and write what we do."""

from __future__ import annotations

import asyncio
import itertools
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import zarr

STRUCT = np.dtype([("id", "<u2"), ("xyz", "<f4", (3,)), ("tag", "S3"), ("on", "?")])
FLAT_STRUCT = np.dtype([("id", "<u2"), ("x", "<f8"), ("tag", "S3")])
NUMERIC = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
FIXED = ["V3", "S5", "U4", "M8[ns]", "M8[10us]", "m8[s]"]
VLEN = ["string", "bytes"]


def sample(dtype: str | np.dtype[Any], shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """Values of a data type: noise with runs of equal values, extremes, NaN and NaT."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype == "string":
        words = ["", "a", "Grüße", "日本", "x" * 40, "\N{GRINNING FACE}"]
        return np.array([words[i % len(words)] + str(i) * (i % 3) for i in range(count)] + [None], object)[:-1].reshape(
            shape
        )
    if dtype == "bytes":
        return np.array([bytes(range(i % 7)) * (i % 4) for i in range(count)] + [None], object)[:-1].reshape(shape)
    dtype = np.dtype(dtype)
    if dtype.names is not None:
        out = np.zeros(shape, dtype)
        for i, name in enumerate(dtype.names):
            sub = dtype.fields[name][0]  # type: ignore[index]
            base, inner = sub.subdtype if sub.subdtype else (sub, ())
            out[name] = sample(base, shape + inner, seed + i)
        return out
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, count, dtype, endpoint=True)
        values[: count // 3] = 7
        return values.reshape(shape)
    if dtype.kind in "fc":
        values = (rng.standard_normal(count) * 100).round(2).astype(dtype)
        values[: count // 4] = 0
        if count > 12:
            values[-3:] = [np.nan, np.inf, -np.inf]
        return values.reshape(shape)
    if dtype.kind in "mM":
        values = rng.integers(-(10**9), 10**9, count).astype("i8")
        if count > 12:
            values[-1] = np.iinfo("i8").min
        return values.view(dtype.newbyteorder("=")).astype(dtype).reshape(shape)
    if dtype.kind == "U":
        letters = np.array(list("abcäß日\N{GRINNING FACE}"))
        width = dtype.itemsize // 4
        return np.array(
            ["".join(rng.choice(letters, rng.integers(0, width + 1))) for _ in range(count)], dtype
        ).reshape(shape)
    if dtype.kind == "S":
        return np.array(
            [bytes(rng.integers(1, 256, rng.integers(0, dtype.itemsize + 1), "u1")) for _ in range(count)], dtype
        ).reshape(shape)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()


def same(a: Any, b: Any) -> bool:
    """Equal shape, equal data type up to byte order, and equal elements; NaN equals NaN, bit patterns elsewhere."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype == object or b.dtype == object or a.dtype.kind == "T":
        return a.astype(object).ravel().tolist() == b.astype(object).ravel().tolist()
    if a.shape == () and a.dtype.kind == b.dtype.kind and a.dtype.kind in "SU":
        return bool(a == b)  # a scalar's data type is as wide as its value
    a, b = a.astype(a.dtype.newbyteorder("=")), b.astype(b.dtype.newbyteorder("="))
    if a.dtype.names is not None and a.dtype.names == b.dtype.names:
        return all(same(a[name], b[name]) for name in a.dtype.names)
    if a.dtype != b.dtype:
        return False
    if a.dtype.kind in "fc":
        return bool(np.array_equal(a, b, equal_nan=True))
    return a.tobytes() == b.tobytes()


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


BLOSC = [
    codec("blosc", cname=cname, clevel=5, shuffle=shuffle, typesize=typesize, blocksize=0)
    for cname, shuffle, typesize in [
        ("lz4", "noshuffle", 1),
        ("lz4", "shuffle", 4),
        ("zstd", "bitshuffle", 2),
        ("lz4hc", "shuffle", 8),
        ("zlib", "shuffle", 2),
        ("blosclz", "bitshuffle", 1),
    ]
]
SPECIFIED_V3: list[list[dict[str, Any]]] = [
    [],
    [codec("gzip", level=5)],
    [codec("zstd", level=3, checksum=False)],
    [codec("zstd", level=1, checksum=True), {"name": "crc32c"}],
    [{"name": "crc32c"}],
    *[[one] for one in BLOSC],
]
NUMCODECS_V3: list[list[dict[str, Any]]] = [
    [codec("numcodecs.zlib", level=4)],
    [codec("numcodecs.bz2", level=1)],
    [codec("numcodecs.lzma", preset=1)],
    [codec("numcodecs.lz4", acceleration=1)],
    [codec("numcodecs.shuffle", elementsize=4), codec("numcodecs.zlib", level=1)],
    [codec("numcodecs.crc32")],
    [codec("numcodecs.adler32")],
    [codec("numcodecs.fletcher32")],
]


def zarr_metadata_v3(
    shape: tuple[int, ...],
    dtype: Any,
    chunks: tuple[int, ...],
    codecs: list[dict[str, Any]],
    order: str = "C",
    shards: tuple[int, ...] | None = None,
) -> dict[str, Any]:
    """Arguments of zarr.create_array for the same array as penstock.create makes."""
    return {
        "shape": shape,
        "dtype": dtype,
        "chunks": chunks,
        "shards": shards,
        "filters": [codec("transpose", order=list(range(len(shape)))[::-1])] if order == "F" else [],
        "compressors": codecs,
        "zarr_format": 3,
        "overwrite": True,
    }


def name_of(codecs: list[dict[str, Any]]) -> str:
    """Short name of a list of codecs."""
    parts = []
    for one in codecs:
        settings = one.get("configuration", {})
        parts.append("-".join([one["name"], *[str(settings[k]) for k in ("cname", "shuffle") if k in settings]]))
    return "+".join(parts) or "raw"


def cases(**axes: list[Any]) -> Iterator[dict[str, Any]]:
    """All combinations of the axes, as keyword arguments."""
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def read_with_zarr(path: pathlib.Path) -> np.ndarray[Any, Any]:
    array = zarr.open_array(str(path), mode="r")
    return np.asarray(array[...])


def open_with_tensorstore(path: pathlib.Path, **spec: Any) -> Any:
    import tensorstore

    driver = (
        "zarr3" if (path / "zarr.json").exists() or "metadata" in spec and "chunk_grid" in spec["metadata"] else "zarr"
    )
    kvstore = {"driver": "file", "path": str(path)}
    return tensorstore.open({"driver": driver, "kvstore": kvstore, **spec}).result()


def zarrs_pipeline() -> Any:
    """Context in which zarr-python reads and writes through zarrs, and never falls back to its own codecs."""
    return zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True})


def store_bytes(path: pathlib.Path) -> dict[str, bytes]:
    """All objects of a directory store."""
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def metadata(path: pathlib.Path) -> Any:
    return json.loads((path / "zarr.json").read_text())


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def slow_array(path: pathlib.Path, seconds: float) -> Any:
    """An array that takes about `seconds` of one core to read: noise in bz2, one stored object many times over."""
    import os

    import penstock

    # bz2 decodes noise at about 10 MB/s a core.
    chunks = max(1, round(seconds * 10))
    a = penstock.create(
        path, shape=(chunks * 1024, 1024), dtype="u1", chunks=(1024, 1024), codecs=[codec("numcodecs.bz2", level=9)]
    )
    a[:1024] = np.random.default_rng(0).integers(1, 256, (1024, 1024), "u1")
    for i in range(1, chunks):
        (path / "c" / str(i)).mkdir(parents=True)
        os.link(path / "c/0/0", path / "c" / str(i) / "0")
    return a
