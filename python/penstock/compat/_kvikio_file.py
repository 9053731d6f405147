"""CuFile as a program written for KvikIO expects it: the same calls, errors in KvikIO's words."""

from __future__ import annotations

from typing import Any

from .. import _cufile, _io_future
from . import _errors


class IOFuture(_io_future.IOFuture):
    """As ``penstock.IOFuture``; errors are also RuntimeError."""

    def get(self) -> int:
        try:
            return self._core.get()
        except (OSError, ValueError) as error:
            told = _errors.moving(error)
            if told is None:
                raise
            raise told from error


class CuFile(_cufile.CuFile):
    """As ``penstock.CuFile``; errors are also RuntimeError."""

    _future = IOFuture

    def __init__(self, file: Any, flags: str = "r") -> None:
        with _errors.opening(file):
            super().__init__(file, flags)


def get_page_cache_info(file: Any, offset: int = 0, length: int = 0) -> tuple[int, int]:
    """As ``penstock._cufile.get_page_cache_info``."""
    with _errors.opening(file):
        return _cufile.get_page_cache_info(file, offset, length)


def drop_file_page_cache(file: Any, offset: int = 0, length: int = 0, sync_first: bool = True) -> None:
    """As ``penstock._cufile.drop_file_page_cache``."""
    with _errors.opening(file):
        _cufile.drop_file_page_cache(file, offset, length, sync_first)
