"""zarr-python's own tests of a store, for PenstockStore on a directory, in memory and in S3; run by test_cloud_store.py."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from servers import s3_options, serving
from zarr.core.buffer.cpu import Buffer
from zarr.testing.store import StoreTests

from penstock import _core
from penstock.zarr import PenstockStore

_numbers = itertools.count()


class Common(StoreTests[PenstockStore, Buffer]):
    store_cls = PenstockStore
    buffer_cls = Buffer

    # Past the class that is tested: through a native store of its own.
    async def get(self, store: PenstockStore, key: str) -> Buffer:
        [value] = _core.fetch(_core.Store.open(store._url, "a", options=store._options), [(key, "whole", 0, 0)])
        assert value is not None
        return self.buffer_cls.from_bytes(value)

    async def set(self, store: PenstockStore, key: str, value: Buffer) -> None:
        _core.Store.open(store._url, "a", options=store._options).set(key, value.to_bytes())

    def test_store_repr(self, store: PenstockStore) -> None:
        assert repr(store) == f"PenstockStore({str(store)!r})"
        assert "testsecret" not in repr(store)

    def test_store_supports_writes(self, store: PenstockStore) -> None:
        assert store.supports_writes

    def test_store_supports_listing(self, store: PenstockStore) -> None:
        assert store.supports_listing


class TestDirectory(Common):
    @pytest.fixture
    def store_kwargs(self, tmp_path: pathlib.Path) -> dict[str, Any]:
        return {"url": str(tmp_path)}


class TestMemory(Common):
    @pytest.fixture
    def store_kwargs(self) -> dict[str, Any]:
        url = f"memory://store{next(_numbers)}"
        _core.Store.open(url, "a")
        return {"url": url}


class TestS3(Common):
    @pytest.fixture(scope="class")
    def server(self) -> Iterator[str]:
        with serving("versitygw") as url:
            yield url

    @pytest.fixture
    def store_kwargs(self, server: str) -> dict[str, Any]:
        return {"url": f"s3://penstock/store{next(_numbers)}", "options": s3_options(server)}
