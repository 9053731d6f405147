"""phantom.py NAME: a small diffusion volume of two bundles that cross, NAME.nii, NAME.bval, NAME.bvec."""

import math
import struct
import sys

SHAPE, DIRECTIONS, B = (12, 12, 6), 30, 2000
name = sys.argv[1]
vectors = []
for k in range(DIRECTIONS):
    z = (k + 0.5) / DIRECTIONS
    r, phi = math.sqrt(1 - z * z), 2.399963229728653 * k
    vectors.append((r * math.cos(phi), r * math.sin(phi), z))


def signal(x: int, y: int, z: int, v: tuple[float, float, float] | None) -> int:
    axes = [axis for axis, across in ((0, y), (1, x)) if 4 <= across <= 7 and 1 <= z <= 4]
    if v is None:
        return 1000
    if not axes:
        return round(1000 * math.exp(-B * 0.9e-3))
    return round(sum(1000 * math.exp(-B * (0.3e-3 + 1.4e-3 * v[a] ** 2)) for a in axes) / len(axes))


head = bytearray(352)
struct.pack_into("<i", head, 0, 348)
struct.pack_into("<8h", head, 40, 4, *SHAPE, DIRECTIONS + 1, 1, 1, 1)
struct.pack_into("<2h", head, 70, 4, 16)
struct.pack_into("<8f", head, 76, 1, 2, 2, 2, 1, 1, 1, 1)
struct.pack_into("<f", head, 108, 352)
struct.pack_into("<h", head, 254, 1)
struct.pack_into("<12f", head, 280, 2, 0, 0, -10, 0, 2, 0, 5, 0, 0, 2, 1)
head[344:347] = b"n+1"
values = [
    signal(x, y, z, v)
    for v in [None, *vectors]
    for z in range(SHAPE[2])
    for y in range(SHAPE[1])
    for x in range(SHAPE[0])
]
with open(name + ".nii", "wb") as file:
    file.write(bytes(head) + struct.pack(f"<{len(values)}h", *values))
with open(name + ".bval", "w") as file:
    file.write(" ".join(["0"] + [str(B)] * DIRECTIONS) + "\n")
with open(name + ".bvec", "w") as file:
    file.write("0 0 0\n" + "".join(f"{a:.9f} {b:.9f} {c:.9f}\n" for a, b, c in vectors))
