"""Results of bench/oct_score.py and bench/linumpy_read.py as Markdown tables."""

import statistics


def score(result: dict) -> list[str]:
    """The worst of all seeds for each quantity and size, beside its mark."""
    sizes = list(dict.fromkeys(row["size"] for row in result["rows"]))
    seeds = {size: [row for row in result["rows"] if row["size"] == size] for size in sizes}
    lines = ["| quantity, the worst of all slices and seeds | " + " | ".join(sizes) + " | mark |"]
    lines += ["|---" * (len(sizes) + 2) + "|"]
    for name, mark in result["marks"].items():
        worst = min if mark.startswith("at least") else max
        cells = []
        for size in sizes:
            values = [row["score"][name] for row in seeds[size] if name in row["score"]]
            cells.append(f"{worst(values):.3g}" if values else "")
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {mark} |")
    lines.append("| subjects | " + " | ".join(f"{len(seeds[s])}" for s in sizes) + " | |")
    lines.append("| raw tiles, MiB | " + " | ".join(f"{seeds[s][0]['raw_bytes'] / 2**20:,.0f}" for s in sizes) + " | |")
    for label, key, unit, digits in (
        ("seconds, median", "seconds", 1, 1),
        ("peak memory of the process, MiB, largest", "peak_bytes", 2**20, 0),
    ):
        pick = statistics.median if key == "seconds" else max
        # Seconds that were measured beside other work say nothing; memory does.
        of = {s: [row[key] for row in seeds[s] if key != "seconds" or "load" not in row] for s in sizes}
        cells = (f"{pick(of[s]) / unit:,.{digits}f}" if of[s] else "" for s in sizes)
        lines.append(f"| {label} | " + " | ".join(cells) + " | |")
    return lines


def readings(result: dict) -> list[str]:
    """Arrays into the memory of a GPU, beside zarr-python."""
    programs = list(dict.fromkeys(name for row in result["rows"] for name in row["seconds"]))
    lines = ["| float32, GB/s of elements | stored | " + " | ".join(programs) + " | ratio |"]
    lines += ["|---" * (len(programs) + 3) + "|"]
    for row in result["rows"]:
        rates = (f"{row['bytes'] / row['seconds'][p] / 1e9:.2f}" if p in row["seconds"] else "" for p in programs)
        ratio = row["seconds"]["zarr-python"] / row["seconds"]["penstock"]
        stored = f"{row['stored_bytes'] / row['bytes']:.0%}"
        lines.append(f"| {row['what']} | {stored} | " + " | ".join(rates) + f" | {ratio:.1f} x |")
    return lines


def pages(result: dict) -> list[str]:
    """For docs/benchmarks.md."""
    tables = {
        "linumpy-read": readings,
        "oct-score": score,
        "oct-score-gpu": score,
        "oct-memory": memory,
        "oct-memory-gpu": memory,
    }
    if result["benchmark"] not in tables:
        return []
    table = tables[result["benchmark"]]
    place = result.get("gpu", result["machine"]["cpu"])
    numbers = result.get("beside", 1)
    words = " and ".join(map(str, numbers)) if isinstance(numbers, list) else str(numbers)
    beside = f", {words} subjects at a time" if numbers != 1 else ""
    return [f"{place}, {result['cores']} cores{beside}; {result['date']}:", "", *table(result), ""]


def memory(result: dict) -> list[str]:
    """The largest of all slices for each step, in MiB, and what steps done as one move."""
    steps: dict[str, list[dict]] = {}
    for row in result["rows"]:
        steps.setdefault(row["what"].split(",")[0], []).append(row)
    lines = [
        f"Device {result['device']}, budget {result['budget_bytes'] / 2**20:.0f} MiB, subject {result['size']}; MiB, the largest of "
        "all slices:",
        "",
    ]
    lines += ["| step | of the machine | blocks | read | written |", "|---|---|---|---|---|"]
    for name, rows in steps.items():
        cells = (
            f"{max(row[key] for row in rows) / 2**20:,.0f}" if all(key in row for row in rows) else ""
            for key in ("host_bytes", "blocks_bytes", "read_bytes", "written_bytes")
        )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    moved = result["moved_bytes"]
    return [*lines, "", f"As one the steps read and write {moved['part']:.0%} of what they do one by one."]
