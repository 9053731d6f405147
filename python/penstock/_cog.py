"""write_cog: arrays as Cloud Optimized GeoTIFFs."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from . import _core, _dtype
from ._array import Array
from ._options import Bytes, Deadline, Progress
from ._options import options as _options
from ._raster import CRS, Raster
from ._tensor import asarray
from ._url import location

CogCodec: TypeAlias = Literal["none", "lzw", "deflate", "zstd"]
OverviewMethod: TypeAlias = Literal["nearest", "average", "mode"]


def write_cog(
    source: Any,
    url: str | os.PathLike[str],
    *,
    crs: Any = None,
    transform: Sequence[float] | None = None,
    nodata: Any = None,
    mask: Any = None,
    scales: Sequence[float] = (),
    offsets: Sequence[float] = (),
    units: Sequence[str] = (),
    descriptions: Sequence[str] = (),
    colorinterp: Sequence[str] = (),
    colormap: Mapping[int, Sequence[int]] | None = None,
    tags: Mapping[str, str] | None = None,
    codec: CogCodec = "lzw",
    level: int | None = None,
    predictor: Literal[1, 2, 3] | None = None,
    block: int = 512,
    overviews: int | None = None,
    method: OverviewMethod | None = None,
    bigtiff: bool | None = None,
    overwrite: bool = False,
    budget: Bytes | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    deadline: Deadline | None = None,
) -> Raster:
    """Writes an array as a Cloud Optimized GeoTIFF and opens it.

    source: (band, y, x) or (y, x): a penstock Array or Raster, read piece by piece, or anything that
        ``penstock.asarray`` takes, on a CUDA device too: then it is copied to the host box by box.  Whole numbers of 8 to 64 bits, floats of 16 to 64, complex of 64 and 128.
    url: a file that ends in .tif or .tiff; its directory must be there.
    crs, transform, nodata, mask, scales, offsets, units, descriptions, colorinterp, colormap, tags: as a Raster has them;
        what is not given is taken from the source, as far as it says: all of a Raster; of another Array nodata (``_FillValue``), ``proj:code`` and ``spatial:transform``
        (GeoZarr), ``scale_factor``, ``add_offset``, ``units`` (CF), and all that a copied raster had.
        crs: the ``crs`` of a Raster, of rasterio or pyproj; an EPSG code or "EPSG:32633"; by libproj also well-known text,
            PROJJSON (text or dict), "+proj=laea ...", "ESRI:54009".  What a GeoTIFF cannot say is refused.  transform: six numbers, as ``affine.Affine`` begins.
        mask: (y, x) or (1, y, x), uint8 or bool; 0 where there is nothing to see.
        colorinterp: of each band; where nothing is said, three and more bands of uint8 are red, green, blue, others gray.
        colormap: red, green and blue (0 to 255) of values of an array of uint8 or uint16; band 0 is a "palette" then.
    codec, level, predictor: of tiles; level: of deflate 0 to 9 (6), of zstd 1 to 22 (9); predictor None: 2 for whole
        numbers, 3 for floats, where the codec is not "none".
    block: width and height of tiles, a multiple of 16.
    overviews: how many, each half as large; None: until no side is longer than ``block``.
    method: how an element of them is made of four; those that are nodata or masked do not count.  None: "nearest" of a
        palette, else "average".
    bigtiff: None: where the file is too large for a classic one.
    returns: the file, open for reading; ``last_report`` says what was done.
    errors: FileExistsError; ValueError and UnsupportedError (an option or type that a COG cannot have); those of
        ``Array.read``.
    memory: at most ``budget``; encoded tiles wait in a nameless file in $TMPDIR.  The file appears when it is complete;
        the same input gives the same bytes.
    """
    said = {
        "crs": crs,
        "transform": transform,
        "nodata": nodata,
        "mask": mask,
        "scales": scales,
        "offsets": offsets,
        "units": units,
        "descriptions": descriptions,
        "colorinterp": colorinterp,
        "colormap": colormap,
        "tags": tags,
    }
    cog = _core.CogOptions()
    cog.codec = codec
    if method is not None:
        cog.method = method
    cog.codec_level, cog.predictor, cog.block = level, predictor, block
    cog.overviews, cog.big_tiff = overviews, bigtiff
    return _write_cog(source, url, said, cog, None, overwrite, budget, threads, progress, deadline)


def _write_cog(
    source: Any,
    url: str | os.PathLike[str],
    said: Mapping[str, Any],
    cog: _core.CogOptions,
    region: Any,
    overwrite: bool,
    budget: Bytes | None,
    threads: int | None,
    progress: Progress | None,
    deadline: Deadline | None,
) -> Raster:
    held = source if isinstance(source, Array) else asarray(source)
    into = _core.CogInput(held._core, region)
    dtype = held._dataset.dtype if isinstance(held, Array) else held._core.dtype
    if said.get("crs") is not None:
        into.set_crs(_crs(said["crs"]))
    if said.get("transform") is not None:
        numbers = [float(v) for v in said["transform"]]
        if len(numbers) not in (6, 9):  # 9: all of an Affine
            raise ValueError(f"transform: six numbers are wanted, {len(numbers)} are given")
        into.set_transform(numbers[:6])
    if said.get("nodata") is not None:
        into.set_nodata(_element(said["nodata"], _dtype.to_numpy(dtype)))
    _set_bands(into, said, held.shape[0] if len(held.shape) == 3 else 1, _dtype.to_numpy(dtype))
    if said.get("tags") is not None:
        into.set_tags(list(said["tags"].items()))
    if (mask := said.get("mask")) is not None:
        into.set_mask((mask if isinstance(mask, Array) else asarray(mask))._core)
    if (name := into.crs_of_name_only) is not None:
        warnings.warn(
            f"the CRS of the source ({name or 'of no name'}) has no EPSG code: the COG has no more than its name; crs= says one",
            stacklevel=3,
        )
    opts = _options(budget, threads, "fail", progress, watch=True, deadline=deadline)
    report = _core.write_cog(into, location(url), cog, overwrite, opts)
    made = _core.open(location(url), "r")
    assert isinstance(made, _core.Array)
    raster = Raster(made)
    raster._last_report = report
    return raster


def _set_bands(into: _core.CogInput, said: Mapping[str, Any], bands: int, dtype: np.dtype[Any]) -> None:
    for name, kind in (
        ("scales", float),
        ("offsets", float),
        ("units", str),
        ("descriptions", str),
        ("colorinterp", str),
    ):
        values = [kind(value) for value in said.get(name) or ()]
        if values and len(values) != bands:
            raise ValueError(f"{name}: one for each of {bands} bands is wanted, {len(values)} are given")
        if values:
            getattr(into, f"set_{name}")(values)
    if (colormap := said.get("colormap")) is None:
        return
    if dtype not in (np.uint8, np.uint16):
        raise ValueError(f"colormap: of elements of uint8 or uint16, not {dtype}")
    colors = [(0, 0, 0)] * (1 << 8 * dtype.itemsize)
    for value, color in colormap.items():
        if not (0 <= value < len(colors) and len(color) >= 3 and all(0 <= part <= 255 for part in color[:3])):
            raise ValueError(
                f"colormap: {value}: {color} is no value of {dtype} with red, green and blue from 0 to 255"
            )
        colors[value] = (color[0] * 257, color[1] * 257, color[2] * 257)
    into.set_colormap(colors)
    if not said.get("colorinterp"):
        into.set_colorinterp(["palette"] + ["undefined"] * (bands - 1))


def _crs(crs: Any) -> _core.Crs:
    """A system by what people have: a Raster's, a code, a text, a dict of PROJJSON, an object of rasterio or pyproj."""
    if isinstance(crs, CRS):
        return crs._core
    if isinstance(crs, Mapping):
        return _core.parse_crs(json.dumps(crs))
    if hasattr(crs, "to_epsg"):
        code = crs.to_epsg()  # may be that of a system which is only much like it
        of_code = getattr(type(crs), "from_epsg", None)
        exact = code is not None and (of_code is None or of_code(code) == crs)
        if not exact and not hasattr(crs, "to_wkt"):
            raise ValueError(f"crs: {crs!r} has neither an EPSG code nor well-known text")
        return _core.parse_crs(str(code) if exact else crs.to_wkt())
    if not isinstance(crs, str | int | np.integer):
        raise TypeError(f"crs: an EPSG code or a text is wanted, not {type(crs).__name__}")
    return _core.parse_crs(str(crs))


def _element(value: Any, dtype: np.dtype[Any]) -> bytes:
    with np.errstate(all="raise"):
        try:
            element = np.array(value).astype(dtype)
        except (FloatingPointError, TypeError, ValueError):
            element = None
    kept = element is not None and (element == value or (element != element and value != value))
    if element is None or not (kept or dtype.kind in "fc"):
        raise ValueError(f"nodata: {value!r} is no value of {dtype}")
    return element.tobytes()
