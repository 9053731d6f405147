"""Runs the commands that write a COG where memory runs out: an error that says so, and at the target what stood there, or
the whole file.

scarce_cog.py PENSTOCK LIBRARY [FIRST [MOST [CASE]]]: LIBRARY is built from scarce.cpp.  Of each case the FIRST allocations
fail in turn, and MOST more, evenly over the rest; with CASE only those of that case.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import scarce
from scarce_oct import picked

REFUSED = (64, 69)  # a CRS that is none, or that cannot be said
WHAT_STOOD_THERE = b"what stood there"
# Keys of GeoTIFF say the first, a text of ESRI the second; both are made by PROJ and read back.
BY_KEYS = "+proj=laea +lat_0=12.5 +lon_0=7.25 +x_0=3 +y_0=5 +datum=WGS84"
BY_TEXT = "+proj=eck4 +lon_0=10 +ellps=bessel"


def penstock_does(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def make_inputs(penstock: str, folder: pathlib.Path) -> None:
    """A raster with overviews, a mask and a system by keys, and the same as a zarr array."""
    image, band, mask = folder / "image.zarr", folder / "band.zarr", folder / "mask.zarr"
    penstock_does(penstock, "op", scarce.SOURCE, image, "--do", "resize scale=12")
    penstock_does(penstock, "copy", image, band, "--region", "0:1")
    penstock_does(penstock, "op", band, mask, "--do", "cast output=uint8")
    penstock_does(penstock, "copy", image, folder / "bands.zarr", "--region", "0:3")
    penstock_does(penstock, "cog", "create", folder / "bands.zarr", folder / "in.tif", "--block", 64, "--crs", BY_KEYS,
                  "--transform", "2,0,7,0,-3,9", "--nodata", 7, "--mask", mask)  # fmt: skip
    penstock_does(penstock, "copy", folder / "in.tif", folder / "in.zarr")


def cases(folder: pathlib.Path, out: pathlib.Path) -> dict[str, list[object]]:
    create = ["cog", "create"]
    return {
        "of zarr": [*create, folder / "in.zarr", out, "--block", 64, "--codec", "deflate"],
        "of tiff": [*create, folder / "in.tif", out, "--block", 64, "--codec", "zstd"],
        "copy": ["copy", scarce.SOURCE, out],
        "of keys": [*create, scarce.SOURCE, out, "--codec", "none", "--crs", BY_KEYS],
        "of a text": [*create, scarce.SOURCE, out, "--codec", "none", "--crs", BY_TEXT],
    }


class Left:
    """What a run of one case leaves; the first one is that which nothing befalls."""

    def __init__(self, penstock: str, out: pathlib.Path, temporary: pathlib.Path, before: bytes | None) -> None:
        self.penstock, self.out, self.temporary, self.before = penstock, out, temporary, before
        self.expected: bytes | None = None
        self.lay_out()

    def lay_out(self) -> None:
        for path in (*self.out.parent.iterdir(), *self.temporary.iterdir()):
            path.unlink()
        if self.before is not None:
            self.out.write_bytes(self.before)

    def problem(self, code: int, errors: str) -> str:
        """Of a run that has ended: empty where all is well.  The folder is as before afterwards."""
        there = self.out.read_bytes() if self.out.exists() else None
        if self.expected is None:
            self.expected = there
        litter = [p.name for p in (*self.out.parent.iterdir(), *self.temporary.iterdir()) if p != self.out]
        self.lay_out()
        if code == 0 and there != self.expected:
            same = there is not None and self.elements(there) == self.elements(self.expected)
            return scarce.Unsaid("the CRS is said otherwise") if same else "success, but other elements"
        if there not in (self.before, self.expected):
            return f"exit code {code} leaves neither what was there nor the new file"
        if code > 0 and litter:  # who was killed cannot clear up
            return f"exit code {code} leaves {litter}: {errors.strip()}"
        said = errors.startswith("penstock") and any(word in errors for word in ("memory", "cannot allocate"))
        if code == scarce.OUT_OF_MEMORY and not said:
            return f"it does not say that memory ran out: {errors.strip()!r}"
        if code in REFUSED:
            return scarce.Unsaid(f"exit code {code}: {errors.strip()!r}")
        return ""

    def elements(self, file: bytes) -> bytes:
        path = self.temporary / "other.tif"
        path.write_bytes(file)
        done = subprocess.run([self.penstock, "cat", path, "--format", "raw"], check=True, capture_output=True)
        path.unlink()
        return done.stdout


def main(penstock: str, library: str, first: str = "300", most: str = "1500", only: str = "") -> int:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        for folder in ("in", "out", "temporary"):
            (scratch / folder).mkdir()
        make_inputs(penstock, scratch / "in")
        out, os.environ["TMPDIR"] = scratch / "out/out.tif", str(scratch / "temporary")
        each = scarce.Each(library, scratch)
        for case, words in cases(scratch / "in", out).items():
            for before in (None, WHAT_STOOD_THERE):
                if only not in ("", case):
                    continue
                told = len(each.bad)
                command = [penstock, *map(str, words), "--threads", "2", *(["--force"] if before else [])]
                count = each.run_some(command, case, lambda count: picked(int(first), int(most), count),
                                      Left(penstock, out, scratch / "temporary", before).problem)  # fmt: skip
                if count < 1000:
                    each.bad.append(f"{case}: only {count} allocations: this test shows nothing")
                print("\n".join(each.bad[told:]), flush=True)
    return each.tell("allocations")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
