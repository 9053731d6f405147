#!/usr/bin/env python3
"""Writes the stores of this folder with zarr-python (3.4 at the time of writing; the bytes are what the tests pin).

python -m venv v && v/bin/pip install zarr==3.4.2 && v/bin/python make.py
"""

import json
import pathlib
import shutil

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ZstdCodec

HERE = pathlib.Path(__file__).resolve().parent


def fresh(name):
    shutil.rmtree(HERE / name, ignore_errors=True)
    return HERE / name


def v3():
    root = zarr.create_group(fresh("v3.zarr"), zarr_format=3, attributes={"title": "made by zarr-python"})
    # u16: chunks in shards, zstd + crc32c; values = their own C-order index
    a = root.create_array(
        "u16",
        shape=(8, 12, 10),
        chunks=(2, 3, 5),
        shards=(4, 6, 10),
        dtype="uint16",
        compressors=[ZstdCodec(level=3), Crc32cCodec()],
        dimension_names=["z", "y", "x"],
        attributes={"unit": "counts"},
    )
    a[...] = np.arange(8 * 12 * 10, dtype="uint16").reshape(8, 12, 10)
    # f32: NaN fill; only one of four chunks is there
    a = root.create_array(
        "f32", shape=(4, 6), chunks=(2, 3), dtype="float32", compressors=[GzipCodec(level=5)], fill_value=np.nan
    )
    a[:2, :3] = [[0.5, -1.5, np.inf], [1e-30, 3.25, -0.0]]
    # big: big-endian, blosc
    a = root.create_array(
        "big",
        shape=(6,),
        chunks=(4,),
        dtype="int32",
        serializer=BytesCodec(endian="big"),
        compressors=[BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=4)],
    )
    a[...] = [0, 1, -2, 300, -40000, 2**31 - 1]
    a = root.create_array("scalar", shape=(), chunks=(), dtype="float64", compressors=None)
    a[...] = 2.5
    a = root.create_array("text", shape=(5,), chunks=(2,), dtype="string", compressors=[ZstdCodec()], fill_value="")
    a[...] = np.array(["", "one", "zwölf", 'quo"te', "tab\there"], dtype=object)
    root.create_group("empty")


def v2():
    root = zarr.create_group(fresh("v2.zarr"), zarr_format=2, attributes={"title": "made by zarr-python"})
    a = root.create_array(
        "u16",
        shape=(8, 12, 10),
        chunks=(4, 6, 10),
        dtype="<u2",
        fill_value=7,
        compressors=numcodecs.Blosc("zstd", 3, numcodecs.Blosc.BITSHUFFLE),
    )
    a[...] = np.arange(8 * 12 * 10, dtype="uint16").reshape(8, 12, 10)
    a = root.create_array(
        "fortran",
        shape=(3, 4),
        chunks=(2, 2),
        dtype=">i4",
        order="F",
        compressors=numcodecs.GZip(1),
        filters=[numcodecs.Delta(">i4")],
    )
    a[...] = np.arange(12).reshape(3, 4) ** 3
    dtype = np.dtype([("id", "<i2"), ("position", "<f4")])
    a = root.create_array("records", shape=(3,), chunks=(3,), dtype=dtype, compressors=None, fill_value=None)
    a[...] = np.array([(1, 0.5), (2, 2.5), (-3, np.nan)], dtype=dtype)
    a = root.create_array("flags", shape=(5,), chunks=(5,), dtype="bool", compressors=numcodecs.GZip(1))
    a[...] = [True, False, True, True, False]


def image():
    """A small OME-NGFF 0.5 image of two levels, its metadata written by hand after the specification."""
    root = zarr.create_group(fresh("image.ome.zarr"), zarr_format=3)
    axes = [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"]
    datasets = []
    y, x = np.mgrid[:32, :32]
    level = np.stack([(y * 8 + x + 16 * z) for z in range(8)]).astype("uint16")
    for i in range(2):
        a = root.create_array(
            str(i),
            shape=level.shape,
            chunks=(4, 8, 8),
            shards=(8, 16, 16),
            dtype="uint16",
            compressors=[ZstdCodec(level=3)],
            dimension_names=["z", "y", "x"],
        )
        a[...] = level
        datasets.append(
            {"path": str(i), "coordinateTransformations": [{"type": "scale", "scale": [3.0, 0.5 * 2**i, 0.5 * 2**i]}]}
        )
        n = level.shape[1] // 2
        level = level.reshape(8, n, 2, n, 2).mean(axis=(2, 4)).astype("uint16")
    root.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "image", "axes": axes, "datasets": datasets}]}


def broken():
    """The u16 array of v3.zarr with one bad byte in one inner chunk, and metadata that is no JSON."""
    path = fresh("broken.zarr")
    shutil.copytree(HERE / "v3.zarr" / "u16", path / "u16")
    shard = path / "u16" / "c" / "0" / "1" / "0"
    data = bytearray(shard.read_bytes())
    data[20] ^= 0x55
    shard.write_bytes(data)
    (path / "nojson").mkdir()
    (path / "nojson" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array",')
    (path / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))


if __name__ == "__main__":
    v3()
    v2()
    image()
    broken()
