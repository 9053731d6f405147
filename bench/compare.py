#!/usr/bin/env python3
"""Draws bench/results/*.json as tables into docs/benchmarks.md, between its begin and end marks.

    bench/compare.py            writes the page
    bench/compare.py --check    exit 1 when the page is not what the results say

For each benchmark and number of cores the newest result counts.  A ratio is penstock's rate over the best peer's in the
same run; the ceiling is no peer.
"""

import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- begin: bench/compare.py -->", "<!-- end: bench/compare.py -->"


def newest() -> list[dict]:
    """The newest result of each benchmark, machine and number of cores."""
    latest: dict[tuple, dict] = {}
    for path in sorted((ROOT / "bench" / "results").glob("*.json")):
        result = json.loads(path.read_text()) | {"file": path.name}
        key = (result["benchmark"], result["machine"]["cpu"], result.get("gpu", ""), result["cores"])
        if key not in latest or (result["date"], path.name) > (latest[key]["date"], latest[key]["file"]):
            latest[key] = result
    return [latest[key] for key in sorted(latest)]


def cell(row: dict | None) -> str:
    """ "1.23 (1.10 to 1.30)": GB/s of the median run, of the slowest and of the fastest."""
    if row is None:
        return ""
    if not row["seconds"]:
        return "failed" if "error" in row else "none"
    rate = [row["bytes"] / s / 1e9 for s in row["seconds"]]
    digits = 2 if max(rate) >= 0.1 else 4
    middle = row["bytes"] / statistics.median(row["seconds"]) / 1e9
    return f"{middle:.{digits}f} ({min(rate):.{digits}f} to {max(rate):.{digits}f})"


def rate(row: dict) -> float:
    return row["bytes"] / statistics.median(row["seconds"]) / 1e9


def table(result: dict) -> list[str]:
    rows: dict[tuple[str, str], dict[str, dict]] = {}
    for row in result["results"]:
        if row["what"] != "memory":
            rows.setdefault((row["what"], row["layout"]), {})[row["program"]] = row
    if not rows:
        return []
    programs = [name for name in result["versions"] if any(name in row for row in rows.values())]
    if "ceiling" not in programs and any("ceiling" in row for row in rows.values()):
        programs.append("ceiling")
    lines = [
        "| what | layout | " + " | ".join(programs) + " | of the best peer | of the ceiling |",
        "|---|---|" + "---|" * (len(programs) + 2),
    ]
    for (what, layout), row in rows.items():
        done = {name: rate(r) for name, r in row.items() if r["seconds"]}
        own = done.get("penstock")
        peers = [r for name, r in done.items() if not any(word in name for word in ("penstock", "ceiling", "bus"))]
        ratio = f"{own / max(peers):.2f} x" if own and peers else ""
        share = f"{own / done['ceiling']:.0%}" if own and "ceiling" in done else ""
        cells = " | ".join(cell(row.get(name)) for name in programs)
        lines.append(f"| {what} | {layout} | {cells} | {ratio} | {share} |")
    return lines


def memory(result: dict) -> list[str]:
    """Peak memory beyond the output, where it was measured."""
    rows = [row for row in result["results"] if "extra_bytes" in row]
    if not rows:
        return []
    layouts = list(dict.fromkeys(row["layout"] for row in rows))
    programs = list(dict.fromkeys(row["program"] for row in rows))
    found = {(row["program"], row["layout"]): row["extra_bytes"] for row in rows}
    lines = ["", "Peak memory beyond the output of one read in a fresh process, MiB:", ""]
    lines += ["| program | " + " | ".join(layouts) + " |", "|---|" + "---|" * len(layouts)]
    for program in programs:
        values = (found.get((program, layout)) for layout in layouts)
        lines.append(f"| {program} | " + " | ".join("" if v is None else f"{v / 2**20:,.0f}" for v in values) + " |")
    return lines


def times(result: dict) -> list[str]:
    """Milliseconds, for what moves no data worth counting."""
    lines = ["| what | median ms | fastest | slowest |", "|---|---|---|---|"]
    for row in result["results"]:
        ms = sorted(s * 1e3 for s in row["seconds"])
        what = f"{row['what']} {row['layout']}"
        lines.append(f"| {what} | {statistics.median(ms):.1f} | {ms[0]:.1f} | {ms[-1]:.1f} |")
    return lines


def inputs(result: dict) -> list[str]:
    """What fuzzing came to."""
    earlier = any(row.get("inputs_before") for row in result["results"])
    what = "inputs, with earlier runs" if earlier else "inputs"
    lines = [f"| target | {what} | a second and core | kept as new | crashes |", "|---|---|---|---|---|"]
    for row in result["results"]:
        total = row["inputs"] + row.get("inputs_before", 0)
        numbers = (total, row["inputs_per_core_second"], row["corpus_new"], len(row["crashes"]))
        lines.append(f"| {row['target']} | " + " | ".join(f"{n:,}" for n in numbers) + " |")
    return lines


def rates(result: dict) -> list[str]:
    measured = table(result)
    head = ["GB/s of decoded data, median (slowest to fastest):", ""] if measured else []
    return [*head, *measured, *memory(result)]


def section(result: dict) -> list[str]:
    machine = result["machine"]
    place = f"{result['gpu']}, " if "gpu" in result else ""
    python = f"; Python {machine['python']}" if "python" in machine else ""
    size = f"; {' x '.join(map(str, result['shape']))} {result['dtype']}" if "shape" in result else ""
    lines = [
        f"### {result['title'] if 'title' in result else result['benchmark']}, {result['cores']} cores",
        "",
        f"{place}{machine['cpu']}, {result['cores']} cores used, {machine['memory_gib']} GiB; {result['date']}, "
        f"commit {result['commit']}{python}{size}.  "
        + "".join(v + "; " for v in result["versions"].values())
        + f"`bench/results/{result['file']}`.",
        "",
        *{"info": times, "fuzz": inputs}.get(result["benchmark"], rates)(result),
        "",
    ]
    if "note" in result:
        lines += [f"Note: {result['note']}.", ""]
    missing = result.get("missing", {})
    if missing:
        lines += ["Not in this run: " + "; ".join(f"{name} ({why})" for name, why in missing.items()) + ".", ""]
    return lines


def main() -> int:
    text = PAGE.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    results = newest()
    body = "\n".join(line for result in results for line in section(result)) or "No results yet.\n"
    new = f"{head}{BEGIN}\n{body}{END}{tail}"
    if "--check" in sys.argv:
        if new != text:
            print("docs/benchmarks.md is not what bench/results say; run bench/compare.py")
        return int(new != text)
    PAGE.write_text(new)
    print(f"{PAGE.relative_to(ROOT)}: {len(results)} results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
