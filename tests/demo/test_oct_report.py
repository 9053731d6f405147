"""The page of `penstock oct report`, looked at in a browser: pictures, charts and tables of a run, and nothing from elsewhere."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = pathlib.Path(os.environ.get("PENSTOCK", ROOT / "build/release/bin/penstock"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser  # noqa: E402

BROWSER = browser.find()
HOW = ["--axial-resolution-um", "10", "--slicing-interval-mm", "0.24", "--depth-um", "520"]


def penstock(*words: str | pathlib.Path, cwd: pathlib.Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    environment["PENSTOCK_CONFIG"] = ""
    return subprocess.run(
        [PENSTOCK, "oct", *words], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    at = tmp_path_factory.mktemp("report")
    assert penstock("simulate", "subject", "--seed", "7", cwd=at).returncode == 0
    raw = at / "subject/raw"
    made = penstock("reconstruct", raw, "out", *HOW, "--shifts", raw / "shifts_xy.csv", "--report", cwd=at)
    assert made.returncode == 0, made.stderr
    return at


def test_it_stands_alone(folder: pathlib.Path) -> None:
    text = (folder / "out/report.html").read_text()
    assert re.findall(r'(?:src|href)="(?!data:)', text) == []
    assert not re.search(r"<script|@import|url\(|http-equiv", text)


def test_reconstruct_and_the_command_write_the_same(folder: pathlib.Path) -> None:
    again = penstock("report", "out", "-o", "again.html", cwd=folder)
    assert again.returncode == 0, again.stderr
    assert (folder / "again.html").read_text() == (folder / "out/report.html").read_text()
    there = penstock("report", "out", cwd=folder)
    assert there.returncode == 73 and "out/report.html: already exists" in there.stderr
    assert penstock("report", "out", "--force", cwd=folder).returncode == 0


def test_a_run_that_has_made_nothing_yet_is_told(folder: pathlib.Path) -> None:
    (folder / "empty").mkdir()
    done = penstock("report", "empty", cwd=folder)
    assert done.returncode == 66 and "empty: no slice and no volume" in done.stderr
    assert list((folder / "empty").iterdir()) == []


if BROWSER is not None:

    def test_the_page_in_a_browser(folder: pathlib.Path) -> None:
        (folder / "page").mkdir()
        text = (folder / "out/report.html").read_text()
        (folder / "page/report.html").write_text(text)
        seen = browser.look(BROWSER, folder / "page", "report.html")
        assert seen.console == []
        assert set(seen.requests) <= {"/look", "/report.html"}
        assert seen.page["title"] == "Reconstruction of out"
        for word in ("Volume", "Slices and seams", "Interface", "Overlaps", "Drift", "Warnings"):
            assert word in seen.page["text"]
        images = seen.page["images"]
        assert len(images) == 2 + 4 and all(image["complete"] and image["width"] > 50 for image in images)
        assert [image["alt"] for image in images[2:]] == [f"AIP of slice {k}" for k in range(4)]
        tables = {table[0][0]: table for table in seen.page["tables"]}
        seams, overlaps = tables["slice"], tables["slices"]
        assert [row[0] for row in seams[1:]] == ["0", "1", "2", "3"]
        assert all(float(row[4]) < 3 for row in seams[1:])
        assert [row[0] for row in overlaps[1:]] == ["0 and 1", "1 and 2", "2 and 3"]
        assert all(abs(float(row[1]) - float(row[2])) <= 1 for row in overlaps[1:])  # found where the interval says

        # The screenshot shows the volume, not a black square, and the colours of lines below it.
        left, top, right, bottom = (round(edge) for edge in images[0]["box"])
        assert np.asarray(seen.screenshot.crop((left, top, right, bottom)).convert("L")).std() > 20
        colours = {value: count for count, value in seen.screenshot.getcolors(1 << 24)}
        assert colours.get((0x00, 0x72, 0xB2), 0) > 100
        assert text.count("<svg") == 5
