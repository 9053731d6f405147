"""zarr-python's stores for the native side: opened natively where it can read them, else asked for bytes."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import zarr.abc.store
import zarr.storage
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import _get_loop

from . import _core


def native_store(store: Store, *, writable: bool, ranged: bool) -> _core.Store:
    """A store of zarr-python as one of penstock's.

    ranged: objects hold many chunks, so that parts of them are worth a request each (shards).
    """
    if type(store) is zarr.storage.LocalStore and os.path.isdir(store.root):
        return _core.Store.open(os.fspath(store.root), "r+" if writable else "r")
    return _core.python_store(_Source(store, writable=writable, ranged=ranged))


class _Source:
    """A store of zarr-python, called from the native side's threads."""

    def __init__(self, store: Store, *, writable: bool, ranged: bool) -> None:
        self._store = store
        self._loop = _get_loop()
        self._get_sync = getattr(store, "get_sync", None) if _has_sync_io(store) else None
        self.url = str(store)
        self.writable = writable
        self.ranged = ranged

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def size(self, key: str) -> int | None:
        try:
            return int(self._wait(self._store.getsize(key)))
        except FileNotFoundError:
            return None

    def get(self, key: str, start: int | None, stop: int | None) -> Any:
        wanted: OffsetByteRequest | RangeByteRequest | None = None
        if start is None:
            pass
        elif stop is None:
            wanted = OffsetByteRequest(start)
        else:
            wanted = RangeByteRequest(start, stop)
        if self._get_sync is not None:
            buffer = self._get_sync(key, prototype=default_buffer_prototype(), byte_range=wanted)
        else:
            buffer = self._wait(self._store.get(key, default_buffer_prototype(), wanted))
        return None if buffer is None else buffer.as_numpy_array()

    def set(self, key: str, value: bytes) -> None:
        self._wait(self._store.set(key, default_buffer_prototype().buffer.from_bytes(value)))

    def erase(self, key: str) -> None:
        self._wait(self._store.delete(key))


def _has_sync_io(store: Store) -> bool:
    """Whether the store can be asked without an event loop (zarr-python 3.4)."""
    supports = getattr(zarr.abc.store, "_store_supports_sync_io", None)
    return supports is not None and bool(supports(store))
