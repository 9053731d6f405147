#!/usr/bin/env python3
"""Checks what the shared library shows: names that a header marks with PENSTOCK_API, and nothing else.

tools/check_exports.py LIBRARY [ROOT]   prints every name that is shown and not marked; exit 1 if there is one
tools/check_exports.py --self-test      proves that the rule can fail
"""

import re
import subprocess
import sys
from pathlib import Path

MARKED = re.compile(r"PENSTOCK_API[^;{(]*?\b(\w+)\s*(?:final\s*)?(?:[({;]|:[^:])")
SHOWN = re.compile(r"(?:(?:typeinfo|typeinfo name|vtable|VTT|guard variable) for )?penstock::(\w+)(?:::(\w+))?")


def marked_names(root: Path) -> set[str]:
    names: set[str] = set()
    for base in ("include/penstock", "src"):
        for path in sorted((root / base).rglob("*.hpp")):
            names.update(MARKED.findall(path.read_text(encoding="utf-8")))
    return names


def breaches(symbols: list[str], marked: set[str]) -> list[str]:
    found = []
    for symbol in symbols:
        match = SHOWN.match(symbol)
        if match is None:
            found.append(f"{symbol}: not of namespace penstock")
        elif marked.isdisjoint(match.groups()):
            found.append(f"{symbol}: no header marks it with PENSTOCK_API")
    return found


def shown_symbols(library: Path) -> list[str]:
    listed = subprocess.run(
        ["nm", "-D", "-C", "--defined-only", str(library)], check=True, capture_output=True, text=True
    ).stdout
    return sorted({line.split(" ", 2)[2] for line in listed.splitlines()})


def self_test() -> int:
    marked = set(
        MARKED.findall("class PENSTOCK_API Array {\nPENSTOCK_API Result<Node> open(const std::string& url);\n")
    )
    assert marked == {"Array", "open"}, marked
    assert (
        breaches(
            ["penstock::Array::read()", "vtable for penstock::Array", "penstock::open(int)", "penstock::io::open()"],
            marked,
        )
        == []
    )
    for bad in ("fmt::v9::format()", "penstock::Job::run()", "typeinfo for nlohmann::json"):
        assert len(breaches([bad], marked)) == 1, bad
    print("exports: self-test good")
    return 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 64
    root = Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).resolve().parent.parent
    symbols = shown_symbols(Path(sys.argv[1]))
    found = breaches(symbols, marked_names(root))
    for line in found:
        print(line)
    print(f"exports: {len(symbols)} symbols, {len(found)} that should be hidden")
    return 1 if found or not symbols else 0


if __name__ == "__main__":
    sys.exit(main())
