"""Runs the steps of the OCT reconstruction where memory runs out: an error that says so, and nothing that opens and is not whole.

scarce_oct.py PENSTOCK LIBRARY [FIRST [MOST [STEP]]]: LIBRARY is built from scarce.cpp.  Of each step the FIRST allocations
fail in turn, and MOST more, evenly over the rest; with STEP only those of that step.  The command ends with success or as
out of memory, and says what could not be done; images and files that are there then have the bytes of a run that nothing
befell, and nothing else is left.  What does not is told after each step: an hour may lie before the end.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import scarce
from killed_oct_steps import opens_wrongly, results

MARKS = ("metrics.json", ".unfinished")
"""How files end that a run may leave that ended early: each names what it is of."""


def oct_step(penstock: str, *words: object) -> None:
    done = subprocess.run([penstock, "oct", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words}: {done.stderr}")


def reconstruct(subject: pathlib.Path, out: pathlib.Path) -> list[object]:
    shifts = subject / "raw/shifts_xy.csv"
    return ["reconstruct", subject / "raw", out, "--shifts", shifts, "--slicing-interval-mm", 0.24, "--depth-um", 300,
            "--axial-resolution-um", 10]  # fmt: skip


def make_small(penstock: str, folder: pathlib.Path) -> None:
    """One raw tile; a mosaic of 3 x 3 tiles of 9 x 9 pixels, and what steps make of it; a subject and what was made of it,
    and one of little."""
    subject = folder / "subject"
    oct_step(penstock, "simulate", subject, "--seed", "3")
    oct_step(penstock, *reconstruct(subject, folder / "whole"))
    oct_step(penstock, "simulate", folder / "little", "--seed", "3", "--traps", "one-row,zoom-edge")
    tile = next((subject / "raw").rglob("tile_x00_y00_z00"))
    shutil.copytree(tile, folder / "raw" / tile.name)
    mosaic = folder / "mosaic_z00.ome.zarr"
    oct_step(penstock, "resample-mosaic", subject / "truth/mosaic_grid_z00.ome.zarr", mosaic, "--resolution-um", 70)
    oct_step(penstock, "aip", mosaic, folder / "aip.ome.zarr", "--n-levels", 1)
    oct_step(penstock, "estimate-transform", folder / "aip.ome.zarr", folder / "transform.npy")
    for k in range(2):
        oct_step(penstock, "stitch", mosaic, folder / f"slices/slice_z0{k}_crop.ome.zarr",
                 "--transform", folder / "transform.npy")  # fmt: skip
    (folder / "shifts.csv").write_text(
        "fixed_id,moving_id,x_shift,y_shift,x_shift_mm,y_shift_mm,reliable\n0,1,1,1,0.1,0.1,1\n"
    )
    oct_step(penstock, "common-space", folder / "slices", folder / "moved", "--shifts", folder / "shifts.csv")


def steps(folder: pathlib.Path, out: pathlib.Path) -> list[list[str]]:
    """What is run; each writes below `out`."""
    mosaic, piece = folder / "mosaic_z00.ome.zarr", folder / "slices/slice_z00_crop.ome.zarr"
    (folder / "steps.toml").write_text(
        f'input = "{mosaic}"\noutput = "{out}/run.ome.zarr"\n[[step]]\nname = "fix-focal-curvature"\n[[step]]\n'
        'name = "fix-illumination"\n[[step]]\nname = "crop-below-interface"\ntiles = true\n[[step]]\n'
        'name = "normalize"\ntiles = true\n'
    )
    made = [
        ["mosaic", folder / "raw", out / "mosaic_z00.ome.zarr", "--axial-resolution-um", 10, "--resolution-um", 70],
        ["resample-mosaic", mosaic, out / "resampled.ome.zarr", "--resolution-um", 90],
        ["fix-focal-curvature", mosaic, out / "focal.ome.zarr"],
        ["fix-illumination", mosaic, out / "overlap.ome.zarr"],
        ["fix-illumination", mosaic, out / "basic.ome.zarr", "--method", "basic", "--fit", "slice",
         "--max-samples", 9, "--max-iterations", 3],
        ["aip", mosaic, out / "aip.ome.zarr"],
        ["aip-png", mosaic, out / "aip.png"],
        ["estimate-transform", folder / "aip.ome.zarr", out / "transform.npy"],
        ["stitch", mosaic, out / "stitched.ome.zarr", "--transform", folder / "transform.npy"],
        ["tissue-interface", piece, out / "map.npy", "--sigma-xy", 3],
        ["crop-below-interface", piece, out / "cropped.ome.zarr", "--percentile-max", 99],
        ["normalize", piece, out / "normal.ome.zarr"],
        ["common-space", folder / "slices", out / "moved", "--shifts", folder / "shifts.csv"],
        ["find-z-overlap", folder / "moved/slice_z00_common.ome.zarr", folder / "moved/slice_z01_common.ome.zarr",
         "--slicing-interval-mm", 0.28],
        ["stack", folder / "moved", out / "volume.ome.zarr", "--slicing-interval-mm", 0.28],
        ["pyramid", piece, out / "levels.ome.zarr", "--n-levels", 2],
        ["run", folder / "steps.toml"],
        ["explain", folder / "steps.toml"],
        ["report", folder / "whole", "--output", out / "report.html"],
        ["score", folder / "whole", "--truth", folder / "subject/truth.json"],
        ["simulate", out / "subject", "--seed", 3, "--traps", "one-row,zoom-edge"],
        [*reconstruct(folder / "little", out / "all"), "--report"],
    ]  # fmt: skip
    return [[str(word) for word in words] for words in made]


class Left:
    """What a run of one step leaves; the first one is that which nothing befalls."""

    def __init__(self, step: str, out: pathlib.Path) -> None:
        self.step, self.out = step, out
        self.expected: dict[str, bytes] | None = None

    def problem(self, code: int, errors: str) -> str:
        """Of a run that has ended: empty where all is well.  The folder is empty afterwards."""
        if self.expected is None:
            self.expected = results(self.out)
        problem = self.look(code, errors)
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        return problem

    def look(self, code: int, errors: str) -> str:
        there = results(self.out)
        if code == 0:
            return "" if there == self.expected else "success, but other bytes"
        wrong = opens_wrongly(self.out, self.expected)
        # Metrics are not compared, they hold the time: they are whole or not there.
        wrong += [name for name in self.files("*.json") if not is_json(self.out / name)]
        if code > 0:  # who was killed cannot clear up
            wrong += [f"{name}, which a whole run does not leave" for name in self.files("*") if self.is_litter(name)]
        if wrong:
            return f"exit code {code} leaves {', '.join(wrong[:5])}: {errors.strip()}"
        # Behind what tells how far it is, where it is slow.
        told = [line for line in errors.splitlines() if line.startswith(("penstock ", "penstock:"))]
        said = any(word in line for line in told for word in ("memory", "cannot allocate"))
        if code == scarce.OUT_OF_MEMORY and not said:
            return f"it does not say that memory ran out: {errors.strip()!r}"
        return ""

    def files(self, pattern: str) -> list[str]:
        return [str(path.relative_to(self.out)) for path in self.out.rglob(pattern) if path.is_file()]

    def is_litter(self, name: str) -> bool:
        return name not in self.expected and not name.endswith(MARKS)


def is_json(path: pathlib.Path) -> bool:
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def picked(first: int, most: int, count: int) -> list[int]:
    """The first allocations, and others evenly over the rest."""
    begin = [*range(1, min(first, count) + 1)]
    rest = count - len(begin)
    return begin + [len(begin) + 1 + k * rest // most for k in range(most)] if rest > most else [*range(1, count + 1)]


def main(penstock: str, library: str, first: str = "300", most: str = "700", only: str = "") -> int:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        folder, out = scratch / "in", scratch / "out"
        folder.mkdir()
        out.mkdir()
        make_small(penstock, folder)
        each = scarce.Each(library, scratch)
        for words in steps(folder, out):
            if only not in ("", words[0]):
                continue
            told = len(each.bad)
            count = each.run_some([penstock, "oct", *words, "--threads", "2", "--force"], "oct " + words[0],
                                  lambda count: picked(int(first), int(most), count), Left(words[0], out).problem)  # fmt: skip
            if count < 1000:
                each.bad.append(f"oct {words[0]}: only {count} allocations: this test shows nothing")
            print("\n".join(each.bad[told:]), flush=True)
    return each.tell("allocations")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
