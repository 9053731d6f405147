#!/usr/bin/env python3
"""Draws bench/results/*.json: the figures of README.md and docs/benchmarks.md with its picture, all tables into
bench/results/README.md, and fuzzing into docs/fuzzing.md.

    bench/compare.py            writes the pages
    bench/compare.py --check    exit 1 when a page is not what the results say

One result file a benchmark and machine; what was measured before is in the history.  A ratio is penstock's rate over
the best peer's in the same run; the ceiling is no peer.
"""

import json
import sys
from pathlib import Path

import headline
import tables
import tables_oct
import tables_oct_steps
import tables_peers
import tables_track

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


def between_marks(text: str, lines: list[str], what: str = "") -> str:
    """A page with `lines` between its begin and end marks; `what`: of those of that name."""
    begin, end = (f"<!-- {mark}: bench/compare.py{what} -->" for mark in ("begin", "end"))
    head, rest = text.split(begin)
    return f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.split(end)[1]}"


def benchmarks(rows: list, results: dict[str, dict]) -> str:
    geotiffs = sorted((r for r in results.values() if r["benchmark"] == "geotiff"), key=lambda r: r["cores"])
    gpu_files = max((r for r in results.values() if r["benchmark"] == "io"), key=lambda r: r["cores"], default=None)
    drawn = [
        *headline.table(rows),
        *headline.cloud_table(results.get("cloud-2-cores")),
        *headline.io_table(gpu_files),
        *(line for r in geotiffs for line in headline.geotiff_table(r)),
        *operators(results),
    ]
    text = between_marks((ROOT / "docs/benchmarks.md").read_text(), drawn)
    tracking = [line for r in results.values() for line in tables_track.pages(r)]
    text = between_marks(text, tracking, ", tracking")
    scores = [line for r in results.values() for line in tables_oct.pages(r)]
    text = between_marks(text, scores, ", oct")
    steps = [line for r in results.values() for line in tables_oct_steps.pages(r)]
    return between_marks(text, steps, ", oct steps")


def readme(rows: list, results: dict[str, dict]) -> str:
    text = between_marks((ROOT / "README.md").read_text(), headline.readme_table(rows))
    return between_marks(text, tables_peers.table(results), ", peers")


def pages(results: dict[str, dict]) -> dict[Path, str]:
    """What each page should hold."""
    rows = headline.figures(results)
    measured = [line for r in results.values() if r["benchmark"] != "fuzz" for line in tables.section(r)]
    fuzzed = [line for r in results.values() if r["benchmark"] == "fuzz" for line in tables.section(r)]
    return {
        ROOT / "README.md": readme(rows, results),
        ROOT / "docs/benchmarks.md": benchmarks(rows, results),
        ROOT / "docs/benchmarks.svg": headline.picture(rows),
        RESULTS / "README.md": between_marks((RESULTS / "README.md").read_text(), measured),
        ROOT / "docs/fuzzing.md": between_marks((ROOT / "docs/fuzzing.md").read_text(), fuzzed),
    }


def operators(results: dict[str, dict]) -> list[str]:
    """The tables of image operators, for docs/benchmarks.md."""
    measured = [r for r in results.values() if r["benchmark"] in ("ndimage", "ndimage-gpu")]
    lines = ["", "## Image operators"] if measured else []
    for result in measured:
        lines += ["", *tables.operator_table(result)]
    for result in results.values():
        if result["benchmark"] == "ndimage-scaling":
            lines += ["", *tables.scaling_table(result)]
        if result["benchmark"] == "ndimage-tiles":
            lines += ["", *tables.tile_table(result)]
    return lines


def main() -> int:
    results = {path.stem: json.loads(path.read_text()) | {"file": path.name} for path in sorted(RESULTS.glob("*.json"))}
    wrong = 0
    for page, text in pages(results).items():
        if page.exists() and page.read_text() == text:
            continue
        if "--check" in sys.argv:
            print(f"{page.relative_to(ROOT)} is not what bench/results say; run bench/compare.py")
            wrong = 1
        else:
            page.write_text(text)
            print(page.relative_to(ROOT))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
