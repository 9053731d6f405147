"""Writes a NIfTI-1 volume of 4 x 3 x 2 int16: element (x, y, z) is x + 10 y + 100 z."""

import struct
import sys

header = bytearray(352)
struct.pack_into("<i", header, 0, 348)
struct.pack_into("<8h", header, 40, 3, 4, 3, 2, 1, 1, 1, 1)
struct.pack_into("<hh", header, 70, 4, 16)
struct.pack_into("<8f", header, 76, 1, 2, 3, 4, 1, 1, 1, 1)
struct.pack_into("<f", header, 108, 352)
struct.pack_into("<h", header, 254, 1)
struct.pack_into("<12f", header, 280, 2, 0, 0, -1, 0, 3, 0, -2, 0, 0, 4, -3)
header[344:347] = b"n+1"
values = [x + 10 * y + 100 * z for z in range(2) for y in range(3) for x in range(4)]
with open(sys.argv[1], "wb") as file:
    file.write(bytes(header) + struct.pack("<24h", *values))
