"""The page of `penstock oct report`, looked at in a browser: pictures, charts and tables of a run, and nothing from elsewhere."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import zarr

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


def figures(text: str) -> list[tuple[int, float, float, str]]:
    """Of each picture its width on the page, the length of its bar there, and in mm, and its alternative text."""
    found = re.findall(
        r'<div class=picture style="width:\d+px;aspect-ratio:(\d+)/\d+"><img alt="([^"]*)".*?'
        r"<path class=bar [^>]*h([\d.]+)\".*?>([\d.]+) mm</text>",
        text,
    )
    return [(int(width), float(bar), float(mm), alt) for width, alt, bar, mm in found]


def test_pictures_say_how_large_and_how_bright_they_are(folder: pathlib.Path) -> None:
    text = (folder / "out/report.html").read_text()
    shown = figures(text)
    assert len(shown) == text.count("<img") == 2 + 4 + 4
    sizes = {
        f"AIP of slice {k}": zarr.open_array(folder / f"out/slice_z0{k}_stitch.ome.zarr/0").shape for k in range(4)
    }
    sizes["mean over depth of the volume"] = zarr.open_array(folder / "out/3d_volume.ome.zarr/0").shape
    for width, bar, mm, alt in shown:
        if alt in sizes:
            assert bar / width == pytest.approx(mm / (sizes[alt][2] * 0.01), rel=2e-3), alt
    # What is white is: the percentile of what the picture shows.
    volume = zarr.open_array(folder / "out/3d_volume.ome.zarr/0")[...]
    seen = volume.mean(axis=0)
    white = np.percentile(seen[seen > 0], 99.5)
    said = re.search(r"Mean over depth\. Grey: black [\d.e+-]+, white ([\d.e+-]+)\.", text)
    assert said and float(said[1]) == pytest.approx(white, rel=0.01)
    assert text.count("Grey of all of them: black ") == 2


def test_the_profile_says_where_slices_begin(folder: pathlib.Path) -> None:
    text = (folder / "out/report.html").read_text()
    table = text[text.index("begins at (mm)") : text.index("</table>", text.index("begins at (mm)"))]
    starts = re.findall(r"<tr><td class=n>(\d)</td><td class=n>([\d.]+)</td><td class=n>-?[\d.]+</td>", table)
    assert starts[0] == ("1", "0.24") and len(starts) == 3
    chart = next(part for part in text.split("<svg") if "A dashed line is where" in part)
    at = [float(x) for x in re.findall(r'<line class=mark x1="([\d.]+)"', chart)]
    assert len(at) == 4
    assert np.diff(at) == pytest.approx(np.diff(at)[0], abs=0.2)


@pytest.fixture(scope="module")
def spoilt(folder: pathlib.Path) -> pathlib.Path:
    """A run in which a tile of slice 1 came out brighter, slice 2 was cut four planes too deep, and the volume grows brighter."""
    out = folder / "spoilt"
    shutil.copytree(folder / "out", out)
    mosaic = zarr.open_array(out / "mosaic_grid_z01_illum.ome.zarr/0")
    mosaic[:, 64:128, 64:128] = mosaic[:, 64:128, 64:128] * 1.4
    names = [out / "mosaic_grid_z01_illum.ome.zarr", out / "slice_z01_stitch.ome.zarr"]
    again = penstock("stitch", *names, "--transform", out / "mosaic_grid_z01_transform.npy", "--force", cwd=folder)
    assert again.returncode == 0, again.stderr
    slice_2 = zarr.open_array(out / "slice_z02_common.ome.zarr/0")
    slice_2[...] = np.concatenate([slice_2[4:], slice_2[-4:]])
    volume = zarr.open_array(out / "3d_volume.ome.zarr/0")
    volume[24:] = volume[24:] * 1.1
    (out / "stack_metrics.json").write_text(json.dumps({"metrics": {}, "warnings": ["something <odd>"]}))
    return out


def test_what_went_wrong_is_said_first(folder: pathlib.Path, spoilt: pathlib.Path) -> None:
    done = penstock("report", spoilt, "-o", "spoilt.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = (folder / "spoilt.html").read_text()
    first = text[text.index('class="first') : text.index("<h2")]
    assert "first look" in first
    assert re.search(r"slice 1: worst seam [\d.]+, at most 2<", first)
    assert re.search(
        r"slices 1 and 2: overlap from where the slicing interval has it \d planes, at most 1 planes<", first
    )
    assert re.search(r"slice 1: step of the volume where it begins [\d.]+ %, at most 3 %<", first)
    assert "1 warning of the steps" in first and "something &lt;odd&gt;" in text
    assert "slice 0: worst seam" not in first and "slice 3: worst seam" not in first
    for line in re.findall(r'href="#[^"]*">([^<]*)<', first):
        assert "warning" in line or f"bad: {line}" in done.stdout
    drawn = text[text.index("AIP of slice 1") : text.index("AIP of slice 2")]
    assert drawn.count("class=mark") == 1 and "worst seam" in drawn
    whole = (folder / "out/report.html").read_text()
    assert "checks are good" in whole and "first look" not in whole and ">bad<" not in whole


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
        assert len(images) == 2 + 4 + 4 and all(image["complete"] and image["width"] > 50 for image in images)
        assert [image["alt"] for image in images[2:6]] == [f"AIP of slice {k}" for k in range(4)]
        tables = {table[0][1]: table for table in seen.page["tables"]}
        seams, overlaps = tables["rows"], tables["expected (planes)"]
        assert [row[0] for row in seams[1:]] == ["0", "1", "2", "3"]
        assert all(float(row[4]) <= 2 and row[5] == row[7] == "good" for row in seams[1:])
        assert [row[0] for row in overlaps[1:]] == ["0 and 1", "1 and 2", "2 and 3"]
        assert all(abs(float(row[1]) - float(row[3])) <= 1 and row[6] == "good" for row in overlaps[1:])

        # The screenshot shows the volume, not a black square, and the colours of lines below it.
        left, top, right, bottom = (round(edge) for edge in images[0]["box"])
        assert np.asarray(seen.screenshot.crop((left, top, right, bottom)).convert("L")).std() > 20
        colours = {value: count for count, value in seen.screenshot.getcolors(1 << 24)}
        assert colours.get((0x00, 0x72, 0xB2), 0) > 100
        assert text.count("<svg xmlns") == 5

    @pytest.mark.parametrize("width", [1366, 800, 400])
    def test_it_fits_into_windows(folder: pathlib.Path, width: int) -> None:
        (folder / "fits").mkdir(exist_ok=True)
        shutil.copy(folder / "out/report.html", folder / "fits/report.html")
        seen = browser.look(BROWSER, folder / "fits", "report.html", f"--window-size={width},768")
        assert seen.page["spill"] <= 0
        for left, _, right, _ in (image["box"] for image in seen.page["images"]):
            assert left >= 0 and right <= max(width, 500)  # the narrowest window that Chromium opens

    def test_it_is_printed(folder: pathlib.Path) -> None:
        pdf = browser.printed(BROWSER, folder / "out/report.html")
        pages = len(re.findall(rb"/Type */Page\b", pdf))
        assert 2 <= pages <= 6
        assert pdf.count(b"/Subtype /Image") >= 10
