"""zarr-python's Store over any URL that penstock opens."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from . import _core
from ._errors import CorruptDataError
from ._url import checked_options, location

T = TypeVar("T")

# Threads that wait for a server; each is idle while it does.
_WAITING = 64


def _new_pool() -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(_WAITING, "penstock-store")


_pool = _new_pool()


def _after_fork() -> None:
    global _pool
    _pool = _new_pool()


os.register_at_fork(after_in_child=_after_fork)


class PenstockStore(Store):
    """A store of zarr-python at any URL that ``penstock.open`` takes: a path, a zip, s3://, https://, memory://.

    url: where it is; a directory or archive that is absent is made, unless `read_only`.
    options: of its kind of store, names to text, as of ``penstock.open``.
    ``penstock.zarr.CodecPipeline`` reads and writes arrays in it natively, without zarr-python in between.
    What another program puts there meanwhile is seen; objects are replaced whole.

    errors: FileNotFoundError, PermissionError, ValueError (an option that there is not), when it is opened: at the first
    use, or by ``await PenstockStore.open(...)``.
    """

    supports_writes = True
    supports_deletes = True

    def __init__(self, url: Any, *, read_only: bool = False, options: Mapping[str, str] | None = None) -> None:
        super().__init__(read_only=read_only)
        self._url = location(url)
        self._options = checked_options(options)
        self._core: _core.Store | None = None

    @property
    def supports_listing(self) -> bool:
        """Not of web servers."""
        return not self._url.startswith(("http://", "https://"))

    @property
    def _supports_sync_io(self) -> bool:
        """For zarr-python: whether calls that wait cost no more than those that do not."""
        return self._opened().requests_in_flight == 0

    def _opened(self) -> _core.Store:
        """The store, opened at the first use."""
        if self._core is None:
            self._core = _core.Store.open(self._url, "r" if self.read_only else "a", options=self._options)
            self._is_open = True
        return self._core

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        await _waiting(self._opened)

    def close(self) -> None:
        """Makes what was written complete (a zip archive gets its directory)."""
        if self._core is not None and self._core.writable:
            self._core.flush()
        self._core = None
        super().close()

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(self._url, read_only=read_only, options=self._options)

    def __str__(self) -> str:
        return _core.redacted(self._url)

    def __repr__(self) -> str:
        return f"PenstockStore({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and (self._url, self.read_only, self._options) == (
            other._url,
            other.read_only,
            other._options,
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_core": None, "_is_open": False}

    # Reading.

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        return await _waiting(lambda: self.get_sync(key, prototype=prototype, byte_range=byte_range))

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        return self._get_all(prototype, [(key, byte_range)])[0]

    async def get_partial_values(
        self, prototype: BufferPrototype | None, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        wanted = list(key_ranges)
        return await _waiting(lambda: self._get_all(prototype, wanted))

    def _get_all(
        self, prototype: BufferPrototype | None, wanted: list[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """All requests under way together."""
        store, make = self._opened(), (prototype or default_buffer_prototype()).buffer.from_bytes
        requests = [(key, *_range(byte_range)) for key, byte_range in wanted]
        try:
            found = _core.fetch(store, requests)
        except CorruptDataError:  # zarr-python may ask for more than there is
            found = [_fetch_what_there_is(store, request) for request in requests]
        return [None if value is None else make(value) for value in found]

    async def exists(self, key: str) -> bool:
        return await _waiting(lambda: self._opened().exists(key))

    async def getsize(self, key: str) -> int:
        size = await _waiting(lambda: self._opened().size_bytes(key))
        if size is None:
            raise FileNotFoundError(key)
        return size

    # Writing.

    async def set(self, key: str, value: Buffer) -> None:
        await _waiting(lambda: self.set_sync(key, value))

    def set_sync(self, key: str, value: Buffer) -> None:
        self._writable().set(key, _bytes(value))

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        await _waiting(lambda: self._writable().set_if_absent(key, _bytes(value)))

    async def delete(self, key: str) -> None:
        await _waiting(lambda: self.delete_sync(key))

    def delete_sync(self, key: str) -> None:
        self._writable().erase(key)

    async def delete_dir(self, prefix: str) -> None:
        await _waiting(lambda: self._writable().erase_prefix(prefix.strip("/")))

    def _writable(self) -> _core.Store:
        self._check_writable()
        return self._opened()

    # Listing.

    async def list(self) -> AsyncIterator[str]:
        for key in await _waiting(lambda: self._opened().list_keys("")):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        folder = prefix.rpartition("/")[0]
        for key in await _waiting(lambda: self._opened().list_keys(folder)):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        for name, _ in await _waiting(lambda: self._opened().list_dir(prefix.strip("/"))):
            yield name


async def _waiting(call: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_pool, call)


def _bytes(value: Any) -> Any:
    if not isinstance(value, Buffer):
        raise TypeError(f"a value is a Buffer of zarr-python, not {type(value).__name__}")
    return value.as_numpy_array()


def _range(byte_range: Any) -> tuple[str, int, int]:
    """(kind, offset, count), as _core.fetch has it."""
    match byte_range:
        case None:
            return "whole", 0, 0
        case RangeByteRequest():
            return "span", byte_range.start, max(byte_range.end - byte_range.start, 0)
        case OffsetByteRequest():
            return "from", byte_range.offset, 0
        case SuffixByteRequest():
            return "last", 0, byte_range.suffix
    raise TypeError(f"Unexpected byte_range, got {byte_range}")


def _fetch_what_there_is(store: _core.Store, request: tuple[str, str, int, int]) -> bytes | None:
    """As of slicing: what lies past the end is left out."""
    key, kind, offset, count = request
    if kind not in ("span", "from"):
        return _core.fetch(store, [request])[0]
    whole = _core.fetch(store, [(key, "whole", 0, 0)])[0]
    if whole is None:
        return None
    return whole[offset : offset + count] if kind == "span" else whole[offset:]
