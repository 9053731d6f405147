"""A raster as xarray has it: coordinates, ``spatial_ref`` and nodata, named and placed as by rioxarray."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends.common import BackendArray
from xarray.core import indexing

from ._errors import PenstockError
from ._raster import CRS, Raster, Transform

NAME = "band_data"


class _Elements(BackendArray):
    """Read when they are asked for; a block is one read."""

    def __init__(self, raster: Raster) -> None:
        self.raster = raster
        self.shape = raster.shape
        self.dtype = raster.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: Any) -> Any:
        return np.asarray(self.raster[key])


class _Places(BackendArray):
    """x or y of the middles of pixels of a rotated raster, computed where they are asked for."""

    def __init__(self, shape: tuple[int, int], along_x: float, along_y: float, origin: float) -> None:
        self.shape = shape
        self.dtype = np.dtype("f8")
        self.along_x, self.along_y, self.origin = along_x, along_y, origin

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._make)

    def _make(self, key: Any) -> Any:
        y, x = (np.arange(n)[k] + 0.5 for n, k in zip(self.shape, key, strict=True))
        return self.along_x * x + np.expand_dims(self.along_y * y, -1 if np.ndim(x) else ()) + self.origin


def dataset(raster: Raster, *, mask_and_scale: bool, drop_variables: Any) -> xr.Dataset:
    """``band_data`` (band, y, x); ``mask_and_scale``: nodata becomes NaN, scale and offset that all bands share are
    applied."""
    attrs, encoding = _attributes(raster)
    encoding["preferred_chunks"] = dict(zip(("band", "y", "x"), raster.chunks, strict=True))
    encoding["source"] = raster.url
    data = xr.Variable(("band", "y", "x"), indexing.LazilyIndexedArray(_Elements(raster)), attrs, encoding)
    variables = {NAME: data, "spatial_ref": xr.Variable((), 0, _spatial_ref(raster))}
    coordinates = {"band": xr.Variable("band", np.arange(1, raster.shape[0] + 1))} | _coordinates(raster)
    if isinstance(drop_variables, str):
        drop_variables = [drop_variables]
    dropped = set(drop_variables or ())
    made = xr.Dataset({k: v for k, v in (variables | coordinates).items() if k not in dropped})
    made = made.set_coords([k for k in made.variables if k != NAME])
    if not mask_and_scale:
        return made
    return xr.decode_cf(made, mask_and_scale=True, decode_times=False, decode_coords=False)


def _attributes(raster: Raster) -> tuple[dict[str, Any], dict[str, Any]]:
    attrs: dict[str, Any] = dict(raster.tags)
    if raster.nodata is not None:
        attrs["_FillValue"] = raster.dtype.type(raster.nodata)
    for one, many, values, nothing in (
        ("scale_factor", "scales", raster.scales, 1.0),
        ("add_offset", "offsets", raster.offsets, 0.0),
    ):
        if any(value != nothing for value in values):
            attrs[one if len(set(values)) == 1 else many] = values[0] if len(set(values)) == 1 else values
    for name, words in (
        ("long_name", tuple(band.description for band in raster.bands)),
        ("units", tuple(band.unit for band in raster.bands)),
    ):
        if any(words):
            attrs[name] = words[0] if len(words) == 1 else words
    return attrs, {"grid_mapping": "spatial_ref"}


def _coordinates(raster: Raster) -> dict[str, xr.Variable]:
    transform = raster.transform
    _, height, width = raster.shape
    if transform is None:
        return {}
    a, b, c, d, e, f = transform
    if b == 0 and d == 0:
        x, y = c + (np.arange(width) + 0.5) * a, f + (np.arange(height) + 0.5) * e
        return {"x": xr.Variable("x", x), "y": xr.Variable("y", y)}
    places = {"xc": _Places((height, width), a, b, c), "yc": _Places((height, width), d, e, f)}
    return {k: xr.Variable(("y", "x"), indexing.LazilyIndexedArray(v)) for k, v in places.items()}


def _spatial_ref(raster: Raster) -> dict[str, Any]:
    """The CF attributes of the CRS by pyproj where it is installed, else its text by PROJ where that is found."""
    attrs: dict[str, Any] = {} if raster.crs is None else _cf_of(raster.crs, raster.url)
    if raster.transform is not None:
        attrs["GeoTransform"] = _gdal_text(raster.transform)
    return attrs


def _cf_of(crs: CRS, url: str) -> dict[str, Any]:
    only_a_code = crs.epsg is not None and crs.vertical_epsg is None
    pyproj = _pyproj()
    if pyproj is not None and only_a_code:
        return _cf_of_pyproj(pyproj.CRS.from_epsg(crs.epsg))
    try:
        wkt = crs.wkt
    except (PenstockError, FileNotFoundError) as error:  # no PROJ here, or nothing that it knows
        if crs.epsg is not None:
            return {"spatial_ref": f"EPSG:{crs.epsg}"}
        warnings.warn(f"{url}: spatial_ref has no CRS: {error}", stacklevel=2)
        return {}
    return {"crs_wkt": wkt, "spatial_ref": wkt} if pyproj is None else _cf_of_pyproj(pyproj.CRS.from_wkt(wkt))


def _pyproj() -> Any:
    try:
        import pyproj
    except ImportError:
        return None
    return pyproj


def _cf_of_pyproj(crs: Any) -> dict[str, Any]:
    attrs: dict[str, Any] = crs.to_cf()
    attrs["spatial_ref"] = attrs["crs_wkt"]
    return attrs


def _gdal_text(t: Transform) -> str:
    return " ".join(str(float(v)) for v in (t.c, t.a, t.b, t.f, t.d, t.e))
