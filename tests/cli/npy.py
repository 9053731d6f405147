"""Prints header, first elements and data size of a .npy file, read with the standard library after the format's page."""

import ast
import struct
import sys

data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
(length,) = struct.unpack("<H", data[8:10])
assert (10 + length) % 64 == 0 and data[9 + length] == ord("\n")
header = ast.literal_eval(data[10 : 10 + length].decode())
body = data[10 + length :]
letter = {"<u2": "H", "<i4": "i"}[header["descr"]]
count = min(4, len(body) // struct.calcsize(letter))
print(header, list(struct.unpack_from(f"<{count}{letter}", body)), len(body), "bytes")
