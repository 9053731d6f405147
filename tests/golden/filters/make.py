#!/usr/bin/env python3
"""Writes cases.json: what numcodecs (and, for "packbits", the specification) makes of small inputs.

    pip install numcodecs==0.16.6 numpy==2.4.6 zfpy==1.0.1 && ./make.py

Each case: "v2" (the configuration that numcodecs writes) or "v3" (name and configuration), "dtype" and "shape" of the
chunk, and as hexadecimal little-endian bytes "decoded" (what is encoded), "encoded", and "restored" (what decoding
gives, when that differs from "decoded").  Variable-length elements are lists of such texts.
"encode": false marks what NumPy refuses to encode.
"""

import json
import warnings
from pathlib import Path

import numcodecs
import numpy as np
import zfpy as libzfp

warnings.simplefilter("ignore")
rng = np.random.default_rng(20261121)
INTS = "i1 u1 i2 u2 i4 u4 i8 u8".split()
FLOATS = "f2 f4 f8".split()
cases = []


def little(name):
    return np.dtype(name).newbyteorder("<").str


def add(codec, data, encodable=True):
    data = np.ascontiguousarray(data)
    case = {"v2": codec.get_config(), "dtype": data.dtype.str, "shape": list(data.shape)}
    case["decoded"] = data.tobytes().hex()
    if not encodable:
        case["encode"] = False
        cases.append(case)
        return
    encoded = np.ascontiguousarray(codec.encode(data))
    case["encoded"] = encoded.tobytes().hex()
    restored = np.ascontiguousarray(codec.decode(encoded)).tobytes().hex()
    if restored != case["decoded"]:
        case["restored"] = restored
    cases.append(case)


def shuffle():
    for size in (0, 1, 2, 3, 4, 5, 8, 12, 16):
        for n in (0, 1, 15, 16, 17, 35):
            add(numcodecs.Shuffle(size), rng.integers(0, 256, n * max(size, 1), dtype="u1"))


def small(name, n):
    """Values that every type holds."""
    return rng.integers(0 if name[0] == "u" else -100, 100, n).astype(name)


def delta():
    for decoded in INTS + FLOATS:
        for encoded in INTS + FLOATS:
            if decoded[0] == "i" and encoded == "u8" or decoded == "u8" and encoded == "i8":
                continue  # NumPy adds these in float64: a stated deviation
            x = small(decoded, 11)
            if decoded[0] == "u" and encoded[0] == "f":
                x.sort()  # else the differences wrap and their sums as floats leave the range
            add(numcodecs.Delta(little(decoded), little(encoded)), x.reshape(1, 11))
    for name in INTS:  # differences that wrap
        full = rng.integers(np.iinfo(name).min, np.iinfo(name).max, 33, dtype=name, endpoint=True)
        add(numcodecs.Delta(little(name)), full)
    for name, n in (("f2", 40), ("f4", 40), ("f8", 40), ("f2", 1100), ("c8", 9), ("c16", 9), ("c8", 530)):
        x = (rng.standard_normal(n) * 1000).astype(name)
        if name[0] == "c":
            x += np.asarray(1j * rng.standard_normal(n), name)
        add(numcodecs.Delta(little(name)), x)
    add(numcodecs.Delta("<f4", "<f8"), (rng.standard_normal(1100) * 1e3).astype("f4"))
    add(numcodecs.Delta("<f8", "<f4"), rng.standard_normal(300) * 1e3)
    add(numcodecs.Delta("<c16", "<c8"), rng.standard_normal(300) + 1j * rng.standard_normal(300))
    add(numcodecs.Delta("<i4", "<i2"), np.cumsum(rng.integers(-9, 9, 1100)).astype("<i4"))
    add(numcodecs.Delta("<f4"), np.array([-0.0, -0.0, 1, -1, np.inf, 2], "f4"))
    add(numcodecs.Delta("<f8"), np.array([-0.0], "f8"))
    # seen as another type of the same bytes
    add(numcodecs.Delta("<i8"), np.array([5, 3, 10**18], "<M8[ns]"))
    add(numcodecs.Delta("<i4"), np.array([1.5, 2.5, -1], "<f4"))
    add(numcodecs.Delta("<f4"), np.array([1 + 2j, 3 + 5j], "<c8"))


