"""TIFF images that others made and published: every value as GDAL reads it, or refused by name.

Run by hand, where Debian's archive can be reached (40 MB are downloaded, once, into the folder PENSTOCK_PUBLIC or a
temporary one; needs apt-get and dpkg-deb):

    python -m pytest tests/public/test_tiff.py

Landsat 7 and elevation of R's stars and terra, scikit-image's boards in both byte orders, photographs in LZW of Rust's tiff,
and the images of libtiff's own tests: old-style LZW, LZW without its end code, tiles in JPEG, chains of IFDs that loop.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import rasterio
import tifffile

import penstock

warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)

PACKAGES = ("r-cran-stars", "r-cran-terra", "python3-skimage", "librust-tiff-dev")
SOURCES = ("tiff",)
READ = 32  # of the images
REFUSED = {
    "logluv-3c-16b.tiff": "compression 34676",
    "lzw-single-strip.tiff": "samples of 1 bits",
    "miniswhite-1c-1b.tiff": "samples of 1 bits",
    "ojpeg_chewey_subsamp21_multi_strip.tiff": "old-style JPEG",
    "ojpeg_single_strip_no_rowsperstrip.tiff": "old-style JPEG",
    "ojpeg_zackthecat_subsamp22_single_strip.tiff": "old-style JPEG",
    "palette-1c-1b.tiff": "samples of 1 bits",
    "palette-1c-4b.tiff": "samples of 4 bits",
    "test_ifd_loop_to_first.tif": "the next IFD is the one at byte 10 again",
    "test_ifd_loop_to_self.tif": "the next IFD is the one at byte 408 again",
    "testfax4.tiff": "CCITT group 4",
    "o-testfax4.tiff": "samples of 1 bits",
}
# JPEG with a colour for every four pixels.  The standard leaves open what stands between them: libjpeg-turbo, and with it
# penstock, tifffile and GDAL 3.12 as rasterio's wheels have it, interpolates; IJG's libjpeg since version 7, in the wheels
# with GDAL 3.10, makes them larger in its inverse cosine transform.
FEW_COLOURS = {"quad-tile.jpg.tiff"}


def download(folder: pathlib.Path) -> None:
    """Debian's packages, and sources by a list of its own: most machines have none."""

    def run(*command: str) -> None:
        subprocess.run(command, cwd=folder, check=True)

    run("apt-get", "download", *PACKAGES)
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    sources = folder / "sources.list"
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    sources.write_text(f"deb-src [signed-by={key}] http://deb.debian.org/debian bookworm main\n")
    apt = ("apt-get", "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Etc::sourcelist={sources}",
           "-o", "Dir::Etc::sourceparts=-")  # fmt: skip
    run(*apt, "update")
    run(*apt, "source", "--download-only", *SOURCES)
    for number, package in enumerate(sorted(folder.glob("*.deb"))):
        run("dpkg-deb", "-x", package.name, f"made/{number}")
    for archive in sorted(folder.glob("*.orig.tar.*")):
        run("tar", "-xf", archive.name, "-C", "made")


@pytest.fixture(scope="module")
def images() -> Iterator[list[pathlib.Path]]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(os.environ.get("PENSTOCK_PUBLIC", temporary))
        if not (folder / "made").exists():
            (folder / "made").mkdir(parents=True)
            download(folder)
        yield sorted(p for p in folder.glob("made/**/*") if p.suffix in (".tif", ".tiff") and p.is_file())


def expected(path: pathlib.Path) -> np.ndarray:
    """As GDAL reads it; with few colours: as libjpeg-turbo does, where GDAL's luminance is the same, but for rounding."""
    with rasterio.open(path) as file:
        by_gdal = file.read()
    if path.name not in FEW_COLOURS:
        return by_gdal
    by_turbo = np.moveaxis(tifffile.imread(path), -1, 0)
    whole = np.logical_and(by_gdal % 255, by_turbo % 255).all(axis=0)  # nothing was cut off at 0 or 255
    luminance = np.tensordot([0.299, 0.587, 0.114], by_gdal.astype(float) - by_turbo, 1)
    assert whole.any() and np.abs(luminance[whole]).max() < 1, path.name
    return by_turbo


def test_each_is_read_as_gdal_does(images: list[pathlib.Path]) -> None:
    read = [path for path in images if path.name not in REFUSED]
    assert len(read) == READ
    for path in read:
        wanted = expected(path)
        raster = penstock.open(path)
        np.testing.assert_array_equal(np.asarray(raster[...]), wanted, path.name)
        height, width = wanted.shape[1:]
        part = (slice(None), slice(height // 3, None), slice(0, width // 2 + 1))
        np.testing.assert_array_equal(np.asarray(raster[part]), wanted[part], path.name)


def test_what_is_not_read_is_refused_by_name(images: list[pathlib.Path]) -> None:
    paths = {path.name: path for path in images}
    for name, why in REFUSED.items():
        with pytest.raises(penstock.PenstockError, match=why):
            penstock.open(paths[name])
