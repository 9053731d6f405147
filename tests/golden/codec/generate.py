"""Makes the golden files of this folder: chunks as numcodecs and zarr-python encode them.

python generate.py    needs numcodecs 0.16, zarr 3.1, google-crc32c and the command zstd; numbers are seeded, so that a
second run changes only what another library version encodes otherwise.

index.json lists the cases: name, shape, dtype, fill, the codecs as v3 metadata has them ("codecs") or one v2 object
("v2"); NAME.bin is the encoded chunk and data/DATA.bin what it decodes to.
"""

import bz2
import gzip
import json
import lzma
import pathlib
import subprocess
import warnings

import numcodecs
import numcodecs.checksum32
import numpy as np
import zarr
import zarr.codecs as zc

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).parent
CASES = []


def image(shape, dtype="<u2", seed=7):
    """Smooth values with noise."""
    rng = np.random.default_rng(seed)
    ramp = np.arange(np.prod(shape)).reshape(shape) // 3
    return (ramp + rng.integers(0, 5, shape)).astype(dtype)


DATA = {
    "u16": image((8, 30)),
    "u8": image((200,), "u1"),
    "f64": image((40,), "<f8") / 7,
    "text": np.frombuffer(b"abcdefgh" * 30, "u1"),
}


def add(name, encoded, data, **what):
    (HERE / f"{name}.bin").write_bytes(bytes(encoded))
    array = DATA[data]
    CASES.append({"name": name, "data": data, "shape": list(array.shape), "dtype": array.dtype.name, **what})


def add_v2(name, codec, data="u16"):
    add(name, codec.encode(DATA[data]), data, v2=codec.get_config())


def add_v3(name, data="u16", shape=None, **how):
    array = DATA[data]
    store = zarr.storage.MemoryStore()
    z = zarr.create_array(
        store, shape=array.shape, dtype=array.dtype, chunks=array.shape, fill_value=3, **{"compressors": None, **how}
    )
    z[...] = array
    meta = json.loads(store._store_dict["zarr.json"].to_bytes())
    (key,) = [k for k in store._store_dict if k.startswith("c")]
    add(name, store._store_dict[key].to_bytes(), data, codecs=meta["codecs"], fill=3)


def v2_cases():
    for level in (0, 1, 9):
        add_v2(f"v2_zlib_{level}", numcodecs.Zlib(level))
        add_v2(f"v2_gzip_{level}", numcodecs.GZip(level))
    for level in (-5, 0, 3, 19):
        add_v2(f"v2_zstd_{level}".replace("-", "m"), numcodecs.Zstd(level))
    add_v2("v2_zstd_checksum", numcodecs.Zstd(1, checksum=True))
    add_v2("v2_lz4", numcodecs.LZ4(1))
    add_v2("v2_lz4_100", numcodecs.LZ4(100), "text")
    add_v2("v2_bz2", numcodecs.BZ2(1))
    add_v2("v2_bz2_9", numcodecs.BZ2(9), "f64")
    add_v2("v2_lzma", numcodecs.LZMA())
    add_v2("v2_lzma_sha256", numcodecs.LZMA(check=lzma.CHECK_SHA256, preset=2))
    add_v2("v2_lzma_alone", numcodecs.LZMA(format=lzma.FORMAT_ALONE))
    add_v2(
        "v2_lzma_raw",
        numcodecs.LZMA(
            format=lzma.FORMAT_RAW,
            filters=[{"id": lzma.FILTER_DELTA, "dist": 2}, {"id": lzma.FILTER_LZMA2, "preset": 1}],
        ),
    )
    for cname in ("lz4", "lz4hc", "blosclz", "zstd", "zlib"):
        for shuffle in (0, 1, 2):
            add_v2(f"v2_blosc_{cname}_{shuffle}", numcodecs.Blosc(cname, 5, shuffle), "f64" if shuffle else "u16")
    add_v2("v2_blosc_auto", numcodecs.Blosc("lz4", 9, -1, 128))
    add_v2("v2_blosc_auto_u8", numcodecs.Blosc("zstd", 1, -1), "u8")
    add_v2("v2_blosc_stored", numcodecs.Blosc("lz4", 0, 1))
    for codec in (numcodecs.checksum32.CRC32, numcodecs.checksum32.Adler32, numcodecs.checksum32.CRC32C):
        name = codec.codec_id
        add_v2(f"v2_{name}", codec())
        add_v2(f"v2_{name}_start", codec(location="start"))
        add_v2(f"v2_{name}_end", codec(location="end"), "text")
    add_v2("v2_fletcher32", numcodecs.Fletcher32())
    add_v2("v2_fletcher32_text", numcodecs.Fletcher32(), "text")
    add_v2("v2_jenkins_lookup3", numcodecs.JenkinsLookup3())
    add_v2("v2_jenkins_lookup3_seed", numcodecs.JenkinsLookup3(initval=77), "text")


