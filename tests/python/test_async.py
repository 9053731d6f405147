"""Futures: asyncio and concurrent.futures, cancelling, and memory that is dropped or resized meanwhile."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import pathlib
import threading
import time
import weakref

import numpy as np
import pytest

import penstock

from support import same, slow_array

SHAPE = (64, 64)
VALUES = np.arange(4096, dtype="i4").reshape(SHAPE)


@pytest.fixture
def array(tmp_path: pathlib.Path) -> penstock.Array:
    a = penstock.create(tmp_path / "a", shape=SHAPE, dtype="i4", chunks=(8, 8))
    a[...] = VALUES
    return a


def test_await(array: penstock.Array) -> None:
    async def main() -> None:
        parts = await asyncio.gather(*[array.read_async(np.s_[i : i + 8, ::-1]) for i in range(0, 64, 8)])
        assert same(np.concatenate(parts), VALUES[:, ::-1])
        await array.write_async(np.s_[3], -1)
        assert (await array.read_async((3, 3))) == -1

    asyncio.run(main())


def test_the_event_loop_keeps_running(tmp_path: pathlib.Path) -> None:
    a = slow_array(tmp_path / "slow", seconds=0.5)

    async def main() -> int:
        future = a.read_async(np.s_[::64])
        ticks = 0
        while not future.done():
            await asyncio.sleep(0.005)
            ticks += 1
        await future
        return ticks

    assert asyncio.run(main()) > 10


def test_concurrent_futures(array: penstock.Array) -> None:
    futures = [array.read_async(i) for i in range(64)]
    done, pending = concurrent.futures.wait(futures, timeout=60)
    assert len(done) == 64 and not pending
    assert all(isinstance(f, concurrent.futures.Future) for f in futures)
    assert same(np.stack([f.result() for f in futures]), VALUES)
    seen: list[object] = []
    futures[0].add_done_callback(seen.append)
    assert seen == [futures[0]]


def test_errors_come_from_the_future(tmp_path: pathlib.Path, array: penstock.Array) -> None:
    (tmp_path / "a/c/0/0").write_bytes(b"junk")
    future = array.read_async(...)
    with pytest.raises(penstock.CorruptDataError, match="c/0/0"):
        future.result(60)

    async def main() -> None:
        with pytest.raises(penstock.CorruptDataError):
            await array.read_async(0)

    asyncio.run(main())
    with pytest.raises(IndexError):
        array.read_async(64)


def test_cancel(tmp_path: pathlib.Path) -> None:
    a = slow_array(tmp_path / "slow", seconds=20)
    began = time.monotonic()
    running = [a.read_async(np.s_[::64]) for _ in range(4)]
    waiting = a.read_async(np.s_[::64])
    while not all(f.running() for f in running):
        time.sleep(0.01)
    assert waiting.cancel() and waiting.cancelled()
    for future in running:
        future.cancel()
    for future in running:
        with pytest.raises(penstock.CancelledError):
            future.result(10)
    assert time.monotonic() - began < 10


def test_cancelling_a_task_stops_the_read(tmp_path: pathlib.Path) -> None:
    a = slow_array(tmp_path / "slow", seconds=20)
    futures: list[penstock.Future[object]] = []

    async def work() -> None:
        futures.append(a.read_async(np.s_[::64]))
        await futures[0]

    async def main() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert isinstance(futures[0].exception(10), penstock.CancelledError)


def test_everything_may_be_dropped_meanwhile(tmp_path: pathlib.Path) -> None:
    a = slow_array(tmp_path / "slow", seconds=0.5)
    out = np.zeros((a.shape[0] // 64, a.shape[1]), a.dtype)
    alive = weakref.ref(out)
    future = a.read_async(np.s_[::64], out=out)
    a.read_async(np.s_[::64])
    del a, out
    gc.collect()
    if not future.done():
        assert alive() is not None
    assert future.result(60).any()
    del future
    deadline = time.monotonic() + 10
    while alive() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert alive() is None


def test_an_array_in_use_cannot_be_resized(tmp_path: pathlib.Path) -> None:
    a = slow_array(tmp_path / "slow", seconds=1)
    shape = (a.shape[0] // 64, a.shape[1])
    out = np.zeros(shape, a.dtype)
    future = a.read_async(np.s_[::64], out=out)
    assert not future.done()
    with pytest.raises(ValueError, match="resize"):
        out.resize((1, 1), refcheck=False)
    buffer = bytearray(int(np.prod(shape)))
    second = a.read_async(np.s_[::64], out=np.frombuffer(buffer, a.dtype).reshape(shape))
    with pytest.raises(BufferError):
        buffer.clear()
    future.result(60)
    second.result(60)


def test_the_stored_array_may_be_resized_and_removed_meanwhile(tmp_path: pathlib.Path) -> None:
    import shutil

    a = slow_array(tmp_path / "slow", seconds=1)
    future = a.read_async(np.s_[::64])
    a.resize((a.shape[0] // 2, a.shape[1]))
    second = a.read_async(np.s_[::64])
    shutil.rmtree(tmp_path / "slow")
    for pending in (future, second):
        try:
            assert pending.result(60).ndim == 2
        except (FileNotFoundError, penstock.CorruptDataError, IndexError):  # also: begun when it was smaller already
            pass
    assert second.done() and future.done()


def test_threads_share_an_array(array: penstock.Array) -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            rng = np.random.default_rng(seed)
            for _ in range(50):
                i, j = rng.integers(0, 60, 2)
                assert same(array[i : i + 4, j], VALUES[i : i + 4, j])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_the_gil_is_released(tmp_path: pathlib.Path) -> None:
    a = slow_array(tmp_path / "slow", seconds=1)
    ticks = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not stop.is_set():
            time.sleep(0.005)
            ticks += 1

    counter = threading.Thread(target=count)
    counter.start()
    began = time.monotonic()
    a.read(np.s_[::64])
    took = time.monotonic() - began
    stop.set()
    counter.join()
    assert took > 0.1 and ticks > took * 20
