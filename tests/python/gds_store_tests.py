"""zarr-python's own tests of a store, for GDSStore on host memory; run by test_kvikio.py."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import pytest
from zarr.core.buffer.cpu import Buffer
from zarr.testing.store import StoreTests

from penstock._gds_store import GDSStore


class TestGDSStore(StoreTests[GDSStore, Buffer]):
    store_cls = GDSStore
    buffer_cls = Buffer

    async def get(self, store: GDSStore, key: str) -> Buffer:
        return self.buffer_cls.from_bytes((store.root / key).read_bytes())

    async def set(self, store: GDSStore, key: str, value: Buffer) -> None:
        (store.root / key).parent.mkdir(parents=True, exist_ok=True)
        (store.root / key).write_bytes(value.to_bytes())

    @pytest.fixture
    def store_kwargs(self, tmp_path: pathlib.Path) -> dict[str, Any]:
        return {"root": str(tmp_path)}

    def test_store_repr(self, store: GDSStore) -> None:
        assert repr(store) == f"GDSStore('file://{store.root.as_posix()}')"

    def test_store_supports_writes(self, store: GDSStore) -> None:
        assert store.supports_writes

    def test_store_supports_listing(self, store: GDSStore) -> None:
        assert store.supports_listing

    async def test_tasks_that_come_first_at_once_all_find_it_open(self, tmp_path: pathlib.Path) -> None:
        store = GDSStore(tmp_path / "new")
        await asyncio.gather(*(store.set(f"k{i}", Buffer.from_bytes(b"v")) for i in range(8)))
        other = GDSStore(tmp_path / "new")
        got = await asyncio.gather(*(other.get(f"k{i}") for i in range(8)))
        assert [value is not None and value.to_bytes() for value in got] == [b"v"] * 8
