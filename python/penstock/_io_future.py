"""Results of requests for bytes of files."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Generator
from typing import Any

from . import _core

_YEARS = 1e8  # what is longer does not fit into the clock's nanoseconds


class IOFuture(concurrent.futures.Future[int]):
    """A request that has been started: KvikIO's ``get`` and ``done``, a ``concurrent.futures.Future``, and awaitable.

    It holds the buffer and the file until the request has ended; to drop it is to let the request run.  A request
    cannot be taken back: ``cancel`` gives False.
    memory: of the buffer, in use until ``done()``.
    """

    def __init__(self, core: _core.IoFuture) -> None:
        # The rest of a Future is made when somebody asks for it (__getattr__): of thousands of requests few are
        # waited for otherwise than by get.
        self._core = core

    def __getattr__(self, name: str) -> Any:
        if "_core" not in self.__dict__ or "_condition" in self.__dict__:
            raise AttributeError(f"IOFuture has no {name}")
        super().__init__()
        self.set_running_or_notify_cancel()
        self._core.then(self._arrive)
        return getattr(self, name)

    def _arrive(self) -> None:
        try:
            count = self.get()
        except BaseException as error:
            self.set_exception(error)
        else:
            self.set_result(count)

    def get(self) -> int:
        """Waits for the end.

        returns: bytes moved, which are all that were asked for.  Can be asked again.
        errors: those of ``CuFile.pread`` and ``pwrite``.
        """
        return self._core.get()

    def done(self) -> bool:
        """Whether the request has ended."""
        return self._core.done()

    def running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._core.done()

    def result(self, timeout: float | None = None) -> int:
        """As ``get``.  errors: TimeoutError when ``timeout`` seconds have passed before."""
        if timeout is not None and not self._core.wait(_seconds(timeout)):
            raise TimeoutError(f"the request has not ended within {timeout} s")
        return self.get()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error of ``get``, None where there is none."""
        if timeout is not None and not self._core.wait(_seconds(timeout)):
            raise TimeoutError(f"the request has not ended within {timeout} s")
        try:
            self.get()
        except Exception as error:
            return error
        return None

    @property
    def report(self) -> _core.Report:
        """Which engine moved the bytes, and why; waits for the end.  errors: as of ``get``."""
        return self._core.report()

    def __await__(self) -> Generator[Any, None, int]:
        import asyncio  # not needed by whoever does not await

        return asyncio.wrap_future(self).__await__()

    def __repr__(self) -> str:
        return f"<penstock.IOFuture: {'done' if self._core.done() else 'under way'}>"


class IOFutureStream:
    """A request in the order of a CUDA stream."""

    def __init__(self, future: IOFuture) -> None:
        self._future = future

    def check_bytes_done(self) -> int:
        """Waits for the end.  returns: bytes moved, all of them.  errors: those of the request."""
        return self._future.get()


def _seconds(timeout: float) -> float:
    return min(max(timeout, 0.0), _YEARS)
