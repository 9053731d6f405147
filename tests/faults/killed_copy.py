"""Kills `penstock copy` at every change of the file system: what is left never opens as a whole that it is not, and the
same command with --resume ends with the same bytes.

killed_copy.py PENSTOCK LIBRARY: LIBRARY is built from kill_at.cpp.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

STORES = pathlib.Path(__file__).parents[1] / "golden/stores"
MARKER = ".penstock-copy.json"
COPIES = {
    "an array": [str(STORES / "v3.zarr/u16"), "OUT", "--chunks", "2,3,5", "--shards", "none"],
    "a group": [str(STORES / "v3.zarr"), "OUT"],
    "a group into v2": [str(STORES / "image.ome.zarr"), "OUT", "--zarr-format", "2", "--shards", "none"],
    "a pyramid": [str(STORES / "image.ome.zarr"), "OUT", "--pyramid", "--levels", "3"],
}


class Kills:
    seconds = 60
    """What a command may take."""

    def __init__(self, penstock: str, library: str) -> None:
        self.penstock, self.library = penstock, library

    def run(self, words: list[str], **kill: int) -> subprocess.CompletedProcess[bytes]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}
        environment |= {"PENSTOCK_CONFIG": ""}
        if kill:
            environment |= {"LD_PRELOAD": self.library, **{name.upper(): str(n) for name, n in kill.items()}}
        return subprocess.run([self.penstock, *words], env=environment, capture_output=True, timeout=self.seconds)

    def copy(self, words: list[str], out: pathlib.Path, **kill: int) -> subprocess.CompletedProcess[bytes]:
        return self.run(["copy", *[str(out) if word == "OUT" else word for word in words], "--threads", "1"], **kill)

    def opens(self, out: pathlib.Path) -> bool:
        return self.run(["tree", str(out)]).returncode == 0


def content(store: pathlib.Path) -> dict[str, bytes]:
    """All objects; not what a killed writer has left (.penstock-PID-N.tmp) and the marker."""
    files = (path for path in store.rglob("*") if path.is_file() and not path.name.startswith(".penstock-"))
    return {str(path.relative_to(store)): path.read_bytes() for path in files}


def killed_everywhere(kills: Kills, words: list[str], scratch: pathlib.Path, before: pathlib.Path | None) -> list[str]:
    """Each kill, and what was wrong after it.  `before`: what stands at the target, and is replaced."""
    force = ["--force"] if before else []
    whole = scratch / "whole.zarr"
    assert kills.copy(words, whole).returncode == 0
    expected, old = content(whole), content(before) if before else None
    wrong: list[str] = []
    n = 0
    while True:
        n += 1
        folder = scratch / f"kill{n}"
        folder.mkdir()
        out = folder / "out.zarr"
        if before:
            shutil.copytree(before, out)
        ended = kills.copy([*words, *force], out, kill_at=n).returncode
        if ended == 0:
            break
        assert ended == -signal.SIGKILL, f"change {n}: exit code {ended}"
        whole_there = content(out) in (expected, old) if out.exists() else False
        if before and not whole_there:
            wrong.append(f"change {n}: neither the old nor the new stands")
        if not before and kills.opens(out) and not whole_there:
            wrong.append(f"change {n}: opens as a whole")
        resumed = kills.copy([*words, *force, "--resume"], out)
        if resumed.returncode != 0:
            wrong.append(f"change {n}: --resume: {resumed.stderr.decode()}")
        elif content(out) != expected:
            wrong.append(f"change {n}: other bytes after --resume")
        elif list(folder.rglob(MARKER)) or [p.name for p in folder.iterdir()] != ["out.zarr"]:
            wrong.append(f"change {n}: left over: {[str(p) for p in folder.rglob('.penstock-*')]}")
        shutil.rmtree(folder)
    if n < 20:
        wrong.append(f"only {n} changes were counted: this shows nothing")
    return wrong


def replaced_without_exchange(kills: Kills, words: list[str], scratch: pathlib.Path, before: pathlib.Path) -> list[str]:
    """As on a file system that cannot exchange directories."""
    whole, folder = scratch / "whole.zarr", scratch / "plain"
    shutil.copytree(before, folder / "out.zarr")
    done = kills.copy([*words, "--force"], folder / "out.zarr", no_exchange=1)
    if done.returncode != 0 or content(folder / "out.zarr") != content(whole):
        return [f"without exchange: exit code {done.returncode}, {done.stderr.decode()}"]
    return [f"without exchange: left over: {p}" for p in folder.iterdir() if p.name != "out.zarr"]


def main(penstock: str, library: str) -> int:
    kills = Kills(penstock, library)
    bad = 0
    for name, words in COPIES.items():
        for before in (None, STORES / "v2.zarr"):
            with tempfile.TemporaryDirectory() as scratch:
                wrong = killed_everywhere(kills, words, pathlib.Path(scratch), before)
                if before:
                    wrong += replaced_without_exchange(kills, words, pathlib.Path(scratch), before)
            for line in wrong:
                print(f"{name}{', --force' if before else ''}: {line}")
            bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
