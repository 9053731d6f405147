"""Kills `penstock track` at every change of the file system, and lets the disk be full from there on: the old streamlines
stand or the new, whole, or none where there were none; the next run ends as if nothing had been, and leaves nothing else.

killed_track.py PENSTOCK LIBRARY: LIBRARY is built from kill_at.cpp.
"""

import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from killed_copy import Kills

PHANTOM = pathlib.Path(__file__).parents[1] / "cli/phantom.py"
OUTPUTS = ("out.trx/", "out.trx", "out.trk", "out.tck")
ALREADY_EXISTS, NO_SPACE = 73, 74
Files = dict[str, bytes]


class Track:
    def __init__(self, kills: Kills, scratch: pathlib.Path) -> None:
        self.kills, self.scratch = kills, scratch
        subprocess.run([sys.executable, str(PHANTOM), str(scratch / "dwi")], check=True)

    def run(self, folder: pathlib.Path, output: str, seeds: int = 40, **fault: int) -> tuple[int, str]:
        words = ["track", str(self.scratch / "dwi.nii"), "-o", f"{folder}/{output}", "--seeds", str(seeds)]
        words += ["--min-length-mm", "3", "--sh-order", "4", "--sphere", "181", "--threads", "1", "--quiet"]
        done = self.kills.run([*words, "--force"], **fault)
        return done.returncode, done.stderr.decode()


def everything(folder: pathlib.Path) -> Files:
    """Temporary files, too."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def befallen(track: Track, output: str, before: Files, expected: Files, **how: int) -> list[str]:
    """Each kill, or each place from which on the disk is full, and what was wrong after it."""
    wrong: list[str] = []
    for fault in ("kill_at",) if how else ("kill_at", "full_at"):
        n = 0
        while True:
            n += 1
            folder = track.scratch / "folder"
            folder.mkdir()
            for name, data in before.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
            code, errors = track.run(folder, output, **{fault: n}, **how)
            where = f"{output}, {'replaced' if before else 'new'}, {how}, {fault} {n}"
            if code == 0:
                shutil.rmtree(folder)
                break
            if fault == "kill_at":
                assert code == -signal.SIGKILL, f"{where}: exit code {code}: {errors}"
            elif code != NO_SPACE:
                wrong.append(f"{where}: exit code {code}: {errors}")
            elif everything(folder) != before:
                wrong.append(f"{where}: left: {sorted(everything(folder))}")
            # Where names cannot be exchanged the place is empty for a moment.
            allowed = [before, expected] + ([{}] if how else [])
            hidden = (".penstock-", f".{output}.penstock.tmp")  # what the next writer removes
            there = {k: v for k, v in everything(folder).items() if not k.startswith(hidden)}
            if there not in allowed:
                wrong.append(f"{where}: neither the old nor the new stands: {sorted(there)}")
            code, errors = track.run(folder, output)
            if code != 0:
                wrong.append(f"{where}: the next run: {errors}")
            elif everything(folder) != expected:
                wrong.append(f"{where}: after the next run: {sorted(everything(folder))}")
            shutil.rmtree(folder)
        if n < (3 if fault == "kill_at" else 2):
            wrong.append(f"{output}: only {n} changes were counted: this shows nothing")
    return wrong


def second_writer(track: Track) -> list[str]:
    """While another writes the folder, it is refused and left alone."""
    folder = track.scratch / "shared"
    beside = folder / ".penstock-new-out.trx"
    (beside / "new").mkdir(parents=True)
    (beside / "new/header.json").write_text("{}")
    other = os.open(beside, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    code, errors = track.run(folder, "out.trx/")
    wrong = []
    if code != ALREADY_EXISTS or "is being written" not in errors:
        wrong.append(f"a second writer: exit code {code}: {errors}")
    if not (beside / "new/header.json").exists() or (folder / "out.trx").exists():
        wrong.append("a second writer changed what the first writes")
    os.close(other)
    code, errors = track.run(folder, "out.trx/")
    if code != 0 or [p.name for p in folder.iterdir()] != ["out.trx"]:
        wrong.append(f"after the first was gone: {errors}, {list(folder.iterdir())}")
    return wrong


def main(penstock: str, library: str) -> int:
    kills = Kills(penstock, library)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        track = Track(kills, pathlib.Path(name))
        for output in OUTPUTS:
            made: list[Files] = []
            for seeds in (20, 40):
                folder = track.scratch / f"whole{seeds}"
                folder.mkdir()
                code, errors = track.run(folder, output, seeds)
                assert code == 0, errors
                made.append(everything(folder))
                shutil.rmtree(folder)
            old, expected = made
            assert old != expected
            wrong += befallen(track, output, {}, expected)
            wrong += befallen(track, output, old, expected)
            if output.endswith("/"):
                wrong += befallen(track, output, old, expected, no_exchange=1)
        wrong += second_writer(track)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
