"""zarr-python's own tests of a store, for GDSStore on host memory; run by test_kvikio.py."""

from __future__ import annotations

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
