"""Kills every step of `penstock oct` by itself, and lets the disk be full: what is left never opens as a whole that it is
not, the input is what it was, and the same command, without --force, ends with the bytes of a run that nothing befell.

killed_oct_steps.py PENSTOCK LIBRARY [STEP]: LIBRARY is built from kill_at.cpp; only one step is befallen.
"""

import pathlib
import shutil
import signal
import sys
import tempfile

from killed_copy import Kills, content
from killed_oct import is_image

NO_SPACE = 74

AXIAL = ["--axial-resolution-um", "10"]
STEPS: dict[str, tuple[list[str], list[str]]] = {
    "simulate": (["OUT/subject"], ["--seed", "3"]),
    "mosaic": (["IN/subject/raw", "OUT/mosaic_grid_z00.ome.zarr"], AXIAL),
    "resample-mosaic": (["IN/mosaic_grid_z00.ome.zarr", "OUT/a.ome.zarr"], ["--resolution-um", "20"]),
    "fix-focal-curvature": (["IN/mosaic_grid_z00.ome.zarr", "OUT/a.ome.zarr"], ["--n-levels", "3"]),
    "fix-illumination": (["IN/mosaic_grid_z00.ome.zarr", "OUT/fixed.ome.zarr"], []),
    "aip": (["IN/fixed.ome.zarr", "OUT/aip.ome.zarr"], []),
    "aip-png": (["IN/fixed.ome.zarr", "OUT/a.png"], []),
    "estimate-transform": (["IN/aip.ome.zarr", "OUT/t_transform.npy"], []),
    "stitch": (["IN/fixed.ome.zarr", "OUT/slice_z00_stitch.ome.zarr"], ["--transform", "IN/t_transform.npy"]),
    "tissue-interface": (["IN/slice_z00_stitch.ome.zarr", "OUT/a.npy"], []),
    "crop-below-interface": (
        ["IN/slice_z00_stitch.ome.zarr", "OUT/slice_z00_crop.ome.zarr"],
        ["--depth-um", "300"],
    ),
    "normalize": (["IN/slice_z00_crop.ome.zarr", "OUT/slice_z00_norm.ome.zarr"], ["--n-levels", "3"]),
    "common-space": (
        ["IN/slices", "OUT/moved"],
        ["--shifts", "IN/subject/raw/shifts_xy.csv", "--missing-slices"],
    ),
    "stack": (["IN/moved", "OUT/3d_volume.ome.zarr"], ["--slicing-interval-mm", "0.24"]),
    "pyramid": (["IN/3d_volume.ome.zarr", "OUT/a.ome.zarr"], ["--resolutions-um", "10,25"]),
    "report": (["IN"], ["--output", "OUT/report.html"]),
}
"""Of each step its paths and options, in an order in which each finds what it takes: what OUT gets is put into IN."""


class Steps:
    def __init__(self, kills: Kills, scratch: pathlib.Path) -> None:
        self.kills, self.scratch = kills, scratch

    def run(self, step: str, out: pathlib.Path, **fault: int | str) -> tuple[int, str]:
        def at(word: str) -> str:
            return word.replace("IN/", f"{self.scratch}/in/").replace("OUT/", f"{out}/")

        paths, options = STEPS[step]
        words = [str(self.scratch / "in") if word == "IN" else at(word) for word in [*paths, *options]]
        words = ["oct", step, *words, "--quiet", "--threads", "1"]
        if step != "simulate":
            words += ["--device", "cpu"]
        done = self.kills.run(words, **fault)  # type: ignore[arg-type]
        return done.returncode, done.stderr.decode()


def results(out: pathlib.Path) -> dict[str, bytes]:
    """What a step has made, besides metrics, which hold the time."""
    return {name: data for name, data in content(out).items() if not name.endswith("metrics.json")}


def opens_wrongly(out: pathlib.Path, expected: dict[str, bytes]) -> list[str]:
    """Images that open, and files that are there, and are not what they must be."""
    there = results(out)
    wrong = []
    for image in out.rglob("*.ome.zarr"):
        name = str(image.relative_to(out)) + "/"
        mine, whole = ({k: v for k, v in files.items() if k.startswith(name)} for files in (there, expected))
        if is_image(image) and mine != whole:
            wrong.append(name)
    single = (".npy", ".png", ".html", "truth.json")
    return wrong + [name for name, data in there.items() if name.endswith(single) and expected.get(name) != data]


def gone_on_with(steps: Steps, step: str, out: pathlib.Path, expected: dict[str, bytes]) -> str:
    """What is wrong with the next run of the same command."""
    whole = results(out) == expected
    code, errors = steps.run(step, out)
    if code != 0 and not (whole and "already exists" in errors):
        return f"the next run: exit code {code}: {errors}"
    return "" if results(out) == expected else "the next run: other bytes"


def places(fault: str, count: int) -> list[int]:
    """Which changes of the file system are tried: some on the way, and of kills the last ones, where metadata come."""
    last = 5 if fault == "kill_at" else 1
    return sorted({n for n in (1, count // 3, 2 * count // 3, *range(count - last + 1, count + 1)) if n > 0})


def befallen(steps: Steps, step: str, fault: str, count: int, expected: dict[str, bytes]) -> list[str]:
    wrong: list[str] = []
    before = {name: data for name, data in content(steps.scratch / "in").items() if "subject/raw" not in name}
    for n in places(fault, count):
        out = steps.scratch / "befallen"
        out.mkdir()
        code, errors = steps.run(step, out, **{fault: n})
        where = f"{step}, {fault} {n} of {count}"
        if fault == "kill_at":
            assert code == -signal.SIGKILL, f"{where}: exit code {code}"
        elif not (code == 0 and results(out) == expected) and (code != NO_SPACE or "no space" not in errors.lower()):
            wrong.append(f"{where}: exit code {code}: {errors}")
        wrong += [f"{where}: {name} opens as a whole" for name in opens_wrongly(out, expected)]
        if problem := gone_on_with(steps, step, out, expected):
            wrong.append(f"{where}: {problem}")
        shutil.rmtree(out)
    after = {name: data for name, data in content(steps.scratch / "in").items() if "subject/raw" not in name}
    return wrong + ([] if after == before else [f"{step}, {fault}: the input has changed"])


def put_in(steps: Steps, step: str, out: pathlib.Path) -> None:
    """What a step has made becomes what the next ones take."""
    shutil.copytree(out, steps.scratch / "in", dirs_exist_ok=True)
    if step == "crop-below-interface":  # four slices of one
        for k in range(4):
            shutil.copytree(out / "slice_z00_crop.ome.zarr", steps.scratch / f"in/slices/slice_z{k:02}_crop.ome.zarr")


def main(penstock: str, library: str, only: str = "") -> int:
    kills = Kills(penstock, library)
    kills.seconds = 300
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        (scratch / "in").mkdir()
        steps = Steps(kills, scratch)
        for step in STEPS:
            whole, counted = scratch / "whole", scratch / "count"
            whole.mkdir()
            code, errors = steps.run(step, whole, count_to=str(counted))
            assert code == 0, f"{step}: {errors}"
            count, expected = int(counted.read_text()), results(whole)
            assert count > 1, f"{step}: only {count} changes were counted: this shows nothing"
            if only in ("", step):
                wrong += befallen(steps, step, "kill_at", count, expected)
                wrong += befallen(steps, step, "full_at", count, expected)
            put_in(steps, step, whole)
            shutil.rmtree(whole)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
