"""Kills the commands that write a COG at every change of the file system and while they write bytes, and lets the disk be
full at the same places: at the target stands what stood there, or the whole file, and the command gives the same bytes
afterwards.

killed_cog.py PENSTOCK LIBRARY: LIBRARY is built from kill_at.cpp.
"""

import functools
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

from killed_copy import STORES, Kills

SOURCE = str(STORES / "v3.zarr/u16")
COMMANDS = {
    "cog create": ["cog", "create", SOURCE, "OUT", "--block", "64", "--codec", "deflate"],
    "copy": ["copy", SOURCE, "OUT", "--codec", "zstd"],
}
FAULTS = ("kill_at", "full_at", "killed after bytes", "full after bytes")


def limit_files(size: int, dies: bool) -> None:
    """Of this process: writing beyond `size` bytes of a file ends it, or fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if dies else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Cogs:
    """One command, its file and what may stand there before it."""

    def __init__(self, kills: Kills, words: list[str], scratch: pathlib.Path, before: bytes | None) -> None:
        self.kills, self.words, self.scratch, self.before = kills, words, scratch, before
        self.temporary = scratch / "temporary"
        self.temporary.mkdir()
        whole = scratch / "whole.tif"
        done = self.run(whole)
        assert done.returncode == 0, done.stderr
        self.expected = whole.read_bytes()

    def run(self, out: pathlib.Path, fault: str = "", n: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}
        environment |= {"PENSTOCK_CONFIG": "", "TMPDIR": str(self.temporary)}
        begin = None
        if fault in ("kill_at", "full_at"):
            environment |= {"LD_PRELOAD": self.kills.library, fault.upper(): str(n)}
        elif fault:
            begin = functools.partial(limit_files, n, fault.startswith("killed"))
        words = [str(out) if word == "OUT" else word for word in self.words]
        words += ["--threads", "1", *(["--force"] if out.exists() else [])]
        return subprocess.run(
            [self.kills.penstock, *words], env=environment, capture_output=True, text=True, timeout=60, preexec_fn=begin
        )

    def after(self, fault: str, n: int) -> tuple[bool, list[str]]:
        """Whether the fault was met, and what is wrong after it."""
        folder = self.scratch / f"{fault}{n}"
        folder.mkdir()
        out = folder / "out.tif"
        if self.before is not None:
            out.write_bytes(self.before)
        done = self.run(out, fault, n)
        if done.returncode == 0:
            return False, [] if out.read_bytes() == self.expected else ["other bytes though nothing failed"]
        wrong = []
        if fault.startswith("kill") and done.returncode not in (-signal.SIGKILL, -signal.SIGXFSZ):
            wrong.append(f"exit code {done.returncode}, {done.stderr}")
        if fault.startswith("full"):
            if done.returncode != 74 or "out.tif" not in done.stderr:
                wrong.append(f"exit code {done.returncode}, {done.stderr}")
            if left := [p.name for p in folder.iterdir() if p != out]:
                wrong.append(f"left over: {left}")
        there = out.read_bytes() if out.exists() else None
        if there not in (self.before, self.expected):
            wrong.append("neither what was there nor the new file")
        if list(self.temporary.iterdir()):
            wrong.append("encoded tiles are left in the temporary folder")
        if self.run(out).returncode != 0 or out.read_bytes() != self.expected:
            wrong.append("other bytes afterwards")
        return True, wrong


def everywhere(cogs: Cogs, fault: str) -> list[str]:
    wrong: list[str] = []
    step = 50 if fault.endswith("bytes") else 1
    n, met = 0 if step > 1 else 1, 0
    while True:
        reached, here = cogs.after(fault, n)
        wrong += [f"{fault} {n}: {line}" for line in here]
        if not reached:
            break
        n, met = n + step, met + 1
    least = len(cogs.expected) // step if step > 1 else 1
    return wrong if met >= least else [*wrong, f"{fault}: met only {met} times: this shows nothing"]


def main(penstock: str, library: str) -> int:
    kills = Kills(penstock, library)
    bad = 0
    for name, words in COMMANDS.items():
        for before in (None, b"what stood there"):
            for fault in FAULTS:
                with tempfile.TemporaryDirectory() as scratch:
                    wrong = everywhere(Cogs(kills, words, pathlib.Path(scratch), before), fault)
                for line in wrong:
                    print(f"{name}{', --force' if before else ''}: {line}")
                bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
