"""`penstock demo` on stores of every kind: checked with zarr-python and a validator, and looked at in a browser."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import zarr
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = pathlib.Path(os.environ.get("PENSTOCK", ROOT / "build/release/bin/penstock"))
sys.path[:0] = [str(ROOT / "tools"), str(pathlib.Path(__file__).parent)]
import browser  # noqa: E402
import demo_check  # noqa: E402
import demo_data  # noqa: E402

BROWSER = browser.find()


def demo(store: pathlib.Path, out: pathlib.Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    environment["PENSTOCK_CONFIG"] = ""
    return subprocess.run(
        [PENSTOCK, "demo", store, out, "--device", "cpu"], env=environment, capture_output=True, text=True, check=False
    )


def volume(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(1).random(shape) * 1000 + 100).astype(dtype)


def made_image(path: pathlib.Path) -> None:
    demo_data.write(path, (40, 300, 280), seed=1)


def plain_array(path: pathlib.Path) -> None:
    data = volume((9, 70, 50), "f4")
    zarr.create_array(str(path), shape=data.shape, dtype=data.dtype, chunks=(4, 32, 32))[...] = data


def zarr2_array(path: pathlib.Path) -> None:
    data = volume((9, 70, 50), ">i2")
    zarr.create_array(str(path), shape=data.shape, dtype=data.dtype, chunks=(4, 32, 32), zarr_format=2)[...] = data


def five_dimensions(path: pathlib.Path) -> None:
    data = volume((2, 3, 5, 40, 30), "u1")
    zarr.create_array(str(path), shape=data.shape, dtype=data.dtype, chunks=(1, 1, 4, 32, 32))[...] = data


def group_of_arrays(path: pathlib.Path) -> None:
    root = zarr.create_group(str(path))
    for name, shape in (("small", (3, 4, 5)), ("deep/large", (8, 40, 30)), ("flat", (900, 900))):
        root.create_array(name, shape=shape, dtype="u2")[...] = volume(shape, "u2")
    root.create_array("words", shape=(3, 4, 5), dtype="str")


def zipped_array(path: pathlib.Path) -> None:
    data = volume((9, 70, 50), "u2")
    with zarr.storage.ZipStore(str(path), mode="w") as store:
        zarr.create_array(store, shape=data.shape, dtype=data.dtype, chunks=(4, 32, 32))[...] = data


@pytest.mark.parametrize("make", [made_image, plain_array, zarr2_array, five_dimensions, group_of_arrays, zipped_array])
def test_any_store(tmp_path: pathlib.Path, make: Any) -> None:
    store = tmp_path / ("in.zip" if make is zipped_array else "in.zarr")
    make(store)
    done = demo(store, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "every byte equals" in demo_check.check(str(store), tmp_path / "out")
    if make is group_of_arrays:
        assert f"source {store}/deep/large" in done.stdout


@pytest.mark.parametrize("shape", [(900, 900), (4,)])
def test_a_store_without_a_volume_is_refused(tmp_path: pathlib.Path, shape: tuple[int, ...]) -> None:
    root = zarr.create_group(str(tmp_path / "in.zarr"))
    root.create_array("flat", shape=shape, dtype="u2")
    for name in ("in.zarr", "in.zarr/flat"):
        done = demo(tmp_path / name, tmp_path / "out")
        assert done.returncode == 64 and name in done.stderr and "3 to 5" in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_wrong_result_is_found(tmp_path: pathlib.Path) -> None:
    plain_array(tmp_path / "in.zarr")
    assert demo(tmp_path / "in.zarr", tmp_path / "out").returncode == 0
    level = zarr.open_array(str(tmp_path / "out/pyramid.ome.zarr/0"))
    level[3, 4, 5] = -1
    with pytest.raises(demo_check.CheckFailed, match=r"\(3, 4, 5\) is -1"):
        demo_check.check(str(tmp_path / "in.zarr"), tmp_path / "out")


if BROWSER is not None:

    @pytest.fixture(scope="module")
    def out(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
        folder = tmp_path_factory.mktemp("demo")
        made_image(folder / "in & <b>.zarr")
        done = demo(folder / "in & <b>.zarr", folder / "out")
        assert done.returncode == 0, done.stderr
        return folder / "out"

    def test_the_page_in_a_browser(out: pathlib.Path) -> None:
        seen = browser.look(BROWSER, out, "report.html")
        assert seen.console == []
        assert set(seen.requests) >= {"/report.html", "/projection.png"}
        assert {path: status for path, status in seen.requests.items() if status >= 400} == {}
        assert seen.page["title"] == "penstock demo" and "in & <b>.zarr" in seen.page["text"]
        (image,) = seen.page["images"]
        assert image["complete"] and (image["width"], image["height"]) == (280, 300) and image["alt"]
        project, pyramid = seen.page["tables"]
        for table in (project, pyramid):
            assert table[0][:3] == ["stage", "path", "why"]
            assert {"fetch", "decode"} <= {row[0] for row in table[1:]}
            assert all(row[0] and row[1] for row in table[1:])
        assert "maximum" in {row[0] for row in project[1:]}

        # The screenshot shows the projection, dot for dot, and text below it.
        left, top, right, bottom = (round(edge) for edge in image["box"])
        shown = np.asarray(seen.screenshot.crop((left, top, right, bottom)))
        wanted = np.asarray(Image.open(out / "projection.png").convert("RGB"))
        np.testing.assert_array_equal(shown, wanted)
        assert wanted.std() > 5
        below = np.asarray(seen.screenshot.convert("L"))[bottom:]
        assert 0.005 < (below < 128).mean() < 0.5

    def test_a_broken_page_is_seen(out: pathlib.Path, tmp_path: pathlib.Path) -> None:
        page = (out / "report.html").read_text() + "<script>undefined_function()</script>"
        (tmp_path / "report.html").write_text(page)  # and no picture beside it
        seen = browser.look(BROWSER, tmp_path, "report.html")
        assert seen.requests["/projection.png"] == 404
        assert seen.page["images"][0]["width"] == 0
        assert any("undefined_function" in line for line in seen.console)
