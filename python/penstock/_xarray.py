"""xarray's ``engine="penstock"``: what xarray makes of a zarr group, with its elements read by penstock."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import zarr
from xarray.backends.zarr import ZarrBackendEntrypoint

from .zarr import PenstockStore

_PIPELINE = {"codec_pipeline.path": "penstock.zarr.CodecPipeline"}


class PenstockBackend(ZarrBackendEntrypoint):
    """``xarray.open_dataset(url, engine="penstock", options={...})``, and so for ``open_datatree``.

    Takes any URL that ``penstock.open`` takes.  Variables are lazy; with ``chunks=`` they are dask arrays.  A block is one
    plan: its chunks are asked for and decoded together.
    options: of the kind of store, as of ``penstock.open``; the other arguments are those of engine "zarr".
    """

    description = "Open zarr groups at any URL that penstock reads"
    url = ""
    open_dataset_parameters = (
        *(name for name in inspect.signature(ZarrBackendEntrypoint.open_dataset).parameters if name != "self"),
        "options",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        return False  # only who asks for it by name

    def open_dataset(self, filename_or_obj: Any, *, options: Mapping[str, str] | None = None, **arguments: Any) -> Any:
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


def _store(place: Any, options: Mapping[str, str] | None) -> Any:
    if isinstance(place, PenstockStore):
        return place
    return PenstockStore(place, read_only=True, options=options)
