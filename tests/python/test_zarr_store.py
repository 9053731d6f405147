"""Stores of zarr-python as penstock's: many ranges at once, answered whenever the store does."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.abc.store import RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import cpu, default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import MemoryStore, WrapperStore

import penstock.zarr
from penstock import _core
from penstock._zarr_store import native_store

TEXT = b"0123456789"
OURS = {
    "codec_pipeline.path": f"{penstock.zarr.__name__}.CodecPipeline",
    "codec_pipeline.strict": True,
}


class Late(WrapperStore[MemoryStore]):
    """Answers after a while; keeps what it was asked, and how many waited together."""

    get_sync: Any = None  # what newer versions of zarr-python would ask instead

    def __init__(self, store: MemoryStore, delay_s: float = 0.0) -> None:
        super().__init__(store)
        self.delay_s = delay_s
        self.asked: list[tuple[str, Any]] = []
        self.batches: list[int] = []
        self.sizes: list[str] = []
        self.threads: set[int] = set()
        self.waiting = self.max_waiting = 0

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        self.asked.append((key, byte_range))
        self.threads.add(threading.get_ident())
        self.waiting += 1
        self.max_waiting = max(self.max_waiting, self.waiting)
        try:
            await asyncio.sleep(self.delay_s)
        finally:
            self.waiting -= 1
        return await self._store.get(key, prototype, byte_range)

    async def get_partial_values(self, prototype: Any, key_ranges: Any) -> Any:
        ranges = list(key_ranges)
        self.batches.append(len(ranges))
        return [await self.get(key, prototype, byte_range) for key, byte_range in ranges]

    async def getsize(self, key: str) -> int:
        self.sizes.append(key)
        buffer = await self._store.get(key, default_buffer_prototype())
        if buffer is None:
            raise FileNotFoundError(key)
        return len(buffer)


def late(delay_s: float = 0.0, **objects: bytes) -> Late:
    store = Late(MemoryStore(), delay_s)
    for key, value in objects.items():
        sync(store.set(key, cpu.Buffer.from_bytes(value)))
    return store


def fetch(store: Any, requests: list[tuple[str, str, int, int]]) -> list[bytes | None]:
    return _core.fetch(native_store(store, writable=False), requests)


def test_every_range() -> None:
    store = late(k=TEXT, empty=b"")
    cases: list[tuple[tuple[str, str, int, int], bytes | None]] = [
        (("k", "whole", 0, 0), TEXT),
        (("k", "span", 2, 3), b"234"),
        (("k", "span", 4, 0), b""),
        (("k", "from", 7, 0), b"789"),
        (("k", "last", 0, 4), b"6789"),
        (("k", "last", 0, 400), TEXT),
        (("k", "last", 0, 0), b""),
        (("empty", "whole", 0, 0), b""),
        (("absent", "whole", 0, 0), None),
        (("absent", "last", 0, 4), None),
        (("absent", "span", 0, 0), None),
    ]
    assert fetch(store, [case for case, _ in cases]) == [expected for _, expected in cases]
    assert ("k", SuffixByteRequest(4)) in store.asked
    for case, expected in cases:
        store.asked.clear()
        assert fetch(store, [case]) == [expected], case
        assert len(store.asked) == 1, "nobody asks for a size first"
        assert (store.asked[0][1] is None) == (case[1] == "whole" or (case[1] != "from" and case[3] == 0))
    assert store.sizes == []


def test_a_range_past_the_end_is_corrupt_data() -> None:
    with pytest.raises(ValueError, match="k: the store gave 2 bytes for 4 bytes from byte 8"):
        fetch(late(k=TEXT), [("k", "span", 8, 4)])
    with pytest.raises(ValueError, match="k: the object has 10 bytes, wanted"):
        fetch(late(k=TEXT), [("k", "span", 11, 0)])


def test_requests_wait_together_and_no_thread_for_each() -> None:
    store = late(0.05, **{f"k{i}": bytes([i]) for i in range(200)})
    begin = time.perf_counter()
    got = fetch(store, [(f"k{i}", "whole", 0, 0) for i in range(200)])
    took = time.perf_counter() - begin
    assert got == [bytes([i]) for i in range(200)]
    assert len(store.asked) == 200
    assert store.max_waiting == 64
    assert len(store.threads) == 1
    assert took < 3, "one after the other they take ten seconds"


def test_the_number_that_zarr_python_was_told_is_kept() -> None:
    store = late(0.01, **{f"k{i}": b"x" for i in range(20)})
    with zarr.config.set({"async.concurrency": 3}):
        fetch(store, [(f"k{i}", "whole", 0, 0) for i in range(20)])
    assert store.max_waiting == 3


def test_ranges_of_one_object_are_one_call() -> None:
    store = late(k=TEXT, m=TEXT)
    requests = [("k", "span", i, 1) for i in range(10)] + [("m", "last", 0, 2)]
    assert fetch(store, requests) == [TEXT[i : i + 1] for i in range(10)] + [b"89"]
    assert store.batches == [10]


def test_a_store_without_batches_is_asked_one_by_one() -> None:
    class Single(Late):
        async def get_partial_values(self, prototype: Any, key_ranges: Any) -> Any:
            raise NotImplementedError

    store = Single(MemoryStore(), 0.02)
    sync(store.set("k", cpu.Buffer.from_bytes(TEXT)))
    assert fetch(store, [("k", "span", i, 1) for i in range(10)]) == [TEXT[i : i + 1] for i in range(10)]
    assert store.asked == [("k", RangeByteRequest(i, i + 1)) for i in range(10)]
    assert store.max_waiting == 10


def test_an_error_names_the_key_and_holds_no_secret() -> None:
    class Broken(Late):
        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            if key == "bad":
                raise ConnectionError("https://user:secret@host/bad?X-Amz-Signature=secret is away")
            return await super().get(key, prototype, byte_range)

        def __str__(self) -> str:
            return "s3://key:secret@bucket"

    store = Broken(MemoryStore())
    sync(store.set("k", cpu.Buffer.from_bytes(TEXT)))
    assert fetch(store, [("k", "whole", 0, 0)]) == [TEXT]
    with pytest.raises(OSError, match="bad: the store could not read it: ConnectionError") as raised:
        fetch(store, [("k", "whole", 0, 0), ("bad", "whole", 0, 0)])
    assert "secret" not in str(raised.value)
    assert "secret" not in native_store(store, writable=False).url


def test_requests_that_nobody_will_answer_fail() -> None:
    class Forgetful:
        url, writable, in_flight = "toy://", False, 4

        def fetch(self, batch: Any) -> None:
            batch.answer([1], [b"x"])  # and drops it

    with pytest.raises(OSError, match="toy:///k: the event loop ended before the store answered"):
        _core.fetch(_core.python_store(Forgetful()), [("k", "whole", 0, 0), ("m", "whole", 0, 0)])


def test_what_cannot_be_asked_fails_all() -> None:
    class Closed:
        url, writable, in_flight = "toy://", False, 4

        def fetch(self, batch: Any) -> None:
            raise RuntimeError("the loop is closed")

    with pytest.raises(OSError, match="k: the store could not read it: RuntimeError: the loop is closed"):
        _core.fetch(_core.python_store(Closed()), [("k", "whole", 0, 0)])


def test_many_threads_at_once() -> None:
    store = native_store(late(0.001, k=TEXT), writable=False)
    wrong: list[Any] = []

    def ask() -> None:
        for i in range(30):
            got = _core.fetch(store, [("k", "span", i % 10, 1), ("absent", "whole", 0, 0), ("k", "last", 0, 3)])
            if got != [TEXT[i % 10 : i % 10 + 1], None, b"789"]:
                wrong.append(got)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_store_with_an_interface_that_waits_answers_in_the_thread_that_asks() -> None:
    class Direct(MemoryStore):
        asked_in: set[int] = set()

        def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
            self.asked_in.add(threading.get_ident())
            return sync(self.get(key, prototype or default_buffer_prototype(), byte_range))

    from penstock import _zarr_store

    store = Direct()
    sync(store.set("k", cpu.Buffer.from_bytes(TEXT)))
    source = _zarr_store._Source(store, writable=False)
    source._get_sync, source.in_flight = store.get_sync, 0
    requests = [("k", "last", 0, 4), ("absent", "whole", 0, 0), ("k", "span", 3, 0), ("k", "whole", 0, 0)]
    assert _core.fetch(_core.python_store(source), requests) == [b"6789", None, b"", TEXT]
    assert store.asked_in == {threading.get_ident()}


def sharded(values: np.ndarray[Any, Any]) -> MemoryStore:
    store = MemoryStore()
    array = zarr.create_array(store, shape=values.shape, dtype=values.dtype, chunks=(8, 32), shards=(64, 32))
    array[...] = values
    return store


def test_a_shard_that_is_replaced_between_its_requests_is_located_again() -> None:
    rng = np.random.default_rng(5)
    old, new = (rng.integers(0, most, (64, 32)).astype("u2") for most in (4, 4096))
    replacement = sync(sharded(new).get("c/0/0", default_buffer_prototype()))

    class Replaced(Late):
        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            if isinstance(byte_range, RangeByteRequest):  # the index is known
                await self._store.set("c/0/0", replacement)
            return await super().get(key, prototype, byte_range)

    store = Replaced(sharded(old))
    with zarr.config.set(OURS):
        got = zarr.open_array(store, mode="r+")[16:24]
    assert np.array_equal(got, new[16:24])
    assert [type(wanted).__name__ for key, wanted in store.asked if key == "c/0/0"] == [
        "SuffixByteRequest",
        "RangeByteRequest",
        "SuffixByteRequest",
        "RangeByteRequest",
    ]


def test_a_shard_of_which_all_is_wanted_is_one_request() -> None:
    values = np.arange(64 * 32, dtype="u2").reshape(64, 32)
    store = Late(sharded(values))
    with zarr.config.set(OURS):
        array = zarr.open_array(store, mode="r+")
        store.asked.clear()
        assert np.array_equal(array[...], values)
    assert store.asked == [("c/0/0", None)]
