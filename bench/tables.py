"""Results of bench/results as Markdown tables."""

import statistics

import tables_oct
import tables_oct_steps
import tables_track


def rate(row: dict) -> float:
    """GB/s of the median run."""
    return row["bytes"] / statistics.median(row["seconds"]) / 1e9


def cell(row: dict | None) -> str:
    """ "1.23 (1.10 to 1.30)": GB/s of the median run, and of the slowest and the fastest where they differ."""
    if row is None:
        return ""
    if not row["seconds"]:
        return "failed" if "error" in row else "none"
    rates = [row["bytes"] / s / 1e9 for s in row["seconds"]]
    digits = 2 if max(rates) >= 0.1 else 4
    middle, low, high = (f"{r:.{digits}f}" for r in (rate(row), min(rates), max(rates)))
    return middle if low == high else f"{middle} ({low} to {high})"


def is_peer(program: str) -> bool:
    return not any(word in program for word in ("penstock", "ceiling", "bus"))


def rows_of(result: dict) -> dict[tuple[str, str], dict[str, dict]]:
    """(what, layout) -> program -> row."""
    rows: dict[tuple[str, str], dict[str, dict]] = {}
    for row in result["results"]:
        if row["what"] != "memory":
            rows.setdefault((row["what"], row["layout"]), {})[row["program"]] = row
    return rows


def rate_table(result: dict) -> list[str]:
    """One row a measurement, a column a program.  Columns that nobody filled are left out."""
    rows = rows_of(result)
    if not rows:
        return []
    programs = [name for name in result["versions"] if any(name in row for row in rows.values())]
    if "ceiling" not in programs and any("ceiling" in row for row in rows.values()):
        programs.append("ceiling")
    lines = []
    for (what, layout), row in rows.items():
        done = {name: rate(r) for name, r in row.items() if r["seconds"]}
        own, peers = done.get("penstock"), [r for name, r in done.items() if is_peer(name)]
        ratio = f"{own / max(peers):.2f} x" if own and peers else ""
        share = f"{own / done['ceiling']:.0%}" if own and "ceiling" in done else ""
        lines.append([what, layout, *(cell(row.get(name)) for name in programs), ratio, share])
    head = ["what", "layout", *programs, "of the best peer", "of the ceiling"]
    kept = [i for i in range(len(head)) if any(line[i] for line in lines)]
    table = [[head[i] for i in kept], ["---"] * len(kept), *([line[i] for i in kept] for line in lines)]
    return ["| " + " | ".join(line) + " |" for line in table]


def memory_table(result: dict) -> list[str]:
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


def time_table(result: dict) -> list[str]:
    """Milliseconds, for what moves no data worth counting."""
    lines = ["| what | median ms | fastest | slowest |", "|---|---|---|---|"]
    for row in result["results"]:
        ms = sorted(s * 1e3 for s in row["seconds"])
        what = f"{row['what']} {row['layout']}"
        lines.append(f"| {what} | {statistics.median(ms):.1f} | {ms[0]:.1f} | {ms[-1]:.1f} |")
    return lines


def input_table(result: dict) -> list[str]:
    """What fuzzing came to."""
    earlier = any(row.get("inputs_before") for row in result["results"])
    what = "inputs, with earlier runs" if earlier else "inputs"
    lines = [f"| target | {what} | a second and core | kept as new | crashes |", "|---|---|---|---|---|"]
    for row in result["results"]:
        total = row["inputs"] + row.get("inputs_before", 0)
        numbers = (total, row["inputs_per_core_second"], row["corpus_new"], len(row["crashes"]))
        lines.append(f"| {row['target']} | " + " | ".join(f"{n:,}" for n in numbers) + " |")
    return lines


def durable_table(result: dict) -> list[str]:
    """Seconds of each way to have a write on the disk."""
    ways = list(result["rows"][0]["seconds"])
    lines = [f"Seconds to write {result['mib']} MiB, median of {result['rounds']}:", ""]
    lines += ["| layout | codec | " + " | ".join(ways) + " |", "|---" * (2 + len(ways)) + "|"]
    for row in result["rows"]:
        lines.append(
            f"| {row['layout']} | {row['codec']} | " + " | ".join(f"{row['seconds'][w]:.3f}" for w in ways) + " |"
        )
    return lines


def latency_table(result: dict) -> list[str]:
    """Seconds and requests of each case."""
    lines = ["| case | pipeline | seconds | requests | at once | MB |", "|---|---|---|---|---|---|"]
    for row in result["results"]:
        s = sorted(row["seconds"])
        time = f"{statistics.median(s):.3f} ({s[0]:.3f} to {s[-1]:.3f})"
        numbers = (row["requests"], row["max_under_way"], row["megabytes"])
        lines.append(f"| {row['case']} | {row['pipeline']} | {time} | " + " | ".join(map(str, numbers)) + " |")
    return lines


