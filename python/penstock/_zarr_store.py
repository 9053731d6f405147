"""zarr-python's stores for the native side: opened natively where it can read them, else asked for bytes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import zarr.abc.store
import zarr.storage
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.config import config
from zarr.core.sync import _get_loop

from . import _core

# Requests that wait for an asynchronous store together.  zarr-python's own default, 10, leaves a store across a network
# idle most of the time.
_IN_FLIGHT = 64


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
        self._tasks: set[asyncio.Task[None]] = set()
        self._batches = True
        self.url = str(store)
        self.writable = writable
        self.ranged = ranged
        self.in_flight = 0 if self._get_sync is not None else _requests_in_flight()
        self._window = asyncio.Semaphore(max(1, self.in_flight))

    def fetch(self, batch: _core.FetchBatch) -> None:
        """Answers many requests: at once where the store can, else from the event loop, without waiting here."""
        if self._get_sync is None:
            self._loop.call_soon_threadsafe(self._begin, batch)
            return
        for number, (key, kind, offset, count) in enumerate(batch.requests):
            try:
                if batch.cancelled:
                    raise asyncio.CancelledError("the fetch was cancelled")
                if kind in ("span", "last") and count == 0:
                    found: Any = None if self.get(key, None, None) is None else b""
                else:
                    buffer = self._get_sync(
                        key, prototype=default_buffer_prototype(), byte_range=_request(kind, offset, count)
                    )
                    found = None if buffer is None else buffer.as_numpy_array()
                batch.answer([number], [found])
            except (Exception, asyncio.CancelledError) as error:
                batch.fail([number], error)

    def _begin(self, batch: _core.FetchBatch) -> None:
        """On the loop: a task for each object, since stores batch ranges of one."""
        objects: dict[str, list[tuple[int, str, int, int]]] = {}
        for number, (key, kind, offset, count) in enumerate(batch.requests):
            objects.setdefault(key, []).append((number, kind, offset, count))
        for key, wanted in objects.items():
            task = self._loop.create_task(self._fetch_object(batch, key, wanted))
            self._tasks.add(task)  # the loop itself holds tasks weakly
            task.add_done_callback(self._tasks.discard)

    async def _fetch_object(
        self, batch: _core.FetchBatch, key: str, wanted: Sequence[tuple[int, str, int, int]]
    ) -> None:
        numbers = [number for number, *_ in wanted]
        try:
            if any(kind in ("span", "last") and count == 0 for _, kind, _, count in wanted):
                # No range says "nothing": what has to be known is whether the object stands.
                stands = await self._store.exists(key)
                empty = [n for n, kind, _, count in wanted if kind in ("span", "last") and count == 0]
                batch.answer(empty, [b"" if stands else None] * len(empty))
                wanted = [one for one in wanted if one[0] not in empty]
                numbers = [number for number, *_ in wanted]
            requests = [_request(kind, offset, count) for _, kind, offset, count in wanted]
            if len(requests) > 1 and self._batches:
                found = await self._get_ranges(batch, key, requests)
                if found is not None:
                    batch.answer(numbers, found)
                    return
            await asyncio.gather(*(self._fetch_one(batch, key, n, r) for n, r in zip(numbers, requests, strict=True)))
        except BaseException as error:
            batch.fail(numbers, error)
            if not isinstance(error, Exception):
                raise

    async def _get_ranges(
        self, batch: _core.FetchBatch, key: str, requests: list[ByteRequest | None]
    ) -> list[Any] | None:
        """Ranges of one object by one call (get_ranges of obstore, cat_ranges of fsspec); None: the store has none."""
        async with self._window:
            if batch.cancelled:
                raise asyncio.CancelledError("the fetch was cancelled")
            try:
                buffers = await self._store.get_partial_values(
                    default_buffer_prototype(), [(key, request) for request in requests]
                )
            except NotImplementedError:
                self._batches = False
                return None
        return [None if buffer is None else buffer.as_numpy_array() for buffer in buffers]

    async def _fetch_one(self, batch: _core.FetchBatch, key: str, number: int, request: ByteRequest | None) -> None:
        try:
            async with self._window:
                if batch.cancelled:
                    raise asyncio.CancelledError("the fetch was cancelled")
                buffer = await self._store.get(key, default_buffer_prototype(), request)
            batch.answer([number], [None if buffer is None else buffer.as_numpy_array()])
        except BaseException as error:
            batch.fail([number], error)
            if not isinstance(error, Exception | asyncio.CancelledError):
                raise

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def size(self, key: str) -> int | None:
        try:
            return int(self._wait(self._store.getsize(key)))
        except FileNotFoundError:
            return None

    def get(self, key: str, start: int | None, stop: int | None) -> Any:
        wanted: ByteRequest | None = None
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


def _request(kind: str, offset: int, count: int) -> ByteRequest | None:
    match kind:
        case "span":
            return RangeByteRequest(offset, offset + count)
        case "from":
            return OffsetByteRequest(offset)
        case "last":
            return SuffixByteRequest(count)
    return None


def _requests_in_flight() -> int:
    """What zarr-python was told, else a number of our own."""
    told = config.get("async.concurrency", None)
    default = config.defaults[0].get("async", {}).get("concurrency")
    return _IN_FLIGHT if told is None or told == default else int(told)


def _has_sync_io(store: Store) -> bool:
    """Whether the store can be asked without an event loop (zarr-python 3.4)."""
    supports = getattr(zarr.abc.store, "_store_supports_sync_io", None)
    return supports is not None and bool(supports(store))
