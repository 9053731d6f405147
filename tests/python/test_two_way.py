"""What we write the peers read equal, and what they write we read equal: data type x codec x format x shards x order.

A test is one data type and one direction; it goes through all combinations and lists every one that fails.
"""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Callable, Iterable
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr
import zarr.dtype

import penstock

import support
from support import FIXED, FLAT_STRUCT, NUMCODECS_V3, NUMERIC, SPECIFIED_V3, VLEN, cases, name_of, same, sample

SHAPE, CHUNKS, SHARDS = (7, 10), (3, 4), (6, 8)

V2_COMPRESSORS = [
    (None, []),
    (numcodecs.Zlib(4), [support.codec("numcodecs.zlib", level=4)]),
    (numcodecs.GZip(4), [support.codec("gzip", level=4)]),
    (numcodecs.BZ2(1), [support.codec("numcodecs.bz2", level=1)]),
    (numcodecs.LZMA(preset=1), [support.codec("numcodecs.lzma", preset=1)]),
    (numcodecs.LZ4(), [support.codec("numcodecs.lz4", acceleration=1)]),
    (numcodecs.Zstd(3), [support.codec("zstd", level=3, checksum=False)]),
    (numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE), [support.BLOSC[1]]),
    (numcodecs.Blosc("zstd", 5, numcodecs.Blosc.BITSHUFFLE), [support.BLOSC[2]]),
    (numcodecs.Blosc("zlib", 5, numcodecs.Blosc.AUTOSHUFFLE), [support.BLOSC[4]]),
]


def zarr_dtype(dtype: Any) -> Any:
    """The data type as zarr-python 3 wants it named."""
    if dtype == "string":
        return zarr.dtype.VariableLengthUTF8()
    if dtype == "bytes":
        return zarr.dtype.VariableLengthBytes()
    return np.dtype(dtype)


def try_all(tried: Iterable[dict[str, Any]], check: Callable[[dict[str, Any]], bool], *, at_least: int) -> None:
    """Every combination is tried, and all that fail are told at once."""
    count, failed = 0, []
    for case in tried:
        count += 1
        try:
            why = "" if check(case) else "elements differ"
        except Exception as error:
            why = f"{type(error).__name__}: {error}"[:300]
        if why:
            failed.append(f"{ {k: name_of(v) if k == 'codecs' else v for k, v in case.items()} }: {why}")
    assert count >= at_least, f"only {count} combinations were tried"
    assert not failed, f"{len(failed)} of {count} failed:\n" + "\n".join(failed[:40])


def write_ours(
    path: pathlib.Path, dtype: Any, values: np.ndarray[Any, Any], case: dict[str, Any], zarr_format: int = 3
) -> penstock.Array:
    """The array of a case as we write it."""
    kind = np.dtype(dtype).newbyteorder(">") if case.get("big") else dtype
    chosen = {key: case[key] for key in ("codecs", "shards", "order", "separator") if key in case}
    a = penstock.create(path, shape=SHAPE, dtype=kind, chunks=CHUNKS, zarr_format=zarr_format, overwrite=True, **chosen)
    a[...] = values
    return a


def v3_cases(dtype: Any) -> list[dict[str, Any]]:
    codecs = SPECIFIED_V3 + NUMCODECS_V3
    if dtype in VLEN:  # shuffle takes whole elements only, on both sides
        codecs = [chain for chain in codecs if chain[:1] != [support.codec("numcodecs.shuffle", elementsize=4)]]
    return list(
        cases(
            codecs=codecs, shards=[None, SHARDS], order=["C", "F"], big=[False, True] if swappable(dtype) else [False]
        )
    )


def zarr_python_fails_itself(
    path: pathlib.Path, dtype: Any, case: dict[str, Any], values: np.ndarray[Any, Any]
) -> bool:
    """Combinations that zarr-python cannot read back when it alone writes them (it may learn to).

    Opaque and structured types in shards ("unhashable type"); variable length with transposed chunks (wrong order).
    """
    opaque = dtype not in VLEN and np.dtype(dtype).kind == "V" and case["shards"] is not None
    if not opaque and not (dtype in VLEN and case["order"] == "F"):
        return False
    try:
        made = support.zarr_metadata_v3(SHAPE, zarr_dtype(dtype), CHUNKS, [], case["order"], case["shards"])
        alone = zarr.create_array(str(path / "alone"), **made)
        alone[...] = values
        return not same(alone[...], values)
    except TypeError:
        return True


