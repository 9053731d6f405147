"""Errors in KvikIO's words, which are also what Python's own functions raise."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


class IOFailure(OSError, RuntimeError):
    """What failed, with its ``errno``."""


class NoSuchFile(FileNotFoundError, RuntimeError):
    """There is no such file."""


class NotPermitted(PermissionError, RuntimeError):
    """The file may not be used so, or was opened for something else."""


class IsDirectory(IsADirectoryError, RuntimeError):
    """A directory has no bytes."""


class ClosedFile(ValueError, RuntimeError):
    """The file is closed."""


class WrongKind(TypeError, ValueError):
    """What was given is no file."""


class WrongFlags(ValueError, RuntimeError):
    """The flags are none of those of ``open``."""


def _of(error: OSError) -> type[OSError]:
    if isinstance(error, FileNotFoundError):
        return NoSuchFile
    if isinstance(error, PermissionError):
        return NotPermitted
    if isinstance(error, IsADirectoryError):
        return IsDirectory
    return IOFailure


@contextlib.contextmanager
def opening(path: object) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise _of(error)(error.errno, f"Unable to open file: {path}: {reason}") from error
    except ValueError as error:
        raise WrongFlags(f"Unknown file open flag: {error}") from error
    except TypeError as error:
        raise WrongKind(f"{path!r} is neither a path nor an open file") from error


def moving(error: OSError | ValueError) -> Exception | None:
    """What a request failed with, in KvikIO's words; None: it has none of its own for that."""
    if isinstance(error, OSError):
        words = "Operation not permitted: " if isinstance(error, PermissionError) else ""
        # An OSError prints its number itself, in front of the words.
        return _of(error)(error.errno, words + str(error.strerror).removesuffix(f" (errno {error.errno})"))
    if getattr(error, "code", "") == "closed":
        return ClosedFile(f"Operation not permitted: {error}")
    return None
