#!/usr/bin/env python3
"""Runs the *.test files of this folder; README.md says how they are written."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SECONDS = 120  # a command that takes longer hangs


class Step:
    """One command with what it must print."""

    def __init__(self, line, number):
        self.line, self.number = line, number
        self.out, self.err, self.code = [], [], 0


def parse(path):
    """[(name, [Step, ...]), ...]"""
    cases = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark, text = line[:2], line[2:]
        if line.startswith("## "):
            cases.append((line[3:], []))
        elif not line.strip() or line.startswith("# "):
            continue
        elif not cases:
            sys.exit(f"{path}:{number}: no case begins before this line")
        elif mark == "$ ":
            cases[-1][1].append(Step(text, number))
        elif mark in ("> ", "! ", "= ") or line in (">", "!"):
            if not cases[-1][1]:
                sys.exit(f"{path}:{number}: no command before this line")
            step = cases[-1][1][-1]
            if mark == "= ":
                step.code = int(text)
            else:
                (step.out if mark[0] == ">" else step.err).append(text)
        else:
            sys.exit(f"{path}:{number}: not understood: {line}")
    for name, steps in cases:
        if not steps:
            sys.exit(f"{path}: the case '{name}' runs nothing")
    return cases


def pattern(lines):
    """A regular expression for the whole of a stream."""
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:[^\n]*\n)*?")
            continue
        pieces = re.split(r"\{\{(.*?)\}\}", line)
        parts.append("".join(f"(?:{p})" if i % 2 else re.escape(p) for i, p in enumerate(pieces)) + r"\n")
    return re.compile("".join(parts))


def indented(text):
    return "".join(f"      | {line}\n" for line in text.splitlines()) or "      | (nothing)\n"


def run_step(step, folder, environment):
    """A description of what is wrong; empty when all is as expected."""
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", step.line],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = (b.decode("utf-8", "replace") for b in process.communicate(timeout=SECONDS))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return f"    still running after {SECONDS} s\n"
    wrong = ""
    if process.returncode != step.code:
        wrong += f"    exit code {process.returncode}, expected {step.code}\n"
    for name, text, lines in (("standard output", out, step.out), ("standard error", err, step.err)):
        if text and not text.endswith("\n"):
            text += "\n"
        if not pattern(lines).fullmatch(text):
            wrong += f"    {name} was\n{indented(text)}    expected\n{indented(chr(10).join(lines))}"
    if wrong and step.code == 0 and process.returncode != 0 and "standard error" not in wrong:
        wrong += f"    standard error was\n{indented(err)}"
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--penstock", type=pathlib.Path, default=SOURCE / "build/dev/bin/penstock")
    parser.add_argument("-k", default="", help="only cases whose name holds this text")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folders")
    args = parser.parse_args()

    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PENSTOCK_", "LC_"))}
    environment.update(
        PATH=f"{args.penstock.resolve().parent}:{environment['PATH']}",
        LANG="C.UTF-8",
        TERM="xterm",
        XDG_CONFIG_HOME=os.devnull,  # no settings of the one who runs this
        STORES=str(SOURCE / "tests/golden/stores"),
        SOURCE=str(SOURCE),
        HERE=str(HERE),
        PYTHON=sys.executable,
    )
    if os.geteuid() == 0:
        no_override = "-dac_override,-dac_read_search"
        environment["UNPRIVILEGED"] = f"setpriv --bounding-set={no_override} --inh-caps={no_override}"
    ran, failed = 0, 0
    for path in args.files or sorted(HERE.glob("*.test")):
        for name, steps in parse(path):
            if args.k not in name:
                continue
            ran += 1
            folder = tempfile.mkdtemp(prefix="penstock-cli-")
            for step in steps:
                wrong = run_step(step, folder, environment)
                if wrong:
                    failed += 1
                    print(f"{path.name}:{step.number}: {name}\n    $ {step.line}\n{wrong}")
                    break
            if args.keep:
                print(f"{path.name}: {name}: {folder}")
            else:
                subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
                shutil.rmtree(folder, ignore_errors=True)
    print(f"{ran - failed} of {ran} cases passed")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
