"""Results of requests for bytes of files."""

from __future__ import annotations

import concurrent.futures
import itertools
import weakref
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    import asyncio

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
        if not self._core.done():
            yield from _arrival(self._core).__await__()
        return self.get()

    def __repr__(self) -> str:
        return f"<penstock.IOFuture: {'done' if self._core.done() else 'under way'}>"


class _Arrivals:
    """Requests that an event loop waits for.  Threads of the library write to a descriptor of the loop and need no GIL,
    for which they would have to wait while Python is at work."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._core = _core.Arrivals()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        if self._core.descriptor() < 0:
            raise OSError("no descriptor for an event loop that waits for requests: see ulimit -n")
        loop.add_reader(self._core.descriptor(), self._arrive)

    def of(self, request: _core.IoFuture, future: asyncio.Future[None]) -> None:
        number = next(self._numbers)
        self._waiting[number] = future
        request.arrive_in(self._core, number)

    def _arrive(self) -> None:
        for number in self._core.take():
            future = self._waiting.pop(number)
            if not future.done():  # else nobody waits any more
                future.set_result(None)


_of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Arrivals] = weakref.WeakKeyDictionary()


def _arrival(request: _core.IoFuture) -> asyncio.Future[None]:
    """Done, in the running loop, when the request has ended."""
    import asyncio  # not needed by whoever does not await

    loop = asyncio.get_running_loop()
    arrivals = _of_loops.get(loop)
    if arrivals is None:
        arrivals = _of_loops[loop] = _Arrivals(loop)
    future = loop.create_future()
    arrivals.of(request, future)
    return future


class IOFutureStream:
    """A request in the order of a CUDA stream."""

    def __init__(self, future: IOFuture) -> None:
        self._future = future

    def check_bytes_done(self) -> int:
        """Waits for the end.  returns: bytes moved, all of them.  errors: those of the request."""
        return self._future.get()


def _seconds(timeout: float) -> float:
    return min(max(timeout, 0.0), _YEARS)
