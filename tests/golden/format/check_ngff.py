"""Checks ngff/penstock_*.json, the attributes that penstock writes (test_ngff.cpp compares them byte for byte).

Each is put into a hierarchy with arrays of the right shape and given to ome-zarr-models, to ngff-zarr and to the
JSON schemas of the specification.

    pip install ngff-zarr==0.50.0 ome-zarr-models==1.7 && python tests/golden/format/check_ngff.py
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import ngff_zarr
import zarr

HERE = Path(__file__).parent / "ngff"

for path in sorted(HERE.glob("penstock_*.json")):
    attributes = json.loads(path.read_text())
    version = path.stem.rsplit("_", 1)[1]
    zarr_format = 2 if version == "0.4" else 3
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/image.ome.zarr"
        group = zarr.create_group(store, zarr_format=zarr_format, attributes=attributes)
        for level, extent in (("0", 64), ("1", 32)):
            options = (
                {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
                if zarr_format == 2
                else {"dimension_names": ["t", "c", "y", "x"]}
            )
            group.create_array(level, shape=(2, 3, extent, extent), chunks=(1, 1, 32, 32), dtype="u2", **options)
        program = Path(sys.executable).with_name("ome-zarr-models")
        subprocess.run([program, "validate", store], check=True)
        ngff_zarr.from_ngff_zarr(store, validate=True, version=version)
        document = attributes if version == "0.4" else {"ome": attributes["ome"]}
        ngff_zarr.validate(document, version=version, model="image")
        if "label" in path.stem:
            ngff_zarr.validate(document, version=version, model="label")
    print(path.name, "accepted")
