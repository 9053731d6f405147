#!/usr/bin/env python3
"""Prints the first block of a language in README.md, so that tests can compile and run what the README shows.

tools/readme_block.py LANGUAGE [OUT]      LANGUAGE: cpp, python, console
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def block(language: str) -> str:
    match = re.search(rf"^```{re.escape(language)}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    if not match:
        raise SystemExit(f"README.md has no block of {language}")
    return match[1]


if __name__ == "__main__":
    text = block(sys.argv[1])
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
