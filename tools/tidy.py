#!/usr/bin/env python3
"""Runs clang-tidy over src/ and cli/, and remembers what it found good.

    tidy.py BUILD [--clang-tidy PROGRAM] [-j N] [FILE ...]

BUILD is a configured build folder (compile_commands.json).  A file is looked at again when it, a header of ours that it
includes, its compile command, .clang-tidy or the version of clang-tidy has changed; what was good is kept in BUILD/tidy.
With FILEs only these are looked at.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "cli")
INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
# The compiler is gcc; clang-tidy need not know all of its options.
EXTRA = ["--quiet", "--extra-arg=-Wno-unknown-warning-option"]


@functools.cache
def ours(name: str, beside: Path) -> Path | None:
    """The file of this repository that an #include names, if it is one of this repository."""
    for folder in (beside, ROOT / "include", ROOT / "src", ROOT):
        path = folder / name
        if path.is_file():
            return path.resolve()
    return None


@functools.cache
def includes(path: Path) -> tuple[Path, ...]:
    found = (ours(name.decode(), path.parent) for name in INCLUDE.findall(path.read_bytes()))
    return tuple(p for p in found if p is not None)


def closure(path: Path) -> list[Path]:
    """The file and all headers of ours that it includes."""
    seen: set[Path] = set()
    todo = [path]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo.extend(includes(one))
    return sorted(seen)


def key(entry: dict[str, str], common: bytes) -> str:
    """Changes with everything that clang-tidy's verdict on a file depends on, but for the system's headers."""
    digest = hashlib.sha256(common + entry["command"].encode())
    for path in closure(Path(entry["file"])):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def look(program: str, build: Path, entry: dict[str, str], stamp: Path) -> str:
    """What clang-tidy says of a file; empty when it is good."""
    done = subprocess.run(
        [program, "-p", str(build), *EXTRA, entry["file"]], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        stamp.touch()
        return ""
    return done.stdout or done.stderr or f"{entry['file']}: clang-tidy ended with {done.returncode}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--clang-tidy", default="clang-tidy")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    args = parser.parse_intermixed_args()

    version = subprocess.run([args.clang_tidy, "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes()
    wanted = {path.resolve() for path in args.files}
    entries = [
        entry
        for entry in json.loads((args.build / "compile_commands.json").read_text())
        if Path(entry["file"]).suffix == ".cpp" and any(Path(entry["file"]).is_relative_to(ROOT / f) for f in FOLDERS)
        if not wanted or Path(entry["file"]).resolve() in wanted
    ]
    if not entries:
        print("tidy: no file to look at", file=sys.stderr)
        return 1
    stamps = args.build / "tidy"
    stamps.mkdir(exist_ok=True)
    stamped = {key(entry, common): entry for entry in entries}
    todo = {name: entry for name, entry in stamped.items() if not (stamps / name).exists()}
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for said in pool.map(lambda item: look(args.clang_tidy, args.build, item[1], stamps / item[0]), todo.items()):
            print(said, end="", flush=True)
            bad += said != ""
    if not wanted:
        for stamp in stamps.iterdir():
            if stamp.name not in stamped:
                stamp.unlink()
    print(f"tidy: {len(entries)} files, {len(todo)} looked at, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