def operator_table(result: dict) -> list[str]:
    """Milliseconds of each operator and its peer's, and the share of a copy's bandwidth."""
    lines = [
        f"Milliseconds for {result['size']}^3 elements, the least of {result['rounds']} runs, {result['device']} beside "
        f"{result['peer']}; share: of the bandwidth of a copy, were the elements read and the result written once.",
        "",
        f"| operator | penstock | {result['peer'].split()[0]} | ratio | share |",
        "|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        times = f"{row['penstock_ms']:.2f} | {row['peer_ms']:.2f}"
        lines.append(f"| {row['what']} | {times} | {row['ratio']:.1f} x | {row['share']:.0%} |")
    return lines


def scaling_table(result: dict) -> list[str]:
    """Milliseconds with one thread and with all, and what holds them back."""
    gain = result["arithmetic_x"]
    return [
        f"Milliseconds for {result['size']}^3 elements with one thread and with {result['cores']}; pure arithmetic (SHA-256) "
        f"gains {gain:.1f} x from the {result['cores']} of this machine, and a copy by all moves "
        f"{result['copy_gb_s'][1]:.0f} GB/s.",
        "",
        f"| operator | one | all | of {result['cores']} x | of what arithmetic gains | of a copy's bandwidth |",
        "|---|---|---|---|---|---|",
        *(
            f"| {r['what']} | {r['one_ms']:.1f} | {r['all_ms']:.1f} | {r['share']:.0%} | {r['share_of_possible']:.0%} | "
            f"{r['share_of_bandwidth']:.0%} |"
            for r in result["rows"]
        ),
    ]


def tile_table(result: dict) -> list[str]:
    """A filter by tiles beside reading and writing alone."""
    s, extra = result["seconds"], result["extra_bytes"]
    return [
        f"Tile by tile, budget {result['budget']}, device {result['device']}: read and write alone {s['copy']:.2f} s, with "
        f"`gaussian_filter sigma 2` {s['gaussian']:.2f} s ({result['ratio']:.2f} x); at most "
        f"{max(extra.values()) / 2**20:,.0f} MiB beyond what the process had before.",
        "",
        "```",
        *result["explain"].strip().splitlines(),
        "```",
    ]


def cloud_table(result: dict) -> list[str]:
    """Seconds, CPU seconds of the client, memory and requests of each reading."""
    lines = ["| case | reader | seconds | CPU seconds | MiB | requests |", "|---|---|---|---|---|---|"]
    for row in result["results"]:
        s = row["seconds"]
        took = f"{statistics.median(s):.3f} ({s[0]:.3f} to {s[-1]:.3f})"
        numbers = (f"{row['cpu_seconds']:.3f}", row["memory_mib"], row.get("requests", ""))
        lines.append(f"| {row['case']} | {row['reader']} | {took} | " + " | ".join(map(str, numbers)) + " |")
    return lines


def io_table(result: dict) -> list[str]:
    """GB/s of each way, in the order of the figures."""
    lines = ["| what | by | GB/s |", "|---|---|---|"]
    lines += [f"| {row['what']} | {row['by']} | {cell(row)} |" for row in result["results"]]
    return lines


def rates(result: dict) -> list[str]:
    measured = rate_table(result)
    head = ["GB/s of decoded data, median (slowest to fastest):", ""] if measured else []
    return [*head, *measured, *memory_table(result)]


TABLES = {
    "info": time_table,
    "track": time_table,
    "track-peers": tables_track.beside_peers,
    "track-rates": tables_track.rates,
    "linumpy-read": tables_oct.readings,
    "oct-score": tables_oct.score,
    "oct-score-gpu": tables_oct.score,
    "oct-memory": tables_oct.memory,
    "oct-memory-gpu": tables_oct.memory,
    "oct-overlap": tables_oct_steps.overlap,
    "fuzz": input_table,
    "durable": durable_table,
    "latency": latency_table,
    "ndimage": operator_table,
    "ndimage-gpu": operator_table,
    "ndimage-scaling": scaling_table,
    "ndimage-tiles": tile_table,
    "cloud": cloud_table,
    "io": io_table,
}


def section(result: dict) -> list[str]:
    """All that one result file says."""
    machine = result["machine"]
    place = f"{result['gpu']}, " if "gpu" in result else ""
    python = f"; Python {machine['python']}" if "python" in machine else ""
    size = f"; {' x '.join(map(str, result['shape']))} {result['dtype']}" if "shape" in result else ""
    versions = result.get(
        "versions", {"tensorstore": f"tensorstore {result['tensorstore']}"} if "tensorstore" in result else {}
    )
    lines = [
        f"## {result['title'] if 'title' in result else result['benchmark']}, {result['cores']} cores",
        "",
        f"{place}{machine['cpu']}, {result['cores']} cores used, {machine['memory_gib']} GiB; {result['date']}, "
        f"commit {result['commit']}{python}{size}.  "
        + "".join(v + "; " for v in versions.values())
        + f"`bench/results/{result['file']}`.",
        "",
        *TABLES.get(result["benchmark"], rates)(result),
        "",
    ]
    if "note" in result:
        lines += [f"Note: {result['note']}.", ""]
    missing = result.get("missing", {})
    if missing:
        lines += ["Not in this run: " + "; ".join(f"{name} ({why})" for name, why in missing.items()) + ".", ""]
    return lines
