"""Results that arrive later: for asyncio and for concurrent.futures alike."""

from __future__ import annotations

import concurrent.futures
import os
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from . import _core

T = TypeVar("T")

# Each operation uses all cores and by default a quarter of the memory that is free when it starts.
_OPERATIONS_AT_ONCE = 4
_lock = threading.Lock()
_executor: concurrent.futures.ThreadPoolExecutor | None = None


class Future(concurrent.futures.Future[T]):
    """A ``concurrent.futures.Future`` that can also be awaited.

    ``cancel`` of a running operation asks it to stop; it then ends with penstock.CancelledError (also when an asyncio
    task that awaits it is cancelled).  The memory of ``out`` is in use until ``done()``.
    """

    def __init__(self, cancel_token: _core.CancelToken) -> None:
        super().__init__()
        self._cancel_token = cancel_token

    def cancel(self) -> bool:
        """True: it had not begun and never will.  False: it is done, or was asked to stop and will be done soon."""
        if super().cancel():
            return True
        self._cancel_token.cancel()
        return False

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio  # not needed by whoever does not await

        return asyncio.wrap_future(self).__await__()


def submit(call: Callable[[], T], cancel_token: _core.CancelToken) -> Future[T]:
    """Runs `call` on a thread; what `call` refers to stays alive until it is done."""
    _core.check_process()
    future: Future[T] = Future(cancel_token)
    _pool().submit(_run, future, call)
    return future


def _run(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _pool() -> concurrent.futures.ThreadPoolExecutor:
    global _executor
    with _lock:
        if _executor is None:
            _executor = concurrent.futures.ThreadPoolExecutor(_OPERATIONS_AT_ONCE, "penstock")
        return _executor


def _after_fork() -> None:
    global _executor, _lock
    _executor = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
