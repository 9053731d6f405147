#!/usr/bin/env python3
"""ZIP archives by Python's zipfile, for the tests of the zip store and as seeds of its fuzzer.

make_zips.py small DIR   a few hundred bytes each (fuzz/seeds/zip was made so)
make_zips.py large DIR   a full comment, 70,000 members, a member behind 5 GiB (the file is sparse)
make_zips.py check FILE  zipfile reads FILE whole; prints "name size" lines
"""

import io
import os
import sys
import warnings
import zipfile

TEXT = b"penstock " * 20
BYTES = bytes(range(256))


def info(name, method=zipfile.ZIP_STORED):
    entry = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
    entry.compress_type = method
    return entry


class OneWay(io.RawIOBase):
    """A file that cannot seek: zipfile then writes sizes and crc behind the data."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


def fill(archive):
    archive.writestr(info("zarr.json"), b'{"zarr_format": 3}')
    archive.writestr(info("a/c/0/0", zipfile.ZIP_DEFLATED), TEXT)
    archive.writestr(info("a/c/0/1"), BYTES)
    archive.writestr(info("a/empty"), b"")
    archive.writestr(info("a/empty deflated", zipfile.ZIP_DEFLATED), b"")


def small(where):
    def path(name):
        return os.path.join(where, name + ".zip")

    with zipfile.ZipFile(path("plain"), "w") as archive:
        fill(archive)
    with open(path("one_way"), "wb") as file, zipfile.ZipFile(OneWay(file), "w") as archive:
        fill(archive)
    with zipfile.ZipFile(path("comment"), "w") as archive:
        fill(archive)
        archive.comment = b"PK\5\6 is not the end: " + b"c" * 40
    with zipfile.ZipFile(path("names"), "w") as archive:
        archive.writestr(info("d/"), b"")
        archive.writestr(info("d/\u00fc \u4e2d"), b"utf-8")
        archive.writestr(info("d/back\\slash"), b"kept")
    with zipfile.ZipFile(path("twice"), "w") as archive:
        warnings.simplefilter("ignore")  # zipfile warns of the second name
        archive.writestr(info("k"), b"old")
        archive.writestr(info("other"), b"x")
        archive.writestr(info("k"), b"newer")
    with zipfile.ZipFile(path("zip64"), "w") as archive:
        for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
            with archive.open(info(name, method), "w", force_zip64=True) as member:
                member.write(TEXT)
    with zipfile.ZipFile(path("empty"), "w"):
        pass
    with zipfile.ZipFile(path("bzip2"), "w") as archive:
        archive.writestr(info("b", zipfile.ZIP_BZIP2), TEXT)
        archive.writestr(info("s"), b"fine")
    with open(path("plain"), "rb") as file:
        plain = file.read()
    with open(path("in_front"), "wb") as file:
        file.write(b"#!/bin/sh\nexit\n" + plain)


def large(where):
    with zipfile.ZipFile(os.path.join(where, "full_comment.zip"), "w") as archive:
        fill(archive)
        archive.comment = b"c" * 65535
    with zipfile.ZipFile(os.path.join(where, "many.zip"), "w") as archive:
        for i in range(70_000):
            archive.writestr(info(f"c/{i}"), b"%d" % i)
    with zipfile.ZipFile(os.path.join(where, "far.zip"), "w") as archive:
        archive.writestr(info("near"), b"near")
        archive.start_dir = 5 << 30  # where the next member goes
        archive.writestr(info("far"), BYTES)
        archive.writestr(info("far deflated", zipfile.ZIP_DEFLATED), TEXT)


def check(path):
    with zipfile.ZipFile(path) as archive:
        bad = archive.testzip()
        if bad is not None:
            sys.exit(f"zipfile finds {bad} corrupt")
        for member in archive.infolist():
            print(member.filename, member.file_size)


if __name__ == "__main__":
    {"small": small, "large": large, "check": check}[sys.argv[1]](sys.argv[2])
