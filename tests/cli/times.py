"""Writes three times, in seconds, as an array: times.py FOLDER datetime|timedelta."""

import json
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
(folder / "c").mkdir(parents=True)
metadata = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [3],
    "data_type": {"name": f"numpy.{sys.argv[2]}64", "configuration": {"unit": "s", "scale_factor": 1}},
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": "NaT",
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}
(folder / "zarr.json").write_text(json.dumps(metadata))
(folder / "c/0").write_bytes(struct.pack("<3q", 1577836800, -1, -(2**63)))
