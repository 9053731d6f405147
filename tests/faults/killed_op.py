"""Kills `penstock op` at every change of the file system: what is left never opens as a whole that it is not, the input is
what it was, and the same command to another place gives the same bytes.

killed_op.py PENSTOCK LIBRARY: LIBRARY is built from kill_at.cpp.
"""

import pathlib
import shutil
import signal
import sys
import tempfile

from killed_copy import STORES, Kills, content

CHAINS = {
    "a filter": ["--do", "gaussian_filter sigma=1"],
    "a filter, halved, in small objects": [
        *("--do", "uniform_filter size=3", "--do", "resize scale=0.5"),
        *("--chunks", "2,2,2", "--shards", "none"),
    ],
}


def killed_everywhere(kills: Kills, words: list[str], scratch: pathlib.Path) -> list[str]:
    source = scratch / "source.zarr"
    shutil.copytree(STORES / "v3.zarr/u16", source)
    before = content(source)

    def run(out: pathlib.Path, **kill: int) -> int:
        return kills.run(["op", str(source), str(out), *words, "--device", "cpu", "--threads", "1"], **kill).returncode

    whole = scratch / "whole.zarr"
    assert run(whole) == 0
    expected = content(whole)
    wrong: list[str] = []
    n = 0
    while True:
        n += 1
        out = scratch / f"kill{n}.zarr"
        ended = run(out, kill_at=n)
        if ended == 0:
            break
        assert ended == -signal.SIGKILL, f"change {n}: exit code {ended}"
        if kills.opens(out) and content(out) != expected:
            wrong.append(f"change {n}: opens as a whole")
        if content(source) != before:
            wrong.append(f"change {n}: the input has changed")
        if out.exists() and any(out.iterdir()) and run(out) == 0 and content(out) != expected:
            wrong.append(f"change {n}: mixed with what was left")
        again = scratch / "again.zarr"
        if run(again) != 0 or content(again) != expected:
            wrong.append(f"change {n}: other bytes at another place")
        shutil.rmtree(again)
    if n < 5:
        wrong.append(f"only {n} changes were counted: this shows nothing")
    return wrong


def main(penstock: str, library: str) -> int:
    kills = Kills(penstock, library)
    bad = 0
    for name, words in CHAINS.items():
        with tempfile.TemporaryDirectory() as scratch:
            wrong = killed_everywhere(kills, words, pathlib.Path(scratch))
        for line in wrong:
            print(f"{name}: {line}")
        bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
