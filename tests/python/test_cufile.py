"""CuFile: KvikIO's face over host memory; what requests hold, refuse and tell."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import importlib.util
import io
import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import CuFile, defaults
from penstock._cufile import drop_file_page_cache, get_page_cache_info

VALUES = np.random.default_rng(1).integers(0, 256, 3_000_001, np.uint8)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    VALUES.tofile(tmp_path / "a")
    return tmp_path / "a"


@pytest.mark.parametrize("engine", ["auto", "buffered"])
@pytest.mark.parametrize("task_size", [None, 4096, 70_001])
def test_reads_and_writes(path: pathlib.Path, engine: Any, task_size: int | None) -> None:
    with CuFile(path, "r+", reads=engine, writes=engine) as f:
        got = np.empty(2_000_000, np.uint8)
        assert f.read(got, file_offset=999, task_size=task_size) == got.nbytes
        np.testing.assert_array_equal(got, VALUES[999 : 999 + got.size])
        fresh = VALUES[::-1].copy()
        assert f.write(fresh, size=1_234_567, file_offset=77, task_size=task_size) == 1_234_567
        assert f.fileno() > 2
        assert f.open_flags() & os.O_RDWR
    assert f.closed
    want = VALUES.copy()
    want[77 : 77 + 1_234_567] = fresh[:1_234_567]
    np.testing.assert_array_equal(np.fromfile(path, np.uint8), want)


@pytest.mark.parametrize(
    "make",
    [
        lambda: bytearray(800),
        lambda: np.empty(100),
        lambda: np.empty((10, 10), order="F"),
        lambda: np.empty(100, "M8[ns]"),
        lambda: np.empty((10, 10), "M8[s]", order="F"),
        lambda: memoryview(bytearray(800)),
        lambda: penstock.asarray(np.empty(100)),
    ],
)
def test_every_kind_of_host_memory(path: pathlib.Path, make: Any) -> None:
    buf = make()
    with CuFile(path) as f:
        assert f.read(buf) == 800
    shown = np.asarray(buf)
    if shown.dtype != np.uint8:
        shown = np.frombuffer(shown.tobytes("A"), np.uint8)
    np.testing.assert_array_equal(shown, VALUES[:800])


def test_refused_memory(path: pathlib.Path) -> None:
    with CuFile(path) as f:
        with pytest.raises(ValueError, match=r"bytes"):
            f.pread(b"read-only")
        fixed = np.empty(10)
        fixed.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            f.pread(fixed)
        with pytest.raises(ValueError, match="contiguous"):
            f.pread(np.empty((10, 10))[:, ::2])
        with pytest.raises(TypeError, match="objects"):
            f.pread(np.empty(3, object))
        with pytest.raises(TypeError):
            f.pread(7)
        for size, offset in [(11, 0), (None, -1), (-1, 0)]:
            with pytest.raises(ValueError, match=r"more than the buffer|negative"):
                f.pread(bytearray(10), size, offset)
        for args, error, match in [
            ((None,), TypeError, "buf is None"),
            ((bytearray(10), "3"), TypeError, "size is a whole number, not str"),
            ((bytearray(10), 1.0), TypeError, "size is a whole number, not float"),
            ((bytearray(10), 1 << 64), ValueError, "size is 18446744073709551616"),
            ((bytearray(10), 10, 1.5), TypeError, "file_offset is a whole number, not float"),
            ((bytearray(10), 10, 1 << 70), ValueError, "file_offset is 1180591620717411303424"),
        ]:
            with pytest.raises(error, match=match):
                f.pread(*args)
        with pytest.raises(ValueError, match="Non-CUDA"):
            f.raw_read(bytearray(10))
        with pytest.raises(ValueError, match="Non-CUDA"):
            f.raw_read_async(bytearray(10), 0)


def test_end_of_file_is_all_or_an_error(path: pathlib.Path) -> None:
    with CuFile(path) as f:
        for offset in (VALUES.size - 9, VALUES.size, 10 * VALUES.size):
            with pytest.raises(OSError, match="the file ends at byte"):
                f.read(bytearray(10), file_offset=offset)
        assert f.read(bytearray(10), file_offset=VALUES.size - 10) == 10
        assert f.read(bytearray(0), file_offset=VALUES.size + 5) == 0


def test_wrong_modes_and_closed_files(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with CuFile(path) as f, pytest.raises(PermissionError, match="reading only"):
        f.write(b"x")
    with CuFile(path, "r+") as f:
        pass
    f.close()
    for call in (lambda: f.read(bytearray(1)), lambda: f.write(b"x"), f.fileno, f.open_flags, f.flush):
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(FileNotFoundError):
        CuFile(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        CuFile(tmp_path)
    with pytest.raises(ValueError, match="flags"):
        CuFile(path, "q")
    for flags in ("r", "w"):
        with pytest.raises(ValueError, match="zero byte"):
            CuFile(f"{path}\0x", flags)
    assert path.stat().st_size == VALUES.size
    with pytest.raises(TypeError, match="not float"):
        CuFile(1.5)  # type: ignore[arg-type]


def test_append_and_descriptors(path: pathlib.Path) -> None:
    with CuFile(path, "a") as f:
        f.write(b"tail")
    with open(path, "rb") as opened:
        for given in (opened, opened.fileno()):
            with CuFile(given) as f:
                buf = bytearray(4)
                f.read(buf, file_offset=VALUES.size)
                assert buf == b"tail"
        opened.read(1)  # still open
    with pytest.raises(ValueError, match="regular file"):
        CuFile(os.pipe()[0])


def test_a_request_holds_its_buffer_and_file(path: pathlib.Path) -> None:
    buf = bytearray(VALUES.size)
    future = CuFile(path).pread(buf)
    try:
        buf.clear()  # a bytearray that is in use cannot change its size
    except BufferError:
        pass
    else:
        assert future.done()
    if len(buf):
        assert future.get() == VALUES.size
        assert bytes(buf) == VALUES.tobytes()
        buf.clear()  # it is let go

    class Watched(np.ndarray):  # type: ignore[type-arg]
        pass

    array = np.empty(VALUES.size, np.uint8).view(Watched)
    gone = weakref.ref(array)
    future = CuFile(path).pread(array)
    del array
    assert future.get() == VALUES.size
    gc.collect()
    assert gone() is None
    for _ in range(100):  # futures and memory that nobody has
        CuFile(path).pread(np.empty(VALUES.size // 10, np.uint8))


def test_many_parts_in_one_request(path: pathlib.Path) -> None:
    offsets = np.random.default_rng(0).integers(0, VALUES.size - 1000, 500)
    sizes = np.random.default_rng(1).integers(0, 1000, 500)
    with CuFile(path) as f:
        buf = np.zeros(int(sizes.sum()), np.uint8)
        assert f.pread_many(buf, sizes, offsets).get() == buf.size
        want = np.concatenate([VALUES[o : o + n] for o, n in zip(offsets, sizes, strict=True)])
        np.testing.assert_array_equal(buf, want)
        spread = np.zeros(100 * 20, np.uint8)
        assert f.pread_many(spread, 10, list(range(100)), [20 * i for i in range(100)]).get() == 1000
        np.testing.assert_array_equal(spread.reshape(100, 20)[:, :10], [VALUES[i : i + 10] for i in range(100)])
        assert not spread.reshape(100, 20)[:, 10:].any()
        assert f.pread_many(buf, [], []).get() == 0
        for wrong in ((10, [0], [buf.size - 9]), (buf.size + 1, [0]), (-1, [0]), (1, [-1]), (1, [[0]])):
            with pytest.raises(ValueError, match=r"more than the buffer|negative|dimension"):
                f.pread_many(buf, *wrong)
        with pytest.raises(TypeError, match="whole numbers"):
            f.pread_many(buf, 1.5, [0])
        with pytest.raises(OSError, match="ends at byte"):
            f.pread_many(buf, 10, [0, VALUES.size - 9, 5]).get()


def test_futures_in_all_their_forms(path: pathlib.Path) -> None:
    with CuFile(path) as f:
        bufs = [np.empty(1000, np.uint8) for _ in range(3000)]
        futures = [f.pread(buf, file_offset=17 * i) for i, buf in enumerate(bufs)]
        called: list[int] = []
        for future in futures[:100]:
            future.add_done_callback(lambda done: called.append(done.result()))
        done, left = concurrent.futures.wait(futures, timeout=60)
        assert len(done) == 3000
        assert not left
        for future in concurrent.futures.as_completed(futures[:10]):
            assert future.result(timeout=60) == 1000
        assert all(future.get() == future.get() == 1000 and future.done() for future in futures)
        for i, buf in enumerate(bufs):
            np.testing.assert_array_equal(buf, VALUES[17 * i : 17 * i + 1000])
        penstock._core.wait_for_io()
        assert called == [1000] * 100

        async def many() -> list[int]:
            return await asyncio.gather(*(f.pread(buf) for buf in bufs[:500]))

        assert asyncio.run(many()) == [1000] * 500

        async def failing() -> None:
            await f.pread(bytearray(10), file_offset=VALUES.size)

        with pytest.raises(OSError, match="ends at byte"):
            asyncio.run(failing())
        failed = f.pread(bytearray(10), file_offset=VALUES.size)
        assert isinstance(failed.exception(), OSError)
        assert not failed.cancel()
        report = futures[0].report
        assert "buffered" in report.stages[0].path
        assert report.stages[0].reason
        text = str(report)  # a file has no chunks, and its requests no budget
        assert "request, 1000 B stored" in text
        assert "chunk" not in text
        assert "budget" not in text


def test_a_child_of_a_fork_is_told(path: pathlib.Path) -> None:
    with CuFile(path) as f:
        f.read(np.empty(VALUES.size, np.uint8))
        context = multiprocessing.get_context("fork")
        tell, told = context.Pipe()

        def child() -> None:
            try:
                f.read(bytearray(10))
            except RuntimeError as error:
                told.send(str(error))

        process = context.Process(target=child)
        process.start()
        assert tell.poll(30)
        assert "forked" in tell.recv()
        process.join(30)


def test_writes_are_done_when_the_program_ends(tmp_path: pathlib.Path) -> None:
    program = (
        "import sys, numpy, penstock\n"
        "f = penstock.CuFile(sys.argv[1], 'w')\n"
        "for i in range(64): f.pwrite(numpy.full(1 << 18, i, 'u1'), file_offset=i << 18)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a")], check=True, timeout=60)
    written = np.fromfile(tmp_path / "a", np.uint8)
    assert (written.reshape(64, 1 << 18) == np.arange(64, dtype=np.uint8)[:, None]).all()


def test_page_cache_and_engines(path: pathlib.Path) -> None:
    cached, pages = get_page_cache_info(path)
    assert pages == -(-VALUES.size // os.sysconf("SC_PAGESIZE"))
    assert 0 <= cached <= pages
    assert get_page_cache_info(path, 10 * VALUES.size) == (0, 0)
    with open(path, "rb") as opened:
        assert isinstance(opened, io.IOBase)
        assert get_page_cache_info(opened, 4096, 1)[1] == 1
    drop_file_page_cache(path)
    with CuFile(path) as f:
        assert f.engines()["buffered"][0]
        assert f.is_direct_io_supported() == f.engines()["direct"][0]
        with defaults.set({"auto_direct_io_read": False, "auto_direct_io_write": False}):
            assert not f.is_direct_io_supported()


def fresh_defaults() -> Any:
    """The module as it is before the first request of a process."""
    spec = importlib.util.find_spec("penstock.defaults")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def meanwhile(module: Any, step: int | None, call: Callable[[], Any], other: Callable[[], Any]) -> bool:
    """Runs `call`, and after `step` (None: each) of its bytecodes in `module` lets another thread run `other`.

    Not where `call` holds the lock of those who change.  returns: whether `other` has run.
    """
    count, has_run = 0, False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count, has_run
        if frame.f_code.co_filename != module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and not module._lock.locked():
            if step in (None, count):
                thread = threading.Thread(target=other)
                thread.start()
                thread.join()
                has_run = True
            count += 1
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return has_run


def test_defaults_hold_beside_the_first_request_of_another_thread() -> None:
    """Wherever the request stands when they are set, it must not bring the old ones back."""
    step, found = 0, True
    while found:
        module, seen = fresh_defaults(), []
        found = meanwhile(
            module,
            step,
            lambda: seen.append(module._for_requests()),  # noqa: B023
            lambda: module.set({"num_threads": 7, "task_size": 5}),  # noqa: B023
        )
        if found:
            assert module._for_requests() == (7, 5), step
            assert seen[0] in {(0, 0), (7, 5)}
        step += 1
    assert step > 5


def test_defaults_change_together() -> None:
    """Who looks sees all that one call set, or nothing of it; and so when they are put back."""
    module, seen = fresh_defaults(), set()
    module._for_requests()

    def change() -> None:
        with module.set({"num_threads": 7, "task_size": 5}):
            pass

    assert meanwhile(module, None, change, lambda: seen.add(module._for_requests()))
    assert seen == {(0, 0), (7, 5)}


def test_defaults_are_put_back_and_checked() -> None:
    before = {name: defaults.get(name) for name in defaults._ROWS}
    assert len(before) == 10
    with defaults.set({"num_threads": 3, "task_size": 5}):
        assert (defaults.get_num_threads(), defaults.task_size()) == (3, 5)
        with pytest.raises(ValueError, match="positive integer"):
            defaults.set({"task_size": 7, "num_threads": 0})
        assert defaults.task_size() == 5
    defaults.compat_mode_reset(penstock.defaults.CompatMode.ON)
    assert defaults.compat_mode() == 1
    defaults.compat_mode_reset(before["compat_mode"])
    defaults.reset_num_threads(9)
    assert defaults.get("num_threads") == 9
    defaults.reset_num_threads(before["num_threads"])
    assert {name: defaults.get(name) for name in defaults._ROWS} == before
    for name, value, error in [
        ("nothing", 1, KeyError),
        ("num_threads", -1, OverflowError),
        ("num_threads", 2.5, TypeError),
        ("auto_direct_io_read", 1, TypeError),
        ("compat_mode", 7, ValueError),
    ]:
        with pytest.raises(error):
            defaults.set(name, value)


@pytest.mark.parametrize(
    ("variable", "text", "answer"),
    [
        ("KVIKIO_TASK_SIZE", "4M", "ValueError: KVIKIO_TASK_SIZE='4M'"),
        ("KVIKIO_TASK_SIZE", "4MiB", "4194304"),
        ("KVIKIO_TASK_SIZE", "4294967296", "4294967296"),
        ("KVIKIO_TASK_SIZE", "4e6", "ValueError: KVIKIO_TASK_SIZE='4e6'"),
        (
            "KVIKIO_TASK_SIZE",
            "0",
            "ValueError: KVIKIO_TASK_SIZE='0', for task_size: a positive integer is needed, not 0",
        ),
        ("KVIKIO_NTHREADS", "8 ", "8"),
        ("KVIKIO_NTHREADS", "-1", "ValueError: KVIKIO_NTHREADS='-1', for num_threads: a whole number is needed"),
        ("KVIKIO_COMPAT_MODE", "maybe", "ValueError: KVIKIO_COMPAT_MODE='maybe', for compat_mode: on, off or auto is"),
        ("KVIKIO_HTTP_STATUS_CODES", "429, 500", "[429, 500]"),
        ("KVIKIO_HTTP_STATUS_CODES", "429 500", "numbers with commas between them are needed"),
        ("KVIKIO_HTTP_STATUS_CODES", "99", "for http_status_codes: an HTTP status code is from 100 to 599"),
    ],
)
def test_the_environment_is_read_strictly(variable: str, text: str, answer: str) -> None:
    name = {"KVIKIO_NTHREADS": "num_threads"}.get(variable, variable.removeprefix("KVIKIO_").lower())
    program = f"import penstock; print(penstock.defaults.get({name!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, variable: text}, capture_output=True, text=True, timeout=60
    )
    assert answer in (done.stdout if done.returncode == 0 else done.stderr)


def test_one_setting_under_two_names_must_agree() -> None:
    env = {**os.environ, "KVIKIO_NTHREADS": "2", "KVIKIO_NUM_THREADS": "3"}
    program = "import penstock; penstock.defaults.get('num_threads')"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
    assert "must not differ" in done.stderr
