"""The pictures of README.md and docs/benchmarks.md, looked at in a browser."""

from __future__ import annotations

import pathlib
import shutil

import browser
import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
BROWSER = browser.find()
BAR = (0x4A, 0x7D, 0xAB)


if BROWSER is not None:

    @pytest.mark.parametrize(
        ("name", "colour"), [("benchmarks.svg", BAR), ("journey.svg", BAR), ("projection.png", None)]
    )
    def test_a_browser_shows_it(tmp_path: pathlib.Path, name: str, colour: tuple[int, int, int] | None) -> None:
        shutil.copy(DOCS / name, tmp_path)
        (tmp_path / "page.html").write_text(f'<!doctype html><title>t</title><img src="{name}" width="800" alt="it">')
        seen = browser.look(BROWSER, tmp_path, "page.html")
        image = seen.page["images"][0]
        assert (
            image["complete"] and image["width"] >= 300 and image["height"] >= 50
        )  # 300: a drawing without a size of its own
        colours = {value: count for count, value in seen.screenshot.getcolors(1 << 24)}
        if colour is not None:
            assert colours.get(colour, 0) > 100
        else:
            assert len(colours) > 100  # shades of nuclei, not a flat square
