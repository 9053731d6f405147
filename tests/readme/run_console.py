#!/usr/bin/env python3
"""Runs the commands of README.md's console block in a folder that holds image.ome.zarr; shown output must be printed.

run_console.py PENSTOCK
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from readme_block import block  # noqa: E402

ROWS_SHOWN = "..."  # a line that stands for the rest of the output


def cases(text: str) -> list[tuple[str, list[str]]]:
    """(command, lines that it prints) in order."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            found[-1][1].append(line.rstrip())
    return found


def main() -> int:
    program = Path(sys.argv[1]).resolve()
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "tests/golden/stores/image.ome.zarr", Path(scratch) / "image.ome.zarr")
        commands = cases(block("console"))
        for command, shown in commands:
            run = subprocess.run(
                ["bash", "-c", command], cwd=scratch, env=environment, capture_output=True, text=True, check=False
            )
            printed = [line.rstrip() for line in run.stdout.splitlines()]
            wanted = shown[:-1] if shown[-1:] == [ROWS_SHOWN] else shown
            if run.returncode or (shown and printed[: len(wanted)] != wanted):
                failed += 1
                print(f"$ {command}\nexit code {run.returncode}\n{run.stdout}{run.stderr}", file=sys.stderr)
                print("README.md shows\n" + "\n".join(shown), file=sys.stderr)
    print(f"{len(commands) - failed} of {len(commands)} commands of README.md: {shlex.quote(program.name)}")
    return 1 if failed or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