def fixedscaleoffset():
    for decoded in INTS + FLOATS:
        for encoded in INTS + FLOATS:
            mixed = ((5.5, 10), (5, 0.5)) if encoded == decoded else ()
            for offset, scale in ((5, 10), (-2.25, 0.3), *mixed):
                codec = numcodecs.FixedScaleOffset(offset, scale, little(decoded), little(encoded))
                data = small(decoded, 6)
                if decoded[0] == "f":
                    data = (data / 7).astype(decoded)
                add(codec, data)
    x = 1000 + rng.random(1100)
    add(numcodecs.FixedScaleOffset(1000, 10**3, "<f8", "<u2"), x)
    add(numcodecs.FixedScaleOffset(1000, 10**3, "<f4", "<i2"), x.astype("f4"))
    halves = np.arange(-4, 4) + 0.5
    add(numcodecs.FixedScaleOffset(0, 1, "<f8", "<i4"), halves)
    add(numcodecs.FixedScaleOffset(1000, 10, "|u1"), np.arange(4, dtype="u1"), encodable=False)
    add(numcodecs.FixedScaleOffset(-1, 10, "<u2"), np.arange(4, dtype="u2"), encodable=False)
    add(numcodecs.FixedScaleOffset(0, 2**33, "<i4"), np.arange(4, dtype="i4"), encodable=False)
    add(numcodecs.FixedScaleOffset(2**64 - 1, 1, "<u8"), np.arange(4, dtype="u8") + np.uint64(2**63))


def quantize():
    for decoded in FLOATS:
        for encoded in FLOATS:
            for digits in (-2, -1, 0, 1, 2, 3, 4):
                x = (rng.standard_normal(10) * 10).astype(decoded)
                add(numcodecs.Quantize(digits, little(decoded), little(encoded)), x)
    for digits in (5, 7, 8, 9, 12, 15, -5):
        add(numcodecs.Quantize(digits, "<f8"), rng.standard_normal(10) * 1000)
    add(numcodecs.Quantize(3, "<f4"), np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30], "f4"))
    add(numcodecs.Quantize(3, "<f8", "<f4"), rng.standard_normal(1100))


def bitround():
    for name, bits in (("f2", (0, 1, 5, 9, 10)), ("f4", (0, 1, 10, 22, 23)), ("f8", (0, 1, 20, 51, 52))):
        for keep in bits:
            x = np.concatenate([rng.standard_normal(12) * 100, [0, -0.0, np.inf, -np.inf, 1e-7, 65504]]).astype(name)
            add(numcodecs.BitRound(keep), x)
        add(numcodecs.BitRound(4), np.array([np.nan, 1.0], name))