def swappable(dtype: Any) -> bool:
    return (
        dtype not in VLEN
        and np.dtype(dtype).kind in "iufcU"
        and np.dtype(dtype).itemsize > 1
        and np.dtype(dtype).names is None
    )


ALL = [*NUMERIC, *FIXED, FLAT_STRUCT, *VLEN]
IDS = [str(d) if not isinstance(d, np.dtype) else "struct" for d in ALL]


@pytest.mark.parametrize("dtype", ALL, ids=IDS)
def test_zarr_python_reads_our_v3(tmp_path: pathlib.Path, dtype: Any) -> None:
    values = sample(dtype, SHAPE)

    def check(case: dict[str, Any]) -> bool:
        write_ours(tmp_path / "a", dtype, values, case)
        if zarr_python_fails_itself(tmp_path, dtype, case, values):
            return same(penstock.open(tmp_path / "a")[...], values)
        return same(support.read_with_zarr(tmp_path / "a"), values)

    try_all(v3_cases(dtype), check, at_least=72)


@pytest.mark.parametrize("dtype", ALL, ids=IDS)
def test_we_read_v3_of_zarr_python(tmp_path: pathlib.Path, dtype: Any) -> None:
    values = sample(dtype, SHAPE)

    def check(case: dict[str, Any]) -> bool:
        made = support.zarr_metadata_v3(SHAPE, zarr_dtype(dtype), CHUNKS, case["codecs"], case["order"], case["shards"])
        if case["big"]:
            made["serializer"] = support.codec("bytes", endian="big")
        if zarr_python_fails_itself(tmp_path, dtype, case, values):
            return True
        zarr.create_array(str(tmp_path / "a"), **made)[...] = values
        return same(penstock.open(tmp_path / "a")[...], values)

    try_all(v3_cases(dtype), check, at_least=72)


V2_ALL = [*NUMERIC, *FIXED, FLAT_STRUCT, *VLEN]


def v2_cases(dtype: Any) -> Iterable[dict[str, Any]]:
    compressors = list(range(len(V2_COMPRESSORS)))
    big = [False, True] if swappable(dtype) else [False]
    for case in cases(compressor=compressors, order=["C", "F"], separator=[".", "/"], big=big):
        yield {**case, "codecs": V2_COMPRESSORS[case["compressor"]][1]}


@pytest.mark.parametrize("dtype", V2_ALL, ids=IDS)
def test_zarr_python_reads_our_v2(tmp_path: pathlib.Path, dtype: Any) -> None:
    values = sample(dtype, SHAPE)

    def check(case: dict[str, Any]) -> bool:
        write_ours(tmp_path / "a", dtype, values, case, zarr_format=2)
        return same(support.read_with_zarr(tmp_path / "a"), values)

    try_all(v2_cases(dtype), check, at_least=40)


@pytest.mark.parametrize("dtype", V2_ALL, ids=IDS)
def test_we_read_v2_of_zarr_python(tmp_path: pathlib.Path, dtype: Any) -> None:
    values = sample(dtype, SHAPE)

    def check(case: dict[str, Any]) -> bool:
        kind = np.dtype(dtype).newbyteorder(">") if case["big"] else zarr_dtype(dtype)
        a = zarr.create_array(
            str(tmp_path / "a"),
            shape=SHAPE,
            dtype=kind,
            chunks=CHUNKS,
            compressors=V2_COMPRESSORS[case["compressor"]][0],
            order=case["order"],
            chunk_key_encoding={"name": "v2", "separator": case["separator"]},
            zarr_format=2,
            overwrite=True,
        )
        a[...] = values
        return same(penstock.open(tmp_path / "a")[...], values)

    try_all(v2_cases(dtype), check, at_least=40)


