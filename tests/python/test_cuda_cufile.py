"""CuFile and GDSStore with CUDA memory.  Part of a run only where there are a GPU and CuPy."""

from __future__ import annotations

import pathlib
import threading
from typing import Any

import cupy
import numpy as np
import pytest
import zarr

import penstock
from penstock import CuFile, defaults

VALUES = np.random.default_rng(1).integers(0, 256, 50_000_001, np.uint8)
DEVICES = [device.name for device in penstock.devices() if device.name.startswith("cuda")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("cufile") / "a"
    VALUES.tofile(made)
    return made


def on_device(values: np.ndarray[Any, Any], device: str = "cuda") -> Any:
    return penstock.asarray(values).to(device)


@pytest.mark.parametrize("engine", ["auto", "buffered", "direct"])
@pytest.mark.parametrize(("offset", "count"), [(0, 1), (0, 4096), (7, 100), (4095, 20_000_003), (1 << 20, 16 << 20)])
@pytest.mark.parametrize("task_size", [None, 4096, 1_000_001])
def test_reads_and_writes(
    path: pathlib.Path, tmp_path: pathlib.Path, engine: Any, offset: int, count: int, task_size: int | None
) -> None:
    if task_size == 4096 and count > 1 << 20:
        count = 1 << 20
    with CuFile(path, reads=engine) as f:
        if not f.engines()["direct"][0] and engine == "direct":
            assert f.engines()["direct"][1]  # says why
            return
        to = on_device(np.zeros(count + 3, np.uint8))
        future = f.pread(to, size=count, file_offset=offset, task_size=task_size)
        assert future.get() == count
        assert "cuda" in future.report.stages[0].path
    got = to.numpy()
    np.testing.assert_array_equal(got[:count], VALUES[offset : offset + count])
    assert not got[count:].any()
    with CuFile(tmp_path / "b", "w", writes=engine) as f:
        assert f.write(to, size=count, file_offset=offset, task_size=task_size) == count
    np.testing.assert_array_equal(np.fromfile(tmp_path / "b", np.uint8)[offset:], VALUES[offset : offset + count])


@pytest.mark.parametrize("threads", [1, 3, 16])
def test_thread_counts(path: pathlib.Path, threads: int) -> None:
    with defaults.set("num_threads", threads), CuFile(path) as f:
        to = on_device(np.zeros(VALUES.size, np.uint8))
        assert f.read(to) == VALUES.size
    np.testing.assert_array_equal(to.numpy(), VALUES)


def test_raw_calls_and_bounds(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    to = on_device(np.zeros(1000, np.uint8))
    with CuFile(path) as f:
        assert f.raw_read(to, dev_offset=900) == 100
        np.testing.assert_array_equal(to.numpy(), np.r_[np.zeros(900, np.uint8), VALUES[:100]])
        for size, begin in [(1001, 0), (101, 900), (None, 1001)]:
            with pytest.raises(ValueError, match="more than the buffer"):
                f.raw_read(to, size, dev_offset=begin)
        with pytest.raises(OSError, match="ends at byte"):
            f.raw_read(to, file_offset=VALUES.size - 10)
    with CuFile(tmp_path / "b", "w") as f:
        assert f.raw_write(to, size=50, dev_offset=900) == 50
    np.testing.assert_array_equal(np.fromfile(tmp_path / "b", np.uint8), VALUES[:50])


def test_thousands_of_small_requests(path: pathlib.Path) -> None:
    each, n = 4096, 5000
    to = on_device(np.zeros(n * each, np.uint8))
    offsets = np.random.default_rng(2).integers(0, VALUES.size - each, n)
    with CuFile(path) as f:
        futures = [f.pread(to[i * each : (i + 1) * each], file_offset=int(o)) for i, o in enumerate(offsets)]
        assert all(future.get() == each for future in futures)
    want = np.concatenate([VALUES[o : o + each] for o in offsets])
    np.testing.assert_array_equal(to.numpy(), want)


def test_usual_memory_is_taken_as_it_is(path: pathlib.Path) -> None:
    """Without a closer look in Python, which takes longer than a small request."""
    with CuFile(path) as f:
        for _ in range(2):  # each kind after the other one
            for memory in (cupy.zeros(9000, np.uint8)[500:], on_device(np.zeros(8500, np.uint8)), np.zeros(8500, "u1")):
                future = f._plain(True, memory, None, 77, 0, 0)
                assert future is not None and future.get() == 8500
                got = memory.numpy() if hasattr(memory, "numpy") else cupy.asnumpy(memory)
                np.testing.assert_array_equal(got, VALUES[77 : 77 + 8500])


def test_many_parts_in_one_request(path: pathlib.Path) -> None:
    offsets = np.random.default_rng(0).integers(0, VALUES.size - 70_000, 300)
    sizes = np.random.default_rng(1).integers(0, 70_000, 300)
    want = np.concatenate([VALUES[o : o + n] for o, n in zip(offsets, sizes, strict=True)])
    for reads in ("buffered", "auto"):
        with penstock.CuFile(path, reads=reads) as f:
            got = cupy.zeros(want.size, cupy.uint8)
            assert f.pread_many(got, sizes, offsets).get() == want.size
            assert (got == cupy.asarray(want)).all()


def test_neighbours_that_are_memory_of_their_own(path: pathlib.Path) -> None:
    each = 2 << 20  # CuPy's pool takes so much from the driver by itself: no copy may span two of them
    parts = [cupy.zeros(each, cupy.uint8) for _ in range(16)]
    with penstock.CuFile(path, reads="buffered") as f:
        for future in [f.pread(part, file_offset=1000 * i) for i, part in enumerate(parts)]:
            assert future.get() == each
    for i, part in enumerate(parts):
        assert (part == cupy.asarray(VALUES[1000 * i : 1000 * i + each])).all()


def test_memory_that_nobody_has_any_more(path: pathlib.Path) -> None:
    with CuFile(path) as f:
        for _ in range(50):
            f.pread(on_device(np.zeros(4 << 20, np.uint8)))
        to = on_device(np.zeros(VALUES.size, np.uint8))
        f.read(to)
    np.testing.assert_array_equal(to.numpy(), VALUES)


def test_every_device(path: pathlib.Path) -> None:
    with CuFile(path) as f:
        buffers = [on_device(np.zeros(VALUES.size, np.uint8), device) for device in DEVICES]
        for future in [f.pread(buffer) for buffer in buffers]:
            assert future.get() == VALUES.size
    for buffer in buffers:
        np.testing.assert_array_equal(buffer.numpy(), VALUES)


def test_in_the_order_of_a_stream(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with CuFile(tmp_path / "b", "w+") as out, CuFile(path) as f:
        for _ in range(20):
            with stream:
                to = cupy.zeros(1 << 20, cupy.uint8)
                read = f.raw_read_async(to, stream.ptr)
                to += 1
                written = out.raw_write_async(to, stream)
                to.fill(0)
            assert read.check_bytes_done() == written.check_bytes_done() == 1 << 20
            want = VALUES[: 1 << 20] + np.uint8(1)
            np.testing.assert_array_equal(np.fromfile(tmp_path / "b", np.uint8), want)


def test_calls_in_a_stream_do_not_wait_for_it(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    stream, gate = cupy.cuda.Stream(non_blocking=True), threading.Event()
    to = cupy.zeros(40 << 20, cupy.uint8)  # several parts
    cupy.cuda.Device().synchronize()
    with CuFile(tmp_path / "b", "w+") as out, CuFile(path) as f:
        stream.launch_host_func(lambda _: gate.wait(20), None)
        requests = [f.raw_read_async(to, stream), out.raw_write_async(to, stream.ptr)]
        past = f.raw_read_async(to[:1000], stream, file_offset=VALUES.size)
        assert not any(request._future.done() for request in requests)
        gate.set()
        assert [request.check_bytes_done() for request in requests] == [to.size, to.size]
        with pytest.raises(OSError, match="ends at byte"):
            past.check_bytes_done()
        stream.synchronize()
    np.testing.assert_array_equal(to.get()[1000:], VALUES[1000 : to.size])
    np.testing.assert_array_equal(np.fromfile(tmp_path / "b", np.uint8), VALUES[: to.size])


def test_gds_store_gives_cuda_memory(tmp_path: pathlib.Path) -> None:
    from penstock._gds_store import GDSStore

    values = np.arange(100_000, dtype="u4").reshape(100, 1000)
    zarr.create_array(tmp_path / "a", data=values, chunks=(10, 1000), compressors=None)
    with zarr.config.enable_gpu():
        got = zarr.open_array(GDSStore(tmp_path), path="a", mode="r")[...]
    assert isinstance(got, cupy.ndarray)
    np.testing.assert_array_equal(got.get(), values)
