"""volume.py PATH Z,Y,X ROWS,COLS EXPRESSION: an OME-Zarr of float32, voxels of 10 um, chunks of all planes and ROWS x COLS.

EXPRESSION is Python of z, y, x: "100 if z > 9 else 1".
"""

import itertools
import json
import math
import os
import struct
import sys

path, shape, tile, text = sys.argv[1:]
shape, tile = [int(n) for n in shape.split(",")], [int(n) for n in tile.split(",")]
chunk = [max(shape[0], 1), *tile]
value = eval(f"lambda z, y, x: {text}", {"math": math, "nan": math.nan})
array = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": shape,
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0.0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "dimension_names": ["z", "y", "x"],
}
axes = [{"name": n, "type": "space", "unit": "millimeter"} for n in "zyx"]
scale = [{"type": "scale", "scale": [0.01] * 3}]
image = {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
group = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": [image]}}}
os.makedirs(os.path.join(path, "0"))
for name, document in (("zarr.json", group), ("0/zarr.json", array)):
    with open(os.path.join(path, name), "w") as file:
        json.dump(document, file)
for i, j in itertools.product(*(range(-(-n // t)) for n, t in zip(shape[1:], tile, strict=True))):
    values = [
        value(z, i * tile[0] + r, j * tile[1] + c)
        for z in range(chunk[0])
        for r in range(tile[0])
        for c in range(tile[1])
    ]
    file_name = os.path.join(path, "0", "c", "0", str(i), str(j))
    os.makedirs(os.path.dirname(file_name), exist_ok=True)
    with open(file_name, "wb") as file:
        file.write(struct.pack(f"<{len(values)}f", *values))