FILTERS = [
    ("i4", [numcodecs.Delta("<i4")], [support.codec("numcodecs.delta", dtype="<i4", astype="<i4")]),
    (
        "f8",
        [numcodecs.FixedScaleOffset(offset=-300, scale=1000, dtype="<f8", astype="<i8")],
        [support.codec("numcodecs.fixedscaleoffset", offset=-300, scale=1000, dtype="<f8", astype="<i8")],
    ),
    ("f4", [numcodecs.Quantize(digits=2, dtype="<f4")], [support.codec("numcodecs.quantize", digits=2, dtype="<f4")]),
    ("f4", [numcodecs.BitRound(keepbits=6)], [support.codec("numcodecs.bitround", keepbits=6)]),
    (
        "i8",
        [numcodecs.AsType(encode_dtype="<i4", decode_dtype="<i8")],
        [support.codec("numcodecs.astype", encode_dtype="<i4", decode_dtype="<i8")],
    ),
    ("bool", [numcodecs.PackBits()], [support.codec("numcodecs.packbits")]),
    ("i2", [numcodecs.Shuffle(elementsize=2)], [support.codec("numcodecs.shuffle", elementsize=2)]),
    ("u1", [numcodecs.CRC32()], [support.codec("numcodecs.crc32")]),
    ("u1", [numcodecs.Adler32()], [support.codec("numcodecs.adler32")]),
    ("u1", [numcodecs.Fletcher32()], [support.codec("numcodecs.fletcher32")]),
]


def finite(dtype: str) -> np.ndarray[Any, Any]:
    values = sample(dtype, SHAPE)
    if values.dtype.kind == "f":
        values = np.nan_to_num(values, nan=1.5, posinf=99, neginf=-99)
    return values % 1000 if dtype == "i8" else values


@pytest.mark.parametrize(("dtype", "theirs", "ours"), FILTERS, ids=[name_of(f[2]) for f in FILTERS])
def test_filters_of_v2(tmp_path: pathlib.Path, dtype: str, theirs: Any, ours: Any) -> None:
    values = finite(dtype)
    theirs_made = zarr.create_array(
        str(tmp_path / "theirs"),
        shape=SHAPE,
        dtype=dtype,
        chunks=CHUNKS,
        filters=theirs,
        compressors=numcodecs.Zlib(1),
        zarr_format=2,
    )
    theirs_made[...] = values
    read = np.asarray(theirs_made[...])
    assert same(penstock.open(tmp_path / "theirs")[...], read)
    a = penstock.create(
        tmp_path / "ours",
        shape=SHAPE,
        dtype=dtype,
        chunks=CHUNKS,
        codecs=[*ours, support.codec("numcodecs.zlib", level=1)],
        zarr_format=2,
    )
    a[...] = values
    assert same(support.read_with_zarr(tmp_path / "ours"), read)
    assert same(a[...], read)


@pytest.mark.parametrize(("dtype", "theirs", "ours"), FILTERS, ids=[name_of(f[2]) for f in FILTERS])
def test_filters_of_v3(tmp_path: pathlib.Path, dtype: str, theirs: Any, ours: Any) -> None:
    values = finite(dtype)
    a = penstock.create(tmp_path / "ours", shape=SHAPE, dtype=dtype, chunks=CHUNKS, codecs=[*ours, "crc32c"])
    a[...] = values
    read = support.read_with_zarr(tmp_path / "ours")
    assert same(a[...], read)
    theirs_made = zarr.open_array(str(tmp_path / "ours"), mode="r+")
    theirs_made[...] = values
    assert same(penstock.open(tmp_path / "ours")[...], read)


NESTED_INNER = support.codec(
    "sharding_indexed",
    chunk_shape=[2, 2],
    codecs=[support.codec("bytes", endian="little"), support.codec("gzip", level=1)],
    index_codecs=[support.codec("bytes", endian="little"), {"name": "crc32c"}],
    index_location="start",
)


