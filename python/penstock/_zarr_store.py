"""zarr-python's stores for the native side: opened natively where it can read them, else asked for bytes."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine, Iterator
from typing import Any, TypeAlias

import zarr.abc.store
import zarr.storage
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.config import config
from zarr.core.sync import _get_loop

from . import _core
from ._penstock_store import PenstockStore

# Index of a request in its batch, and the range as zarr-python says it.
_Wanted: TypeAlias = tuple[int, ByteRequest | None]

# Requests that wait for an asynchronous store together.  zarr-python's own default, 10, leaves a store across a network
# idle most of the time.
_IN_FLIGHT = 64


def native_store(store: Store, *, writable: bool) -> _core.Store:
    """A store of zarr-python as one of penstock's."""
    if type(store) is PenstockStore and (store.read_only or writable):
        return store._opened()
    if type(store) is zarr.storage.LocalStore and os.path.isdir(store.root):
        return _core.Store.open(os.fspath(store.root), "r+" if writable else "r")
    return _core.python_store(_Source(store, writable=writable))


class _Source:
    """A store of zarr-python, called from the native side's threads."""

    def __init__(self, store: Store, *, writable: bool) -> None:
        self._store = store
        self._loop = _get_loop()
        self._get_sync = getattr(store, "get_sync", None) if _has_sync_io(store) else None
        self._tasks: set[asyncio.Task[None]] = set()
        self._batches = hasattr(store, "get_partial_values")
        self.url = str(store)
        self.writable = writable
        self.in_flight = 0 if self._get_sync is not None else _requests_in_flight()
        self._window = asyncio.Semaphore(max(1, self.in_flight))

    def fetch(self, batch: _core.FetchBatch) -> None:
        """Answers many requests: at once where the store can, else from the event loop, without waiting here."""
        if self._get_sync is None:
            self._loop.call_soon_threadsafe(self._begin, batch)
            return
        for index, (key, kind, offset, count) in enumerate(batch.requests):
            try:
                _check(batch)
                wanted = _request(kind, offset, count)
                buffer = self._get_sync(key, prototype=default_buffer_prototype(), byte_range=wanted)
                batch.answer([index], [_bytes(buffer)])
            except (Exception, asyncio.CancelledError) as error:
                batch.fail([index], error)

    def _begin(self, batch: _core.FetchBatch) -> None:
        """On the loop: a task for each object, since stores batch ranges of one."""
        objects: dict[str, list[_Wanted]] = {}
        for index, (key, kind, offset, count) in enumerate(batch.requests):
            objects.setdefault(key, []).append((index, _request(kind, offset, count)))
        for key, ranges in objects.items():
            self._start(self._fetch_ranges(batch, key, ranges))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._tasks.discard)

    async def _fetch_ranges(self, batch: _core.FetchBatch, key: str, ranges: list[_Wanted]) -> None:
        indices = [index for index, _ in ranges]
        with _failing(batch, indices):
            found = None
            if len(ranges) > 1 and self._batches:
                found = await self._get_ranges(batch, key, [request for _, request in ranges])
            if found is not None:
                batch.answer(indices, found)
            else:
                await asyncio.gather(*(self._fetch_one(batch, key, *one) for one in ranges))

    async def _get_ranges(
        self, batch: _core.FetchBatch, key: str, requests: list[ByteRequest | None]
    ) -> list[Any] | None:
        """Ranges of one object by one call (get_ranges of obstore, cat_ranges of fsspec); None: the store has none."""
        async with self._window:
            _check(batch)
            try:
                buffers = await self._store.get_partial_values(
                    default_buffer_prototype(), [(key, request) for request in requests]
                )
            except NotImplementedError:
                self._batches = False
                return None
        return [_bytes(buffer) for buffer in buffers]

    async def _fetch_one(self, batch: _core.FetchBatch, key: str, index: int, request: ByteRequest | None) -> None:
        with _failing(batch, [index]):
            async with self._window:
                _check(batch)
                buffer = await self._store.get(key, default_buffer_prototype(), request)
            batch.answer([index], [_bytes(buffer)])

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def set(self, key: str, value: bytes) -> None:
        self._wait(self._store.set(key, default_buffer_prototype().buffer.from_bytes(value)))

    def erase(self, key: str) -> None:
        self._wait(self._store.delete(key))


@contextlib.contextmanager
def _failing(batch: _core.FetchBatch, indices: list[int]) -> Iterator[None]:
    """What goes wrong within is the answer to these requests; what ends the loop goes on, too."""
    try:
        yield
    except BaseException as error:
        batch.fail(indices, error)
        if not isinstance(error, Exception | asyncio.CancelledError):
            raise


def _check(batch: _core.FetchBatch) -> None:
    if batch.cancelled:
        raise asyncio.CancelledError("the fetch was cancelled")


def _bytes(buffer: Any) -> Any:
    return None if buffer is None else buffer.as_numpy_array()


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
