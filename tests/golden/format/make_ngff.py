"""Writes ngff/ngff_zarr_*.json: the attributes of images that ngff-zarr writes.

pip install ngff-zarr==0.50.0 && python tests/golden/format/make_ngff.py
"""

import json
import tempfile
from pathlib import Path

import ngff_zarr
import numpy as np

OUT = Path(__file__).parent / "ngff"

for version in ("0.4", "0.5"):
    image = ngff_zarr.to_ngff_image(
        np.zeros((2, 16, 16), "u2"),
        dims=["c", "y", "x"],
        scale={"y": 0.5, "x": 0.25},
        axes_units={"y": "micrometer", "x": "micrometer"},
    )
    with tempfile.TemporaryDirectory() as folder:
        ngff_zarr.to_ngff_zarr(folder, ngff_zarr.to_multiscales(image, scale_factors=[2]), version=version)
        name = ".zattrs" if version == "0.4" else "zarr.json"
        document = json.loads((Path(folder) / name).read_text())
    attributes = document if version == "0.4" else document["attributes"]
    (OUT / f"ngff_zarr_{version}.json").write_text(json.dumps(attributes, indent=1) + "\n")
