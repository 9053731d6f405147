"""The Python program of README.md runs, and does what its comments say."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import penstock

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from readme_block import block  # noqa: E402


def test_python_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "tests/golden/stores/image.ome.zarr", tmp_path / "image.ome.zarr")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(block("python"), "README.md", "exec"), names)
    whole = zarr.open_array("image.ome.zarr/0", mode="r")[...]
    np.testing.assert_array_equal(names["x"], whole[2:6, ::2, -1])
    np.testing.assert_array_equal(names["y"], whole[:4])
    np.testing.assert_array_equal(zarr.open_array("part.zarr", mode="r")[...], whole[:4])
    assert "decode" in capsys.readouterr().out
    assert penstock.__version__
