"""Metadata both ways: what others write in their own manner we read right or refuse, and what we write is complete."""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest
import zarr
import zarr.codecs.numcodecs

import penstock

import support
from support import codec, same, sample

COMMAND = pathlib.Path(penstock.__file__).parent / "bin" / "penstock"
SHAPE, CHUNKS = (7, 10), (3, 4)

# What each codec's metadata must hold, by the name alone that a user gives.
MEMBERS = {
    "zstd": {"level", "checksum"},
    "gzip": {"level"},
    "blosc": {"typesize", "cname", "clevel", "shuffle", "blocksize"},
    "numcodecs.zlib": {"level"},
    "numcodecs.bz2": {"level"},
    "numcodecs.lzma": set(),  # numcodecs alone reads it, and has defaults
    "numcodecs.lz4": {"acceleration"},
    "numcodecs.shuffle": {"elementsize"},
    "numcodecs.crc32": set(),
    "numcodecs.adler32": set(),
    "numcodecs.fletcher32": set(),
    "crc32c": set(),
}
TENSORSTORE = {"zstd", "gzip", "blosc", "crc32c"}
TENSORSTORE_V2 = {"zstd", "blosc", "numcodecs.zlib", "numcodecs.bz2"}


def opened(path: pathlib.Path, mode: Any = "r") -> Any:
    return penstock.open(path, mode)


def read_with_zarrs(path: pathlib.Path) -> Any:
    with support.zarrs_pipeline():
        return support.read_with_zarr(path)


def peers_read(path: pathlib.Path, values: Any, name: str, zarr_format: int) -> None:
    assert same(support.read_with_zarr(path), values)
    if name in (TENSORSTORE if zarr_format == 3 else TENSORSTORE_V2):
        assert same(support.open_with_tensorstore(path).read().result(), values)
    if zarr_format == 3 and name in TENSORSTORE:
        assert same(read_with_zarrs(path), values)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shards", [None, (6, 8)])
@pytest.mark.parametrize("name", MEMBERS)
def test_a_codec_by_its_name_alone_is_written_whole(tmp_path: pathlib.Path, name: str, shards: Any) -> None:
    values = sample("i4", SHAPE)
    a = penstock.create(tmp_path / "a", shape=SHAPE, dtype="i4", chunks=CHUNKS, shards=shards, codecs=[name])
    a[...] = values
    codecs = support.metadata(tmp_path / "a")["codecs"]
    if shards:
        codecs = codecs[0]["configuration"]["codecs"]
    assert set(codecs[1].get("configuration", {})) == MEMBERS[name]
    peers_read(tmp_path / "a", values, name, 3)
    penstock.copy(a, tmp_path / "copy", codecs=[name], shards=shards)
    assert support.metadata(tmp_path / "copy")["codecs"] == support.metadata(tmp_path / "a")["codecs"]