def stream_cases():
    """Forms that other programs write and numcodecs does not."""
    raw = DATA["u16"].tobytes()
    half = len(raw) // 2
    little = {"name": "bytes", "configuration": {"endian": "little"}}

    def add_stream(name, encoded, codec):
        add(name, encoded, "u16", codecs=[little, codec])

    zstd = {"name": "zstd", "configuration": {"level": 0, "checksum": False}}
    piped = subprocess.run(["zstd", "-q", "-c", "--no-check"], input=raw, capture_output=True, check=True).stdout
    add_stream("zstd_no_content_size", piped, zstd)
    frames = [numcodecs.Zstd(1).encode(part) for part in (raw[:half], raw[half:])]
    skippable = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    add_stream("zstd_two_frames", frames[0] + frames[1], zstd)
    add_stream("zstd_skippable", skippable + frames[0] + skippable + frames[1] + skippable, zstd)
    add_stream(
        "gzip_two_members",
        gzip.compress(raw[:half], 1, mtime=0) + gzip.compress(raw[half:], 9, mtime=0),
        {"name": "gzip", "configuration": {"level": 1}},
    )
    add_stream(
        "gzip_padded", gzip.compress(raw, 6, mtime=0) + bytes(11), {"name": "gzip", "configuration": {"level": 1}}
    )
    add_stream(
        "bz2_two_streams",
        bz2.compress(raw[:half]) + bz2.compress(raw[half:]),
        {"name": "numcodecs.bz2", "configuration": {"level": 1}},
    )
    add_stream(
        "xz_two_streams",
        lzma.compress(raw[:half]) + bytes(8) + lzma.compress(raw[half:]),
        {"name": "numcodecs.lzma", "configuration": {"format": 1}},
    )


def v3_cases():
    add_v3("v3_bytes")
    add_v3("v3_bytes_big", serializer=zc.BytesCodec(endian="big"))
    add_v3("v3_zstd", compressors=zc.ZstdCodec(level=3, checksum=True))
    add_v3("v3_gzip", compressors=zc.GzipCodec(level=5))
    add_v3("v3_crc32c", compressors=[zc.ZstdCodec(), zc.Crc32cCodec()])
    add_v3("v3_transpose", filters=zc.TransposeCodec(order=(1, 0)), compressors=zc.GzipCodec(level=1))
    for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
        add_v3(f"v3_blosc_{shuffle}", "f64", compressors=zc.BloscCodec(cname="zstd", clevel=4, shuffle=shuffle))
    inner = {"codecs": [zc.BytesCodec(), zc.ZstdCodec()]}
    for where in ("start", "end"):
        add_v3(f"v3_shard_{where}", serializer=zc.ShardingCodec(chunk_shape=(2, 10), index_location=where, **inner))
    nested = zc.ShardingCodec(
        chunk_shape=(2, 5),
        codecs=[zc.TransposeCodec(order=(1, 0)), zc.BytesCodec(endian="big")],
        index_location="start",
    )
    add_v3("v3_shard_nested", serializer=zc.ShardingCodec(chunk_shape=(4, 10), codecs=[nested]))
    DATA["sparse"] = np.where(DATA["u16"] > 60, DATA["u16"], 3).astype("<u2")
    add_v3("v3_shard_sparse", "sparse", serializer=zc.ShardingCodec(chunk_shape=(2, 10), **inner))
    for codec in ("Zlib", "LZ4", "BZ2", "LZMA", "CRC32", "Adler32", "Fletcher32"):
        add_v3(f"v3_numcodecs_{codec.lower()}", compressors=getattr(zarr.codecs.numcodecs, codec)())


def main():
    import zarr.codecs.numcodecs  # noqa: F401

    for old in HERE.glob("*.bin"):
        old.unlink()
    v2_cases()
    stream_cases()
    v3_cases()
    (HERE / "data").mkdir(exist_ok=True)
    for name, array in DATA.items():
        (HERE / "data" / f"{name}.bin").write_bytes(array.tobytes())
    rows = ",\n".join(json.dumps(case) for case in CASES)
    (HERE / "index.json").write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
