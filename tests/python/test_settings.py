"""Defaults come from the environment and the configuration file, here as everywhere."""

from __future__ import annotations

import json
import pathlib
import pickle
import re

import numpy as np
import pytest

import penstock


@pytest.fixture
def array(tmp_path: pathlib.Path) -> penstock.Array:
    made = penstock.create(tmp_path / "a", shape=(8, 8), dtype="u2", chunks=(4, 4))
    made[...] = np.arange(64, dtype="u2").reshape(8, 8)
    return made


def test_a_size_without_a_whole_unit_is_refused_from_everywhere(
    array: penstock.Array, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="'4M' is not a size"):
        array.read(..., budget="4M")
    monkeypatch.setenv("PENSTOCK_BUDGET", "4M")
    with pytest.raises(ValueError, match="PENSTOCK_BUDGET: '4M' is not a size"):
        array[...]
    monkeypatch.delenv("PENSTOCK_BUDGET")
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"budget": "4M"}))
    monkeypatch.setenv("PENSTOCK_CONFIG", str(config))
    with pytest.raises(ValueError, match=re.escape(f"{config}: budget: '4M' is not a size")):
        array[...]


def test_an_argument_goes_before_the_environment_and_that_before_the_file(
    array: penstock.Array, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"budget": 8}))  # 8 bytes hold no chunk
    monkeypatch.setenv("PENSTOCK_CONFIG", str(config))
    with pytest.raises(penstock.BudgetError, match="8 B"):
        array[...]
    monkeypatch.setenv("PENSTOCK_BUDGET", "9")
    with pytest.raises(penstock.BudgetError, match="9 B"):
        array[...]
    assert array.read(..., budget="1MiB").shape == (8, 8)


def test_a_configuration_that_is_named_must_be_there(
    array: penstock.Array, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CONFIG", str(tmp_path / "none.json"))
    with pytest.raises(FileNotFoundError, match="none.json"):
        array[...]


def test_how_a_store_is_opened_is_said_by_words(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    for durable in ("none", "metadata", "all"):
        opened = penstock.open(tmp_path / "a", "r+", durable=durable)
        opened[0, 0] = 7
        assert opened._core.store.options[:2] == (durable, "follow")
        assert pickle.loads(pickle.dumps(opened))._core.store.options[:2] == (durable, "follow")
    made = penstock.create(tmp_path / "b", shape=(4,), dtype="u2", durable="all")
    assert made._core.store.options[0] == "all"
    assert penstock.copy(array, tmp_path / "c", durable="metadata")._core.store.options[0] == "metadata"
    with pytest.raises(ValueError, match="durable: 'always' is none of none, metadata, all"):
        penstock.open(tmp_path / "a", durable="always")
    with pytest.raises(ValueError, match="links: 'never' is none of follow, inside"):
        penstock.open(tmp_path / "a", links="never")


def test_links_that_lead_out_are_refused_on_demand(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    group = penstock.create_group(tmp_path / "g")
    (tmp_path / "g" / "linked").symlink_to(tmp_path / "a")
    assert penstock.open(tmp_path / "g")["linked"].shape == (8, 8)
    inside = penstock.open(tmp_path / "g", links="inside")
    with pytest.raises(PermissionError, match="a symbolic link leads out of the store"):
        inside["linked"]
    with pytest.raises(PermissionError, match="a symbolic link leads out of the store"):
        penstock.open(tmp_path / "g" / "linked", links="inside")
    assert group.path == ""