def astype():
    special = [0, 1, -1, 0.5, -0.5, 2.5, 127, 128, 255, 256, -129, 300, 32768, 65536, 70000.5, 3e9, 2.0**31, -(2.0**31)]
    huge = [1e10, -1e10, 1e20, 2.0**63, 2.0**64, 1.8e19, np.inf, -np.inf, np.nan, -0.0, 1e-8, 65519, 65520, 1e300]
    for decoded in INTS + FLOATS + ["b1"]:
        for encoded in INTS + FLOATS + ["b1"]:
            if decoded in FLOATS:
                x = np.array(special + huge, decoded)
            elif decoded == "b1":
                x = np.array([True, False, True])
            else:
                low, high = np.iinfo(decoded).min, np.iinfo(decoded).max
                x = np.array([low, high, low + 1, high - 1, 0, 1, 77, 100, high // 2, high // 3], decoded)
            add(numcodecs.AsType(little(encoded), little(decoded)), x)
    add(numcodecs.AsType("<c8", "<c16"), rng.standard_normal(5) + 1j * rng.standard_normal(5))
    add(numcodecs.AsType("<i2", "<i8"), np.array([1, 2, 300], "<M8[s]"))


def numcodecs_packbits():
    for n in (0, 1, 2, 7, 8, 9, 16, 17, 100):
        add(numcodecs.PackBits(), rng.integers(0, 2, n).astype(bool))
    add(numcodecs.PackBits(), rng.integers(0, 2, (3, 5)).astype(bool))


def vlen():
    texts = ["a", "h\u00e9", "", "\u65e5\u672c\u8a9e", "\U0001f600", "x" * 300, "null\0inside"]
    for codec, dtype in ((numcodecs.VLenUTF8(), "string"), (numcodecs.VLenBytes(), "bytes")):
        for elements in (texts, texts[:1], [""], [], [""] * 3):
            values = elements if dtype == "string" else [t.encode() for t in elements]
            array = np.array(values, dtype=object)
            raw = [t.encode().hex() for t in elements]
            encoded = bytes(codec.encode(array)).hex()
            cases.append(
                {"v2": codec.get_config(), "dtype": dtype, "shape": [len(raw)], "decoded": raw, "encoded": encoded}
            )


def packbits():
    """The specification, word for word: one bit sequence, element by element, lowest bit first."""

    def one(data, configuration, width, components=1):
        first = configuration.get("first_bit") or 0
        last = configuration.get("last_bit")
        last = width - 1 if last is None else last
        words = np.frombuffer(data.tobytes(), "u1" if width == 1 else f"<u{width // 8}")
        assert len(words) == data.size * components
        bits = [(int(w) >> b) & 1 for w in words for b in range(first, last + 1)]
        padding = -len(bits) % 8
        bits += [0] * padding
        packed = bytes(sum(bit << i for i, bit in enumerate(bits[k : k + 8])) for k in range(0, len(bits), 8))
        encoding = configuration.get("padding_encoding", "none")
        if encoding == "first_byte":
            packed = bytes([padding]) + packed
        if encoding == "last_byte":
            packed = packed + bytes([padding])
        restored = []
        for word in words:
            value = (int(word) >> first) & ((1 << (last - first + 1)) - 1)
            if data.dtype.kind == "i" and value >> (last - first):
                value -= 1 << (last - first + 1)
            restored.append((value << first) & ((1 << max(width, 8)) - 1))
        restored = np.array(restored, words.dtype).tobytes().hex()
        case = {"v3": {"name": "packbits", "configuration": configuration}, "dtype": data.dtype.str}
        case |= {"shape": list(data.shape), "decoded": data.tobytes().hex(), "encoded": packed.hex()}
        if restored != case["decoded"]:
            case["restored"] = restored
        cases.append(case)

    for encoding in (
        {},
        {"padding_encoding": "none"},
        {"padding_encoding": "first_byte"},
        {"padding_encoding": "last_byte"},
    ):
        for n in (1, 8, 11):
            one(rng.integers(0, 2, n).astype(bool), dict(encoding), 1)
        one(rng.integers(0, 4096, 7).astype("<u2"), {**encoding, "first_bit": None, "last_bit": 11}, 16)
        one(rng.integers(-2048, 2048, 7).astype("<i2"), {**encoding, "last_bit": 11}, 16)
        one(rng.integers(-128, 128, 5).astype("i1"), {**encoding, "first_bit": 2, "last_bit": 4}, 8)
        one(rng.integers(0, 2**32, 5).astype("<u4"), {**encoding, "first_bit": 3, "last_bit": 30}, 32)
    one(rng.integers(-(2**63), 2**63, 5), {"first_bit": 1}, 64)
    one(rng.integers(-(2**63), 2**63, 5), {}, 64)
    one(rng.integers(-(2**63), 2**63, 5), {"padding_encoding": "last_byte", "first_bit": 63}, 64)
    one(rng.standard_normal(6).astype("<f4"), {"first_bit": 16}, 32)
    one((rng.standard_normal(3) + 1j * rng.standard_normal(3)).astype("<c8"), {"first_bit": 20}, 32, 2)


def zfp():
    def one(data, v2, v3, **parameters):
        codec = numcodecs.ZFPY(**v2)
        whole = codec.encode(data)
        restored = codec.decode(whole).tobytes().hex()
        bare = libzfp.compress_numpy(data, write_header=False, **parameters)
        for name, encoded in ((codec.get_config(), whole), (v3, bare)):
            case = {"v2": name} if encoded is whole else {"v3": {"name": "zfp", "configuration": name}}
            case |= {"dtype": data.dtype.str, "shape": list(data.shape), "decoded": data.tobytes().hex()}
            case["encoded"] = encoded.hex()
            if restored != case["decoded"]:
                case["restored"] = restored
            cases.append(case)

    for name in ("<f4", "<f8", "<i4", "<i8"):
        for shape in ((9,), (5, 6), (3, 4, 5), (2, 3, 2, 3))[0 if name[2] == "4" else 2 :]:
            data = np.cumsum(rng.integers(-9, 9, shape), axis=-1).astype(name)
            if name[1] == "f":
                data = (data / 7).astype(name)
            one(data, {"mode": 4, "tolerance": -1, "rate": -1, "precision": -1}, {"mode": "reversible"})
            one(
                data,
                {"mode": 2, "tolerance": -1, "rate": 8, "precision": -1},
                {"mode": "fixed_rate", "rate": 8},
                rate=8,
            )
            fixed = {"mode": "fixed_precision", "precision": 11}
            one(data, {"mode": 3, "tolerance": -1, "rate": -1, "precision": 11}, fixed, precision=11)
            if name[1] == "f":
                accurate = {"mode": "fixed_accuracy", "tolerance": 0.01}
                one(data, {"mode": 4, "tolerance": 0.01, "rate": -1, "precision": -1}, accurate, tolerance=0.01)


for make in (shuffle, delta, fixedscaleoffset, quantize, bitround, astype, numcodecs_packbits, vlen, packbits, zfp):
    make()
lines = ",\n".join(json.dumps(case) for case in cases)
head = json.dumps({"numcodecs": numcodecs.__version__, "numpy": np.__version__})[:-1]
Path(__file__).with_name("cases.json").write_text(f'{head}, "cases": [\n{lines}\n]}}\n')
print(len(cases), "cases")
