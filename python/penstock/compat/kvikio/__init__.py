"""KvikIO's interface over penstock.

``python -m penstock.compat.kvikio PROGRAM`` runs a program whose ``import kvikio`` is this; ``install()`` does the same
within a program.  What penstock does not have yet (remote files, ``Mmap``, ``kvikio.numpy``, ``kvikio.cufile_driver``)
is refused by name.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from penstock import __version__ as _penstock_version
from penstock._cufile import (
    bounce_buffer_free,
    stream_deregister,
    stream_register,
)
from penstock._io_future import IOFutureStream
from penstock.compat._kvikio_file import CuFile, IOFuture, drop_file_page_cache, get_page_cache_info
from penstock.defaults import CompatMode

__version__ = f"26.10.0+penstock.{_penstock_version}"
__git_commit__ = ""

__all__ = [
    "CompatMode",
    "CuFile",
    "IOFuture",
    "IOFutureStream",
    "__git_commit__",
    "__version__",
    "bounce_buffer_free",
    "drop_file_page_cache",
    "get_page_cache_info",
    "install",
    "memory_deregister",
    "memory_register",
    "stream_deregister",
    "stream_register",
]

_LATER = {
    "Mmap": "memory-mapped files",
    "RemoteFile": "remote files",
    "RemoteEndpointType": "remote files",
    "infer_remote_endpoint_type": "remote files",
    "drop_system_page_cache": "the page cache of other files",
    "clear_page_cache": "the page cache of other files",
    "numpy": "kvikio.numpy",
    "cufile_driver": "the driver of cuFile",
    "mmap": "memory-mapped files",
    "remote_file": "remote files",
}


def memory_register(buf: Any) -> None:
    """Does nothing: penstock moves bytes through pinned memory of its own."""


def memory_deregister(buf: Any) -> None:
    """Does nothing, as ``memory_register``."""


def is_remote_file_available() -> bool:
    """False: there are none here."""
    return False


def __getattr__(name: str) -> Any:
    if name in _LATER:
        raise AttributeError(f"penstock.compat.kvikio has no {name} yet ({_LATER[name]})")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _KvikioFinder(importlib.abc.MetaPathFinder):
    """Finds ``kvikio`` in this folder."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.startswith("kvikio.") and name.removeprefix("kvikio.") in _LATER:
            raise ModuleNotFoundError(
                f"penstock.compat.kvikio has no {name} yet ({_LATER[name.removeprefix('kvikio.')]})", name=name
            )
        if name != "kvikio":
            return None  # what is in it is found by its folder
        here = pathlib.Path(__file__)
        return importlib.util.spec_from_file_location(name, here, submodule_search_locations=[str(here.parent)])


def install() -> None:
    """From now on ``import kvikio`` gives this, also where KvikIO is installed.

    errors: ImportError (KvikIO itself has been imported already).
    """
    loaded = sys.modules.get("kvikio")
    if loaded is not None and not hasattr(loaded, "install"):
        raise ImportError("kvikio has been imported already: call penstock.compat.kvikio.install() before")
    if not any(type(finder).__name__ == _KvikioFinder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _KvikioFinder())
