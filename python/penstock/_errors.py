"""Exceptions.  include/penstock/error_codes.def says which error of the library is which exception here.

Every exception raised by the library has ``code`` (the row's name) and, where there is something to do about it, a note
(``__notes__``).  Errors with a builtin meaning are the builtin types: FileNotFoundError, ValueError, ...
"""

from __future__ import annotations

import concurrent.futures


class PenstockError(Exception):
    """Base of the exceptions that have no builtin type of their own."""

    code: str = "internal"


class MetadataError(PenstockError, ValueError):
    """The metadata of an array or group is wrong; names file and member."""


class CorruptDataError(PenstockError, ValueError):
    """A chunk cannot be decoded; names key and byte."""


class UnsupportedError(PenstockError, NotImplementedError):
    """A codec, data type or extension that this version does not know, by name."""


class DeviceError(PenstockError, RuntimeError):
    """There is no such device, or it reports an error."""


class BudgetError(PenstockError, MemoryError):
    """The memory budget is too small for one chunk; says how much is needed."""


class ChangedError(PenstockError, OSError):
    """An object was replaced while it was read or changed."""


class CancelledError(PenstockError, concurrent.futures.CancelledError):
    """The operation was asked to stop, and stopped."""
