"""What linumpy's GPU work offers to programs, over penstock, under linumpy's names.

``install()``: from then on ``import linumpy`` finds this.  Where linumpy itself is installed, its modules are there as
ever, with the functions of this package in the place of its own; without it there is only what this package has:

* ``linumpy.gpu``: ``gpu_zarr_context``, ``read_zarr_to_gpu``, ``read_raw_zarr``; and in ``linumpy.gpu.interpolation``
  ``resize``, ``affine_transform``, ``map_coordinates``, ``apply_displacement_field``, ``resample_volume``
* ``linumpy.geometry.interface.find_tissue_interface``
* ``linumpy.mosaic.stacking.find_z_overlap``
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys
from collections.abc import Sequence
from types import ModuleType

__all__ = ["install"]

_OURS = {
    "gpu": "gpu/__init__.py",
    "gpu.interpolation": "gpu/interpolation.py",
    "gpu.raw_zarr": "gpu/raw_zarr.py",
    "gpu.zarr": "gpu/zarr.py",
    "geometry": "geometry/__init__.py",
    "geometry.interface": "geometry/interface.py",
    "mosaic": "mosaic/__init__.py",
    "mosaic.stacking": "mosaic/stacking.py",
}


class _Over(importlib.abc.Loader):
    """Loads linumpy's own module, and puts our functions over those of the same name."""

    def __init__(self, theirs: importlib.abc.Loader, ours: str) -> None:
        self._theirs = theirs
        self._ours = ours

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._theirs.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._theirs.exec_module(module)
        ours = importlib.import_module(self._ours)
        for name in getattr(ours, "__all__", []):
            setattr(module, name, getattr(ours, name))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds ``linumpy`` here, or linumpy's own modules with our functions in them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "linumpy" and not name.startswith("linumpy."):
            return None
        inner = name.partition(".")[2]
        theirs = importlib.machinery.PathFinder.find_spec(name, path, target)
        if inner and inner not in _OURS:
            return None  # theirs, or not there
        if theirs is not None and theirs.loader is not None:
            if inner:
                theirs.loader = _Over(theirs.loader, f"{__name__}.{inner}")
            return theirs
        here = pathlib.Path(__file__).parent / _OURS.get(inner, "__init__.py")
        folder = [str(here.parent)] if here.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, here, submodule_search_locations=folder)


def install() -> None:
    """From now on ``import linumpy`` gives this, or linumpy with the functions of this package.

    errors: ImportError (a module of linumpy that this package has functions for has been imported already).
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sorted(f"linumpy.{inner}" for inner in _OURS if f"linumpy.{inner}" in sys.modules)
    if loaded:
        raise ImportError(f"{', '.join(loaded)}: imported already; call penstock.compat.linumpy.install() before")
    sys.meta_path.insert(0, _Finder())
