"""xarray's ``engine="penstock"``: what xarray makes of a zarr group, or of a GeoTIFF, with its elements read by penstock."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import Any

import zarr
from xarray.backends.zarr import ZarrBackendEntrypoint

from ._group import open as _open
from ._raster import Raster
from .zarr import PenstockStore

_PIPELINE = {"codec_pipeline.path": "penstock.zarr.CodecPipeline"}


class PenstockBackend(ZarrBackendEntrypoint):
    """``xarray.open_dataset(url, engine="penstock", options={...})``, and so for ``open_datatree``.

    Takes any URL that ``penstock.open`` takes.  Variables are lazy; with ``chunks=`` they are dask arrays.  A block is one
    plan: its chunks are asked for and decoded together.
    options: of the kind of store, as of ``penstock.open``; the other arguments are those of engine "zarr".
    A name that ends in .tif or .tiff is opened as a raster: ``band_data`` (band, y, x) with coordinates and ``spatial_ref``,
    as rioxarray's engine gives it; ``mask_and_scale`` (True): nodata become NaN; ``level``: 0 the image, 1 and above its
    overviews.
    """

    description = "Open zarr groups and GeoTIFFs at any URL that penstock reads"
    url = ""
    open_dataset_parameters = (
        *(name for name in inspect.signature(ZarrBackendEntrypoint.open_dataset).parameters if name != "self"),
        "options",
        "level",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        return False  # only who asks for it by name

    def open_dataset(
        self, filename_or_obj: Any, *, options: Mapping[str, str] | None = None, level: int = 0, **arguments: Any
    ) -> Any:
        if isinstance(filename_or_obj, Raster) or _names_raster(filename_or_obj):
            return _open_raster(filename_or_obj, options, level, arguments)
        if level != 0:
            raise ValueError("level: only a raster has levels of one dataset; open another group")
        with zarr.config.set(_PIPELINE):
            return super().open_dataset(_store(filename_or_obj, options), **arguments)

    def open_groups_as_dict(
        self, filename_or_obj: Any, *, options: Mapping[str, str] | None = None, **arguments: Any
    ) -> Any:
        with zarr.config.set(_PIPELINE):
            return super().open_groups_as_dict(_store(filename_or_obj, options), **arguments)

    def open_datatree(self, filename_or_obj: Any, *, options: Mapping[str, str] | None = None, **arguments: Any) -> Any:
        with zarr.config.set(_PIPELINE):
            return super().open_datatree(_store(filename_or_obj, options), **arguments)


def _names_raster(place: Any) -> bool:
    return isinstance(place, str | os.PathLike) and os.fspath(place).lower().endswith((".tif", ".tiff"))


def _open_raster(place: Any, options: Mapping[str, str] | None, level: int, arguments: Mapping[str, Any]) -> Any:
    from ._xarray_raster import dataset

    raster = place if isinstance(place, Raster) else _open(place, options=options)
    if not isinstance(raster, Raster):
        raise ValueError(f"{place}: is no raster")
    if level != raster.level:
        raster = raster.levels[level]
    scale = arguments.get("mask_and_scale")
    return dataset(raster, mask_and_scale=scale is None or bool(scale), drop_variables=arguments.get("drop_variables"))


def _store(place: Any, options: Mapping[str, str] | None) -> Any:
    if isinstance(place, PenstockStore):
        return place
    return PenstockStore(place, read_only=True, options=options)
