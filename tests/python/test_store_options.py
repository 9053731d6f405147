"""Options of stores, and that no message holds a secret."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock


def test_options_that_the_store_does_not_have_are_refused(tmp_path: pathlib.Path) -> None:
    url = tmp_path / "a.zarr"
    penstock.create(url, shape=(4,), dtype="u1")[...] = np.arange(4)
    assert penstock.open(url, options={})[...].tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="has no option 'region'") as raised:
        penstock.open(url, options={"region": "a-secret"})
    assert "a-secret" not in str(raised.value) + "".join(raised.value.__notes__)


def test_whatever_opens_a_store_tells_it_the_options(tmp_path: pathlib.Path) -> None:
    array = penstock.create(tmp_path / "a.zarr", shape=(4, 4), dtype="u1", options={})
    group = penstock.create_group(tmp_path / "g.zarr", options={})
    told = {"region": "a-secret"}
    calls: list[Callable[[], Any]] = [
        lambda: penstock.create(tmp_path / "b", shape=(4,), dtype="u1", options=told),
        lambda: penstock.create_group(tmp_path / "b", options=told),
        lambda: penstock.copy(array, tmp_path / "b", options=told),
        lambda: penstock.write_pyramid(array, tmp_path / "b", options=told),
        lambda: penstock.consolidate(group.url, options=told),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="has no option 'region'") as raised:
            call()
        assert "a-secret" not in str(raised.value)
        assert not (tmp_path / "b").exists()
    assert array._core.store.options[2] == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["region"], "options are a mapping of names to text, not list"),
        ({1: "x"}, "the name of an option is text, not int"),
        ({"region": 17}, "option 'region' is text, not int"),
    ],
)
def test_options_are_text(options: Any, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        penstock.open("memory://nothing", options=options)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "url",
    [
        "s3://user:hunter2@bucket/a.zarr",
        "https://host/a.zarr?X-Amz-Signature=hunter2",
        "https://host/a.zarr?sv=1&sig=hunter2",
        "memory://nothing?sig=hunter2",
        "file://user:hunter2@host/a.zarr",
    ],
)
def test_no_message_holds_a_secret_of_the_url(url: str) -> None:
    with pytest.raises((OSError, ValueError, penstock.UnsupportedError)) as raised:
        penstock.open(url)
    told = [str(raised.value), repr(raised.value), str(getattr(raised.value, "filename", ""))]
    told += getattr(raised.value, "__notes__", [])
    assert "hunter2" not in " ".join(told), told
