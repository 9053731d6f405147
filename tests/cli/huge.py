"""Prints the metadata of an array of bytes that has no chunks, so that all are 7: huge.py SHAPE CHUNKS."""

import json
import sys

shape, chunks = ([int(n) for n in text.split(",")] for text in sys.argv[1:3])
print(
    json.dumps(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default"},
            "fill_value": 7,
            "codecs": ["bytes"],
        }
    )
)
