"""Results of bench/oct_overlap.py as Markdown tables."""


def overlap(result: dict) -> list[str]:
    """NumPy's loop beside one matrix product, on one core."""
    planes, rows, columns = result["shape"]
    lines = [
        f"find-z-overlap, {planes} planes of {rows} x {columns}, {result['overlaps']} overlaps:",
        "",
        "| one core | seconds of the core | seconds | penstock is |",
        "|---|---|---|---|",
    ]
    for row in result["rows"]:
        ratio = "" if row["what"].startswith("penstock") else f"{row['ratio']:.1f} x as fast"
        what = row["what"] if row["what"].startswith("penstock") else f"NumPy's {row['what']}"
        lines.append(f"| {what} | {row['core_seconds']:.2f} | {row['seconds']:.2f} | {ratio} |")
    return lines


def pages(result: dict) -> list[str]:
    """For docs/benchmarks.md."""
    if result["benchmark"] != "oct-overlap":
        return []
    return [f"{result['machine']['cpu']}, {result['cores']} cores; {result['date']}:", "", *overlap(result), ""]
