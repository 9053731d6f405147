#!/usr/bin/env python3
"""Checks what `penstock demo STORE OUT` wrote, with zarr-python and an OME-NGFF validator.

    demo_check.py STORE OUT

- level 0 of OUT/pyramid.ome.zarr equals zarr-python's reading of STORE, every byte: penstock read it all, and right
- OUT/projection.ome.zarr is NumPy's maximum of that reading along the first axis of space
- both are valid OME-Zarr images (ome-zarr-models), and zarr-python opens every level
- OUT/projection.png is a PNG of the projection's size
"""

import argparse
import json
import struct
import sys
from pathlib import Path

import numpy as np
import zarr
from ome_zarr_models import open_ome_zarr

BLOCK_BYTES = 256 << 20


class CheckFailed(Exception):
    """Something that penstock wrote is not what it should be."""


def open_node(url: str):
    """zarr-python's array or group at a folder or in a zip file."""
    return zarr.open(zarr.storage.ZipStore(url, mode="r") if url.endswith(".zip") else url, mode="r")


def finest(store: str, out: Path) -> zarr.Array:
    """The array itself; of an image level 0; of another group the array that the report names."""
    node = open_node(store)
    if isinstance(node, zarr.Array):
        return node
    attributes = node.attrs.asdict()
    images = attributes.get("ome", attributes).get("multiscales")
    if images:
        return node[images[0]["datasets"][0]["path"]]
    url = json.loads((out / "report.json").read_text())["source"]
    if not url.startswith(store + "/"):
        raise CheckFailed(f"the report's source {url} is not in {store}")
    return node[url.removeprefix(store + "/")]


def blocks(array: zarr.Array):
    """Slices along the first axis that cover the array: about BLOCK_BYTES each, cut at the edges of objects."""
    rows = (array.shards or array.chunks)[0]
    row_bytes = max(1, int(np.prod(array.shape[1:])) * array.dtype.itemsize)
    step = max(1, BLOCK_BYTES // (rows * row_bytes)) * rows
    for start in range(0, array.shape[0], step):
        yield slice(start, min(start + step, array.shape[0]))


def same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal dtype, shape and bytes; unlike ==, NaN equals NaN and 0.0 differs from -0.0."""
    native = a.dtype.newbyteorder("=")
    return (
        a.shape == b.shape
        and native == b.dtype.newbyteorder("=")
        and np.array_equal(
            np.ascontiguousarray(a, native).reshape(-1).view(np.uint8),
            np.ascontiguousarray(b, native).reshape(-1).view(np.uint8),
        )
    )


def first_difference(want: np.ndarray, got: np.ndarray, offset: int) -> str:
    """ "element (z, y, x) is A, not B as in", or how the types differ."""
    if want.dtype.newbyteorder("=") != got.dtype.newbyteorder("="):
        return f"dtype is {got.dtype}, not {want.dtype} as in"
    index = np.unravel_index(np.flatnonzero(want.reshape(-1) != got.reshape(-1))[:1], want.shape)
    if index[0].size == 0:
        return "the bytes of NaN or zeros are not as in"
    place = tuple(int(i[0]) for i in index)
    return f"element {(place[0] + offset, *place[1:])} is {got[place]}, not {want[place]} as in"


def check(store: str, out: Path) -> str:
    """Raises CheckFailed, or says what was found good."""
    source = finest(store, out)
    levels = {}
    for name in ("pyramid", "projection"):
        path = out / f"{name}.ome.zarr"
        image = open_ome_zarr(zarr.open_group(path, mode="r"))
        levels[name] = [zarr.open_array(path / d.path, mode="r") for d in image.ome_attributes.multiscales[0].datasets]
    copy, projected = levels["pyramid"][0], levels["projection"][0]
    if copy.shape != source.shape:
        raise CheckFailed(f"level 0 of the pyramid has shape {copy.shape}, the source {source.shape}")
    axis = max(0, source.ndim - 3)
    maximum = None
    for block in blocks(source):
        want = source[block]
        got = copy[block]
        if not same_bytes(want, got):
            raise CheckFailed(f"{copy.store_path}: {first_difference(want, got, block.start)} zarr-python's reading")
        top = want.max(axis=axis)
        if axis:
            maximum = top if maximum is None else np.concatenate([maximum, top])
        else:
            maximum = top if maximum is None else np.maximum(maximum, top)
    if not same_bytes(maximum, np.asarray(projected[...]).reshape(maximum.shape)):
        raise CheckFailed("the projection is not the maximum of zarr-python's reading")
    for finer, coarser in zip(levels["pyramid"], levels["pyramid"][1:], strict=False):
        if any(c > f or 2 * c + 1 < f for f, c in zip(finer.shape, coarser.shape, strict=True)):
            raise CheckFailed(f"pyramid: level of shape {coarser.shape} below one of {finer.shape}")
        coarser[...]  # every chunk decodes
    head = (out / "projection.png").read_bytes()[:24]
    if head[:8] != b"\x89PNG\r\n\x1a\n" or head[12:16] != b"IHDR":
        raise CheckFailed("projection.png is no PNG")
    if struct.unpack(">II", head[16:24]) != maximum.shape[:-3:-1]:
        raise CheckFailed(f"projection.png is not of the projection's size {maximum.shape}")
    return f"every byte equals zarr-python's reading ({source.nbytes:,}); both images validate as OME-NGFF 0.5"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", help="what penstock read: an array, an OME-NGFF image, or another group")
    parser.add_argument("out", type=Path, help="where `penstock demo` wrote")
    args = parser.parse_args()
    try:
        print("      " + check(args.store, args.out))
    except CheckFailed as error:
        print(f"demo_check: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
