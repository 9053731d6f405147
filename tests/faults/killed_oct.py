"""Kills `penstock oct reconstruct` in every step, and lets the disk be full from there on: what is left opens only where it is
whole, and --resume ends with the bytes of a run that nothing befell.

killed_oct.py PENSTOCK LIBRARY: LIBRARY is built from kill_at.cpp.
"""

import json
import pathlib
import shutil
import signal
import sys
import tempfile

from killed_copy import Kills, content

PLACES = 20
"""How many changes of the file system are tried, evenly over the run."""
NO_SPACE = 74


class Run:
    """Reconstructions of one subject."""

    def __init__(self, kills: Kills, scratch: pathlib.Path) -> None:
        self.kills, self.scratch = kills, scratch
        made = kills.run(
            ["oct", "simulate", str(scratch / "subject"), "--traps", "one-row,zoom-edge", "--seed", "3", "--quiet"]
        )
        assert made.returncode == 0, made.stderr.decode()

    def into(self, out: pathlib.Path, *more: str, depth: int = 300, **fault: int) -> tuple[int, str]:
        raw = self.scratch / "subject/raw"
        words = ["oct", "reconstruct", str(raw), str(out), "--shifts", str(raw / "shifts_xy.csv"), "--quiet"]
        words += ["--axial-resolution-um", "10", "--slicing-interval-mm", "0.24", "--depth-um", str(depth)]
        done = self.kills.run([*words, "--report", "--threads", "1", *more], **fault)
        return done.returncode, done.stderr.decode()

    def whole(self, name: str, **how: int) -> dict[str, bytes]:
        out = self.scratch / name
        code, errors = self.into(out, **how)
        assert code == 0, errors
        return results(out)


def results(out: pathlib.Path) -> dict[str, bytes]:
    """What a run has made, besides metrics, which hold the time, and settings."""
    return {
        name: data for name, data in content(out).items() if not name.endswith("metrics.json") and "report" not in name
    }


def is_image(path: pathlib.Path) -> bool:
    metadata = path / "zarr.json"
    return metadata.exists() and "ome" in json.loads(metadata.read_text()).get("attributes", {})


def opens_wrongly(out: pathlib.Path, expected: dict[str, bytes]) -> list[str]:
    """Images that open and are not what they must be."""
    there = results(out)
    wrong = []
    for image in out.glob("*.ome.zarr"):
        if not is_image(image):
            continue
        mine, whole = (
            {k: v for k, v in files.items() if k.startswith(image.name + "/")} for files in (there, expected)
        )
        if mine != whole:
            wrong.append(image.name)
    return wrong


def befallen(run: Run, fault: str, count: int, expected: dict[str, bytes]) -> list[str]:
    wrong: list[str] = []
    for k in range(PLACES):
        n = 1 + k * (count - 1) // (PLACES - 1)
        out = run.scratch / "befallen"
        code, errors = run.into(out, **{fault: n})
        if fault == "kill_at":
            assert code == -signal.SIGKILL, f"change {n}: exit code {code}"
        elif code == 0 and results(out) == expected:
            pass  # nothing needed room any more
        elif code != NO_SPACE or "no space" not in errors.lower():
            wrong.append(f"{fault} {n} of {count}: exit code {code}: {errors}")
        wrong += [f"{fault} {n} of {count}: {name} opens as a whole" for name in opens_wrongly(out, expected)]
        code, errors = run.into(out, "--resume")
        if code != 0:
            wrong.append(f"{fault} {n} of {count}: --resume: {errors}")
        elif results(out) != expected:
            wrong.append(f"{fault} {n} of {count}: other bytes after --resume")
        elif not (out / "report.html").exists():
            wrong.append(f"{fault} {n} of {count}: no report after --resume")
        shutil.rmtree(out)
    return wrong


def begun_anew(run: Run, count: int, before: pathlib.Path) -> list[str]:
    """--force with another depth is killed: --resume must not take what stood there for its own."""
    expected = run.whole("shallow", depth=200)
    wrong = []
    for k in range(1, 6):
        out = run.scratch / "anew"
        shutil.copytree(before, out)
        n = k * count // 6
        code, _ = run.into(out, "--force", depth=200, kill_at=n)
        assert code == -signal.SIGKILL, f"change {n}: exit code {code}"
        code, errors = run.into(out, "--resume", depth=200)
        if code != 0 and "other options" in errors:  # killed before the new settings stood there
            code, errors = run.into(out, "--force", depth=200)
        if code != 0 or results(out) != expected:
            wrong.append(f"--force killed at {n}: {errors or 'other bytes'}")
        shutil.rmtree(out)
    return wrong


def main(penstock: str, library: str) -> int:
    kills = Kills(penstock, library)
    kills.seconds = 300
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        run = Run(kills, scratch)
        expected = run.whole("whole")
        counted = scratch / "count"
        code, errors = run.into(scratch / "counted", count_to=str(counted))  # type: ignore[arg-type]
        assert code == 0, errors
        count = int(counted.read_text())
        assert count > 100, f"only {count} changes were counted: this shows nothing"
        wrong = befallen(run, "kill_at", count, expected)
        wrong += befallen(run, "full_at", count, expected)
        wrong += begun_anew(run, count, scratch / "whole")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