@pytest.mark.parametrize("name", sorted(MEMBERS.keys() - {"crc32c"}))
def test_a_codec_by_its_name_alone_in_v2(tmp_path: pathlib.Path, name: str) -> None:
    values = sample("i4", SHAPE)
    a = penstock.create(tmp_path / "a", shape=SHAPE, dtype="i4", chunks=CHUNKS, codecs=[name], zarr_format=2)
    a[...] = values
    peers_read(tmp_path / "a", values, name, 2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inner", [["bytes", "zstd"], ["bytes", "gzip", "crc32c"], ["bytes", "blosc"]])
def test_codecs_inside_an_explicit_shard_are_written_whole(tmp_path: pathlib.Path, inner: list[str]) -> None:
    codecs: list[Any] = [codec("bytes", endian="little"), *[{"name": name} for name in inner[1:]]]
    sharding = codec("sharding_indexed", chunk_shape=list(CHUNKS), codecs=codecs)
    values = sample("u2", SHAPE)
    a = penstock.create(tmp_path / "a", shape=SHAPE, dtype="u2", chunks=(6, 8), codecs=[sharding])
    a[...] = values
    written = support.metadata(tmp_path / "a")["codecs"][0]["configuration"]
    assert set(written) == {"chunk_shape", "codecs", "index_codecs", "index_location"}
    assert set(written["codecs"][1]["configuration"]) == MEMBERS[inner[1]]
    peers_read(tmp_path / "a", values, "zstd", 3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("name", ["zstd", "gzip", "blosc:cname=zstd", "zlib"])
def test_peers_read_what_the_command_copies(tmp_path: pathlib.Path, name: str, zarr_format: int) -> None:
    values = sample("f4", SHAPE)
    a = penstock.create(tmp_path / "a", shape=SHAPE, dtype="f4", chunks=CHUNKS)
    a[...] = values
    options = ["--codec", name, "--zarr-format", str(zarr_format), "--chunks", "2,5"]
    if zarr_format == 3:
        options += ["--shards", "4,10"]
    done = subprocess.run(
        [COMMAND, "copy", tmp_path / "a", tmp_path / "b", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    full = {"zlib": "numcodecs.zlib"}.get(name, name.partition(":")[0])
    peers_read(tmp_path / "b", values, full, zarr_format)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_peers_read_what_the_pipeline_writes(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    values = sample("f4", SHAPE)
    with zarr.config.set({"codec_pipeline.path": "penstock.zarr.CodecPipeline"}):
        shards = (6, 8) if zarr_format == 3 else None
        a = zarr.create_array(
            str(tmp_path / "a"), shape=SHAPE, dtype="f4", chunks=CHUNKS, shards=shards, zarr_format=zarr_format
        )
        a[...] = values
    peers_read(tmp_path / "a", values, "zstd", zarr_format)


# Filters with types of the other byte order.


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dtype", "order"), [("u4", ">u4"), ("u8", ">u8"), ("i2", ">i2"), ("i8", ">i8")])
def test_delta_in_the_other_byte_order_gives_what_was_written(tmp_path: pathlib.Path, dtype: str, order: str) -> None:
    settings = {"dtype": order}

    def write(values: Any) -> Any:
        a = zarr.create_array(
            store=str(tmp_path / "a"),
            shape=values.shape,
            chunks=(4,),
            dtype=dtype,
            filters=[zarr.codecs.numcodecs.Delta(**settings)],
            overwrite=True,
        )
        a[...] = values
        return a

    values = np.arange(10).astype(dtype) + 5
    assert same(write(values)[...], values)
    assert same(opened(tmp_path / "a")[...], values)
    values = sample(dtype, (10,))  # zarr-python does not read these back, but they are there
    write(values)
    a = opened(tmp_path / "a", "r+")
    assert same(a[...], values)
    with pytest.raises(penstock.UnsupportedError, match=rf"'{order}'.*read, not written"):
        a[...] = values
    for zarr_format in (2, 3):
        copied = penstock.copy(a, tmp_path / f"v{zarr_format}", zarr_format=zarr_format)
        assert same(copied[...], values) and same(support.read_with_zarr(tmp_path / f"v{zarr_format}"), values)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shards", [None, (6,)])
def test_filters_of_big_endian_elements_are_read_by_zarr_python(tmp_path: pathlib.Path, shards: Any) -> None:
    values = sample("i4", (10,))
    delta = codec("numcodecs.delta", dtype="<i4")
    made: dict[str, Any] = {"shape": (10,), "dtype": ">i4", "chunks": (3,)}
    a = penstock.create(tmp_path / "a", **made, codecs=["numcodecs.delta"], shards=shards)
    a[...] = values
    assert same(support.read_with_zarr(tmp_path / "a"), values)
    v2 = penstock.create(tmp_path / "v2", **made, codecs=[delta], zarr_format=2)
    v2[...] = values
    assert same(support.read_with_zarr(tmp_path / "v2"), values)
    penstock.copy(v2, tmp_path / "v3", zarr_format=3, shards=shards)
    assert same(support.read_with_zarr(tmp_path / "v3"), values)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("dtype", "made", "member"),
    [
        ("u4", zarr.codecs.numcodecs.Delta(dtype="<u4", astype=">u4"), "astype"),
        ("u4", zarr.codecs.numcodecs.Delta(dtype=">u4", astype="<u4"), "dtype"),
        ("f4", zarr.codecs.numcodecs.Delta(dtype=">f4"), "dtype"),
        ("u4", zarr.codecs.numcodecs.AsType(encode_dtype=">u2", decode_dtype="<u4"), "encode_dtype"),
        ("u4", zarr.codecs.numcodecs.AsType(encode_dtype="<u4", decode_dtype=">u4"), "decode_dtype"),
        ("f8", zarr.codecs.numcodecs.FixedScaleOffset(offset=0, scale=10, dtype=">f8"), "dtype"),
        ("f8", zarr.codecs.numcodecs.FixedScaleOffset(offset=0, scale=10, dtype="<f8", astype=">i2"), "astype"),
        ("f8", zarr.codecs.numcodecs.Quantize(digits=3, dtype=">f8"), "dtype"),
    ],
)
def test_other_filters_in_the_other_byte_order_are_refused(
    tmp_path: pathlib.Path, dtype: str, made: Any, member: str
) -> None:
    values = (np.arange(10) + 5).astype(dtype)
    a = zarr.create_array(store=str(tmp_path / "a"), shape=(10,), chunks=(4,), dtype=dtype, filters=[made])
    a[...] = values
    with pytest.raises(penstock.UnsupportedError, match=f'"{member}" is .*other byte order'):
        opened(tmp_path / "a")


# What zarr-python 3.1 and 3.4 (numcodecs 0.16 and 0.17) both read as it was written; of the same with "bytes" in
# little-endian order, only 3.4 does.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("dtype", "made"),
    [
        ("f8", zarr.codecs.numcodecs.AsType(encode_dtype=">f4", decode_dtype="<f8")),
        ("i4", zarr.codecs.numcodecs.AsType(encode_dtype=">i2", decode_dtype="<i4")),
        ("f8", zarr.codecs.numcodecs.FixedScaleOffset(offset=0, scale=10, dtype="<f8", astype=">i2")),
        ("i4", zarr.codecs.numcodecs.Delta(dtype="<i4", astype=">i4")),
        ("i4", zarr.codecs.numcodecs.Delta(dtype="<i4", astype=">i2")),
    ],
)
def test_filters_that_store_the_order_of_bytes_behind_them(tmp_path: pathlib.Path, dtype: str, made: Any) -> None:
    values = (np.arange(10) * 3 + 5).astype(dtype)
    filters: dict[str, Any] = {"shape": (10,), "chunks": (4,), "dtype": dtype, "filters": [made]}
    a = zarr.create_array(store=str(tmp_path / "a"), **filters, serializer=zarr.codecs.BytesCodec(endian="big"))
    a[...] = values
    assert same(a[...], values)
    ours = opened(tmp_path / "a", "r+")
    assert same(ours[...], values)
    ours[...] = values + 1
    assert same(support.read_with_zarr(tmp_path / "a"), values + 1)
    copied = penstock.copy(ours, tmp_path / "copy")
    assert same(copied[...], values + 1) and same(support.read_with_zarr(tmp_path / "copy"), values + 1)
    b = zarr.create_array(store=str(tmp_path / "b"), **filters, serializer=zarr.codecs.BytesCodec(endian="little"))
    b[...] = values
    with pytest.raises(penstock.UnsupportedError, match="other byte order"):
        opened(tmp_path / "b")


@pytest.mark.filterwarnings("ignore")
def test_quantize_with_a_stored_type_of_the_other_order_is_refused(tmp_path: pathlib.Path) -> None:
    # Here zarr-python 3.1 reads what was written and 3.4 does not.
    quantize = zarr.codecs.numcodecs.Quantize(digits=2, dtype="<f8", astype=">f8")
    serializer = zarr.codecs.BytesCodec(endian="big")
    zarr.create_array(
        store=str(tmp_path / "a"), shape=(10,), chunks=(4,), dtype="f8", filters=[quantize], serializer=serializer
    )
    with pytest.raises(penstock.UnsupportedError, match='"astype" is .*other byte order'):
        opened(tmp_path / "a")


# Stores of others.


def write_v2(path: pathlib.Path, chunk: bytes | None = None, **members: Any) -> pathlib.Path:
    document = {"zarr_format": 2, "shape": [4], "chunks": [4], "order": "C", "filters": None, "compressor": None}
    path.mkdir()
    (path / ".zarray").write_text(json.dumps({**document, **members}))
    if chunk is not None:
        (path / "0").write_bytes(chunk)
    return path


@pytest.mark.parametrize("compressor", [None, {"id": "zlib", "level": 1}, {"id": "zstd", "level": 1}])
def test_structures_with_bytes_among_swapped_fields(tmp_path: pathlib.Path, compressor: Any) -> None:
    dtype = np.dtype([("a", "<i4"), ("b", ">f8"), ("c", "S3")])
    a = zarr.create_array(
        str(tmp_path / "a"), shape=(10,), chunks=(4,), dtype=dtype, compressors=compressor, zarr_format=2
    )
    values = sample(dtype, (10,))
    a[...] = values
    document = json.loads((tmp_path / "a" / ".zarray").read_text())
    assert document["dtype"] == [["a", "<i4"], ["b", ">f8"], ["c", "|S3"]]
    ours = opened(tmp_path / "a", "r+")
    assert same(ours[...], values)
    ours[1:7] = values[::-1][1:7]
    assert same(np.asarray(a[...])[1:7], values[::-1][1:7])


@pytest.mark.parametrize("fill", [[0], [1, 2], [[3]], []])
@pytest.mark.parametrize("dtype", ["<i4", "|u1", "<f8", "|b1"])
def test_a_list_is_no_fill_value_of_a_number(tmp_path: pathlib.Path, dtype: str, fill: Any) -> None:
    path = write_v2(tmp_path / "a", dtype=dtype, fill_value=fill)
    with pytest.raises(penstock.MetadataError, match="fill_value: must be"):
        opened(path)


@pytest.mark.parametrize("fill", [0, 7, -3, 1.5, "", "x", None])
def test_fill_values_of_text_are_those_of_zarr_python(tmp_path: pathlib.Path, fill: Any) -> None:
    path = write_v2(tmp_path / "a", dtype="|O", filters=[{"id": "vlen-utf8"}], fill_value=fill)
    assert same(opened(path)[...], support.read_with_zarr(path))


@pytest.mark.parametrize(("name", "dtype"), [("complex_float32", "c8"), ("complex_float64", "c16"), ("binary", object)])
def test_second_names_of_data_types(tmp_path: pathlib.Path, name: str, dtype: Any) -> None:
    ours = penstock.create(tmp_path / "a", shape=(5,), dtype="bytes" if dtype is object else dtype, chunks=(2,))
    values = sample("bytes" if dtype is object else dtype, (5,))
    ours[...] = values
    document = support.metadata(tmp_path / "a")
    (tmp_path / "a" / "zarr.json").write_text(json.dumps({**document, "data_type": name}))
    again = opened(tmp_path / "a", "r+")
    assert same(again[...], values) and again.data_type == ours.data_type
    again.set_attributes({"k": 1})
    assert support.metadata(tmp_path / "a")["data_type"] == name
    # zarr-python does not know all of them: a copy has the usual name.
    assert same(penstock.copy(again, tmp_path / "copy")[...], values)
    assert support.metadata(tmp_path / "copy")["data_type"] == document["data_type"]
    assert same(support.read_with_zarr(tmp_path / "copy"), values)


@pytest.mark.parametrize("where", ["zarr.json", ".zarray", ".zattrs"])
def test_metadata_that_are_not_utf8(tmp_path: pathlib.Path, where: str) -> None:
    zarr_format = 3 if where == "zarr.json" else 2
    penstock.create(tmp_path / "a", shape=(3,), dtype="u1", attributes={"k": "Gruesse"}, zarr_format=zarr_format)
    path = tmp_path / "a" / where
    path.write_bytes(path.read_bytes().replace(b"shape", b"sh\xe4pe").replace(b"Gruesse", b"Gr\xfc\xdfe"))
    with pytest.raises(penstock.MetadataError, match=rf"{where}: not JSON at byte \d+.*\\x(e4|fc)"):
        opened(tmp_path / "a")


@pytest.mark.parametrize("exponent", [40, 58, 62])
def test_more_than_memory_holds_is_named(tmp_path: pathlib.Path, exponent: int) -> None:
    a = penstock.create(tmp_path / "big", shape=(2**exponent, 2), dtype="f8", chunks=(2**20, 2))
    for read in (
        lambda: a[...],
        lambda: a.read(),
        lambda: penstock.read_many([(a, np.s_[:, :])]),
        lambda: np.asarray(a),
    ):
        with pytest.raises(
            MemoryError, match=rf"big: {2**exponent * 16} bytes for \({2**exponent}, 2\) of the array's"
        ):
            read()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_attributes_of_an_older_handle_keep_the_newer_shape(tmp_path: pathlib.Path, zarr_format: Any) -> None:
    older = penstock.create(tmp_path / "a", shape=(4,), dtype="u1", chunks=(4,), zarr_format=zarr_format)
    newer = opened(tmp_path / "a", "r+")
    newer.resize((8,))
    newer[...] = np.arange(8, dtype="u1")
    older.set_attributes({"k": 1})
    again = opened(tmp_path / "a")
    assert again.shape == (8,) and again.attrs == {"k": 1}
    assert again[...].tolist() == list(range(8))
