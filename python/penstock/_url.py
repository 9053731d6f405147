"""Where a store is: text, a path, or what zarr-python has open there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

Mode: TypeAlias = Literal["r", "r+", "a"]
MODES: tuple[Mode, ...] = ("r", "r+", "a")


def location(url: Any) -> str:
    """The URL as text.  Errors: TypeError, naming the type."""
    known = _of_zarr(url)
    if known is not None:
        return known
    try:
        text = os.fspath(url)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise TypeError(f"a url is text or a path, not {type(url).__name__}")
    return text


def checked_mode(mode: Any) -> Mode:
    """The mode, if it is one.  Errors: ValueError, naming those there are."""
    if mode not in MODES:
        raise ValueError(f"mode {mode!r}: it is 'r', 'r+' or 'a'; penstock.create makes new arrays")
    known: Mode = mode
    return known


def checked_options(options: Any) -> dict[str, str]:
    """The options of a store, text by text.  Errors: TypeError, which holds no value."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(f"options are a mapping of names to text, not {type(options).__name__}")
    for name, value in options.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of an option is text, not {type(name).__name__}")
        if not isinstance(value, str):
            raise TypeError(f"option {name!r} is text, not {type(value).__name__}")
    return dict(options)


def _of_zarr(node: Any) -> str | None:
    """The place of a zarr.Array, zarr.Group, LocalStore or ZipStore; None for all else (and without zarr-python)."""
    zarr = sys.modules.get("zarr")
    if zarr is None or not hasattr(zarr, "storage"):
        return None
    path = ""
    if isinstance(node, zarr.Array | zarr.Group):
        path, node = node.store_path.path, node.store_path.store
    if isinstance(node, zarr.storage.LocalStore):
        place = str(node.root)
    elif isinstance(node, zarr.storage.ZipStore):
        place = str(node.path)
    elif isinstance(node, zarr.abc.store.Store):
        raise TypeError(f"a url is text or a path, not {type(node).__name__}")
    else:
        return None
    return f"{place}/{path}" if path else place
