"""Runs the command where memory or threads run out: it ends with success or with an error, never by a signal.

scarce.py PENSTOCK LIBRARY: LIBRARY is built from scarce.cpp.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

OUT_OF_MEMORY = 71
MOST_RUNS = 220  # of a command, spread evenly over its allocations
SOURCE = pathlib.Path(__file__).parents[1] / "golden/stores/v3.zarr/u16"

# Where the end of the process is a library's and cannot be mended here.
ENDS_IN_A_LIBRARY = (
    # The destructor of a JSON value takes memory to walk what is below it, and may not throw.
    "json_value::destroy",
    # A JSON value compared with a text is noexcept, and makes a JSON value of the text.
    "operator==<char const*",
    "operator!=<char const*",
)


def names(stack: pathlib.Path) -> str:
    """The functions of a call stack, inlined ones too."""
    frames = re.findall(r"^([^(\n]+)\(([^)]*)\)", stack.read_text(), re.M)
    out = []
    for module, place in frames:
        if place.startswith("+"):
            words = ["addr2line", "-Cfie", module, place[1:]]
            out.append(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        else:
            out.append(subprocess.run(["c++filt", place.split("+")[0]], capture_output=True, text=True).stdout)
    return "\n".join(out)


def run(
    penstock: str, library: str, words: list[str], stack: pathlib.Path, **scarce: int
) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}
    environment |= {"LD_PRELOAD": library, "PENSTOCK_CONFIG": "", "SCARCE_STACK": str(stack)}
    environment |= {"SCARCE_" + name.upper(): str(value) for name, value in scarce.items()}
    return subprocess.run([penstock, *words], env=environment, capture_output=True, timeout=20)


def commands(scratch: pathlib.Path, threads: int) -> list[list[str]]:
    some = ["--threads", str(threads)]
    target = str(scratch / "copy.zarr")
    return [
        ["cat", str(SOURCE), "--format", "raw", *some],
        ["verify", str(SOURCE), *some],
        ["copy", str(SOURCE), target, "--force", *some],
    ]


def main(penstock: str, library: str) -> int:
    bad = []

    def judge(words: list[str], **scarce: int) -> None:
        stack = scratch / "stack"
        done = run(penstock, library, words, stack, **scarce)
        if done.returncode not in (0, OUT_OF_MEMORY):
            if stack.exists() and any(end in names(stack) for end in ENDS_IN_A_LIBRARY):
                return
            bad.append(f"{words[0]} {scarce}: {done.returncode}: {done.stderr.decode()[-200:]}")

    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        for most in (0, 1, 2, 3, 5, 8):
            for threads in (1, 2, 4, 8):
                for words in commands(scratch, threads):
                    judge(words, threads=most)
        for words in commands(scratch, 2):
            step, n, ends = 1, 1, 0
            while n < 100_000 and ends < MOST_RUNS:
                judge(words, allocation=n)
                ends += 1
                n += step
                if ends % 100 == 0:
                    step *= 4
    print("\n".join(bad) or "every run ended as it must")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
