#!/usr/bin/env python3
"""Runs the programs and commands of a guide, from the first to the last, in this folder, as a reader follows them.

run_guide.py GUIDE.md     exit 1 and the block where one fails; prints how many ran
"""

import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
NEEDS_A_GPU = re.compile(r"enable_gpu|use_stream")


def run_commands(text: str) -> bool:
    for line in text.splitlines():
        if subprocess.run(["bash", "-c", line], check=False).returncode:
            print(f"$ {line}\nhas failed", file=sys.stderr)
            return False
    return True


def run_program(text: str, names: dict[str, Any]) -> bool:
    """`names`: what the programs before it have left."""
    try:
        exec(compile(text, "guide", "exec"), names)
    except Exception:
        print(f"{text}\n{traceback.format_exc()}", file=sys.stderr)
        return False
    return True


def main() -> int:
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    names: dict[str, Any] = {}
    ran = 0
    for match in BLOCK.finditer(Path(sys.argv[1]).read_text(encoding="utf-8")):
        language, text = match.groups()
        if NEEDS_A_GPU.search(text):
            continue
        if not (run_program(text, names) if language == "python" else run_commands(text)):
            return 1
        ran += 1
    print(f"{ran} blocks of {sys.argv[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