@pytest.mark.parametrize("index", ["start", "end"])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("checksum", [False, True])
def test_sharding_with_all_its_settings(tmp_path: pathlib.Path, index: str, nested: bool, checksum: bool) -> None:
    inner = (
        [NESTED_INNER]
        if nested
        else [support.codec("bytes", endian="little"), support.codec("zstd", level=1, checksum=False)]
    )
    index_codecs = [support.codec("bytes", endian="little"), *([{"name": "crc32c"}] if checksum else [])]
    sharding = support.codec(
        "sharding_indexed", chunk_shape=[4, 4], codecs=inner, index_codecs=index_codecs, index_location=index
    )
    values = sample("u2", (13, 18))
    a = penstock.create(tmp_path / "a", shape=(13, 18), dtype="u2", chunks=(8, 12), codecs=[sharding])
    a[...] = values
    assert same(support.read_with_zarr(tmp_path / "a"), values)
    zarr.open_array(str(tmp_path / "a"), mode="r+")[...] = values[::-1]
    assert same(penstock.open(tmp_path / "a")[...], values[::-1])


# tensorstore and zarrs.

TENSORSTORE = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def both_ways(path: pathlib.Path, values: np.ndarray[Any, Any]) -> bool:
    """tensorstore reads what is there, and we read what it writes."""
    theirs = support.open_with_tensorstore(path)
    if not same(np.asarray(theirs.read().result()), values):
        return False
    theirs[...] = values[::-1]
    return same(penstock.open(path)[...], values[::-1])


@pytest.mark.parametrize("dtype", [*TENSORSTORE, "bfloat16"])
def test_tensorstore_v3_both_ways(tmp_path: pathlib.Path, dtype: str) -> None:
    values = sample("f4", SHAPE).astype(penstock_bfloat16()) if dtype == "bfloat16" else sample(dtype, SHAPE)

    def check(case: dict[str, Any]) -> bool:
        write_ours(tmp_path / "a", dtype, values, case)
        return both_ways(tmp_path / "a", values)

    try_all(cases(codecs=SPECIFIED_V3, shards=[None, SHARDS], order=["C", "F"]), check, at_least=44)


def penstock_bfloat16() -> np.dtype[Any]:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("dtype", TENSORSTORE)
def test_tensorstore_v2_both_ways(tmp_path: pathlib.Path, dtype: str) -> None:
    values = sample(dtype, SHAPE)
    known = [
        ours for theirs, ours in V2_COMPRESSORS if theirs is None or theirs.codec_id in ("zlib", "blosc", "bz2", "zstd")
    ]

    def check(case: dict[str, Any]) -> bool:
        write_ours(tmp_path / "a", dtype, values, case, zarr_format=2)
        return both_ways(tmp_path / "a", values)

    try_all(cases(codecs=known, order=["C", "F"], separator=[".", "/"]), check, at_least=28)


# zarrs-python has no strings, and zarrs cannot read a part of a blosc chunk whose typesize is not the element's size.
ZARRS = NUMERIC


def with_typesize(codecs: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    return [
        {**one, "configuration": {**one["configuration"], "typesize": size}} if one["name"] == "blosc" else one
        for one in codecs
    ]


@pytest.mark.parametrize("dtype", ZARRS)
def test_zarrs_both_ways(tmp_path: pathlib.Path, dtype: str) -> None:
    values = sample(dtype, SHAPE)

    def check(case: dict[str, Any]) -> bool:
        codecs = with_typesize(case["codecs"], np.dtype(dtype).itemsize)
        write_ours(tmp_path / "a", dtype, values, {**case, "codecs": codecs})
        theirs = zarr.open_array(str(tmp_path / "a"), mode="r+")
        if not same(theirs[...], values):
            return False
        shutil.rmtree(tmp_path / "a" / "c")
        theirs[...] = values
        return same(penstock.open(tmp_path / "a")[...], values)

    with support.zarrs_pipeline():
        try_all(cases(codecs=SPECIFIED_V3, shards=[None, SHARDS], order=["C", "F"]), check, at_least=44)


def test_bfloat16_without_ml_dtypes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    a = penstock.create(tmp_path / "a", shape=(4,), dtype="bfloat16", codecs=[])
    a[...] = np.array([1, 2, -3, np.nan], "f4").astype(penstock_bfloat16())
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    b = penstock.open(tmp_path / "a")
    assert b.dtype == np.uint16 and b.data_type == "bfloat16"
    assert b[:3].tolist() == [0x3F80, 0x4000, 0xC040]
