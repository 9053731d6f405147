"""Writes zarr_v2.json and zarr_v3.json: metadata documents as zarr-python writes them, and what they mean.

Each entry: the documents as text, the NumPy type in little-endian order, and the fill value's bytes in hex (null: none).

    pip install zarr==3.1.6 && python -W ignore tests/golden/format/make_zarr.py
"""

import json
import tempfile
from pathlib import Path

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

OUT = Path(__file__).parent

# name, data type, fill value (None: the default of zarr-python)
TYPES = [
    ("bool", "bool", True),
    ("int8", "i1", -128),
    ("int16", "i2", -3),
    ("int32", "i4", 2**31 - 1),
    ("int64", "i8", -(2**63)),
    ("uint8", "u1", 255),
    ("uint16", "u2", 65535),
    ("uint32", "u4", 2**32 - 1),
    ("uint64", "u8", 2**64 - 1),
    ("float16", "f2", 0.1),
    ("float32", "f4", 0.1),
    ("float64", "f8", 1e-300),
    ("float16_nan", "f2", np.nan),
    ("float32_inf", "f4", np.inf),
    ("float64_minus_inf", "f8", -np.inf),
    ("float64_minus_zero", "f8", -0.0),
    ("complex64", "c8", complex(np.nan, -1.5)),
    ("complex128", "c16", complex(np.inf, 0.1)),
    ("bytes5", "S5", b"ab"),
    ("bytes5_empty", "S5", None),
    ("text3", "U3", "x\u00e9\U0001f600"),
    ("raw3", "V3", b"\x01\x02\xff"),
    ("datetime_ns", "M8[ns]", np.datetime64(5, "ns")),
    ("datetime_25s", "M8[25s]", np.datetime64("NaT")),
    ("timedelta_D", "m8[D]", np.timedelta64(-7, "D")),
    ("struct", [("a", "<i4"), ("b", "<f8")], (1, 2.5)),
    ("struct_mixed_kinds", [("a", "u1"), ("b", "S3"), ("c", "<U2")], (1, b"x", "yz")),
    ("struct_nested", [("a", [("x", "<i2"), ("y", "u1")]), ("b", "<f4")], None),
    ("string", str, "h\u00e9"),
    ("vlen_bytes", zarr.dtype.VariableLengthBytes(), b"ab"),
]
BIG = [
    ("int32_big", ">i4", 258),
    ("float64_big", ">f8", 0.1),
    ("complex64_big", ">c8", 1 + 2j),
    ("text_big", ">U2", "ab"),
    ("datetime_big", ">M8[s]", np.datetime64(258, "s")),
    ("struct_big", [("a", ">i4"), ("b", ">f8")], (1, 2.5)),
    ("struct_mixed_order", [("a", ">i4"), ("b", "<i4")], (1, 2)),
]
N = numcodecs
V2_OPTIONS = [
    ("f_order", "f4", 1.5, {"order": "F"}),
    ("slash", "u2", 0, {"chunk_key_encoding": {"name": "v2", "separator": "/"}}),
    ("zstd", "u2", 0, {"compressors": N.Zstd(level=5)}),
    ("gzip", "u2", 0, {"compressors": N.GZip(level=6)}),
    ("blosc", "u2", 0, {"compressors": N.Blosc(cname="zstd", clevel=3, shuffle=N.Blosc.BITSHUFFLE)}),
    ("delta", "i4", 0, {"filters": [N.Delta(dtype="<i4", astype="<i2")]}),
    ("delta_big", ">i4", 258, {"filters": [N.Delta(dtype=">i4")]}),
    ("astype", "f8", 0, {"filters": [N.AsType(encode_dtype="<f4", decode_dtype="<f8")]}),
    ("scale", "f8", 0, {"filters": [N.FixedScaleOffset(offset=10, scale=4, dtype="<f8", astype="<u2")]}),
    ("quantize", "f4", 0, {"filters": [N.Quantize(digits=2, dtype="<f4")]}),
    ("shuffle_zstd", "u4", 0, {"filters": [N.Shuffle(elementsize=4)], "compressors": N.Zstd(level=1)}),
    ("packbits", "bool", False, {"filters": [N.PackBits()]}),
    ("f_order_delta", "i4", 0, {"order": "F", "filters": [N.Delta(dtype="<i4")], "compressors": N.GZip(level=1)}),
]
V3_OPTIONS = [
    ("transpose", "f4", 1.5, {"filters": [TransposeCodec(order=(1, 0))]}),
    ("big_endian", "f4", 1.5, {"serializer": BytesCodec(endian="big")}),
    ("keys_v2", "u2", 0, {"chunk_key_encoding": {"name": "v2", "separator": "."}}),
    ("keys_dot", "u2", 0, {"chunk_key_encoding": {"name": "default", "separator": "."}}),
    ("names", "u2", 0, {"dimension_names": ["y", None]}),
    ("gzip", "u2", 0, {"compressors": GzipCodec(level=6)}),
    ("blosc", "u2", 0, {"compressors": BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle", typesize=2)}),
    ("zstd_crc32c", "u2", 0, {"compressors": [ZstdCodec(level=5), Crc32cCodec()]}),
    ("sharded", "u2", 0, {"shards": (4, 4)}),
    (
        "sharded_twice",
        "u2",
        0,
        {
            "serializer": ShardingCodec(
                chunk_shape=(2, 2), codecs=[ShardingCodec(chunk_shape=(1, 2))], index_location="start"
            )
        },
    ),
]


def entry(name, zarr_format, dtype, fill, options, shape=(5, 4), chunks=(2, 2)):
    options = {"compressors": None, "shape": shape, "chunks": chunks, **options}
    if fill is not None:
        options["fill_value"] = fill
    with tempfile.TemporaryDirectory() as folder:
        array = zarr.create_array(folder, dtype=dtype, zarr_format=zarr_format, attributes={"a": 1}, **options)
        names = ["zarr.json"] if zarr_format == 3 else [".zarray", ".zattrs"]
        documents = {n: (Path(folder) / n).read_text() for n in names}
    is_object = dtype is str or isinstance(dtype, zarr.dtype.VariableLengthBytes)
    little = None if is_object else np.dtype(array.dtype).newbyteorder("<")
    value = array.metadata.fill_value
    if value is None:
        fill_hex = None
    elif is_object:
        fill_hex = (value.encode() if isinstance(value, str) else bytes(value)).hex()
    else:
        fill_hex = np.array([value], array.dtype).astype(little).tobytes().hex()
    numpy_type = "|O" if is_object else little.str
    return {
        "name": name,
        "numpy": numpy_type,
        "item_bytes": None if is_object else little.itemsize,
        "fill": fill_hex,
        **documents,
    }


v2 = [entry(n, 2, d, f, {}) for n, d, f in TYPES + BIG] + [entry(n, 2, d, f, o) for n, d, f, o in V2_OPTIONS]
v3 = [entry(n, 3, d, f, {}) for n, d, f in TYPES] + [entry(n, 3, d, f, o) for n, d, f, o in V3_OPTIONS]
v2.append(entry("rank_0", 2, "u2", 7, {}, (), ()))
v3.append(entry("rank_0", 3, "u2", 7, {}, (), ()))
v2.append(entry("empty", 2, "u2", 7, {}, (0, 3), (1, 2)))
v3.append(entry("empty", 3, "u2", 7, {}, (0, 3), (1, 2)))
for name, entries in (("zarr_v2.json", v2), ("zarr_v3.json", v3)):
    (OUT / name).write_text(json.dumps(entries, indent=1) + "\n")

# Hierarchies with consolidated metadata.
for zarr_format, document in ((2, ".zmetadata"), (3, "zarr.json")):
    with tempfile.TemporaryDirectory() as folder:
        root = zarr.create_group(folder, zarr_format=zarr_format, attributes={"v": zarr_format})
        group = root.create_group("g", attributes={"in": "g"})
        group.create_array("x", shape=(4,), chunks=(2,), dtype="u2", compressors=None)
        group.create_group("empty")
        root.create_array("y", shape=(), dtype="f4", fill_value=np.nan, compressors=None, attributes={"in": "y"})
        zarr.consolidate_metadata(folder, zarr_format=zarr_format)
        text = json.dumps(json.loads((Path(folder) / document).read_text()), indent=1)
        (OUT / f"consolidated_v{zarr_format}.json").write_text(text + "\n")
