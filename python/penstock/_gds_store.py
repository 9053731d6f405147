"""zarr-python's LocalStore whose bytes go straight to where they are wanted: host memory, or CUDA memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import uuid
from typing import Any

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.core.buffer.core import default_buffer_prototype
from zarr.storage import LocalStore

from ._cufile import CuFile


def _range_of(byte_range: Any, size: int) -> tuple[int, int]:
    """(first byte, count) within a file of `size` bytes; as of slicing, what lies past the end is left out."""
    match byte_range:
        case None:
            return 0, size
        case RangeByteRequest():
            start = min(byte_range.start, size)
            return start, max(min(byte_range.end, size) - start, 0)
        case OffsetByteRequest():
            start = min(byte_range.offset, size)
            return start, size - start
        case SuffixByteRequest():
            count = min(byte_range.suffix, size)
            return size - count, count
    raise TypeError(f"Unexpected byte_range, got {byte_range}")


class GDSStore(LocalStore):
    """A folder as a store of zarr-python.  With ``zarr.config.enable_gpu()`` values come into CUDA memory at once.

    root, read_only: as of ``zarr.storage.LocalStore``.
    Objects are replaced as a whole: whoever reads finds the old one or the new one.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

    async def _ready(self) -> None:
        """Open; one of several tasks that come first at once opens it."""
        if self._is_open:
            return
        try:
            await self._open()
        except ValueError:
            if not self._is_open:
                raise

    async def get(self, key: str, prototype: BufferPrototype | None = None, byte_range: Any = None) -> Buffer | None:
        if prototype is None:
            prototype = default_buffer_prototype()
        await self._ready()
        assert isinstance(key, str)
        try:
            file = CuFile(f"{self.root}/{key}")  # a Path would take as long as to open the file
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        start, count = _range_of(byte_range, file._core.size_bytes())
        memory = prototype.nd_buffer.create(shape=(count,), dtype="B").as_ndarray_like()
        await file.pread(memory, count, start)
        return prototype.buffer.from_array_like(memory)

    async def set(self, key: str, value: Buffer) -> None:
        await self._put(key, value, exclusive=False)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        with contextlib.suppress(FileExistsError):
            await self._put(key, value, exclusive=True)

    async def _put(self, key: str, value: Buffer, *, exclusive: bool) -> None:
        await self._ready()
        self._check_writable()
        assert isinstance(key, str)
        if not isinstance(value, Buffer):
            raise TypeError(
                f"{type(self).__name__}.set(): `value` must be a Buffer instance. Got an instance of {type(value)} instead."
            )
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
        try:
            with CuFile(partial, "w") as file:
                await file.pwrite(value.as_array_like())
            await asyncio.to_thread(_name, partial, path, exclusive)
        finally:
            with contextlib.suppress(FileNotFoundError):
                partial.unlink()


def _name(partial: pathlib.Path, path: pathlib.Path, exclusive: bool) -> None:
    if exclusive:
        os.link(partial, path)
    else:
        os.replace(partial, path)
