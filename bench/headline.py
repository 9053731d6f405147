"""The few figures that users look for: penstock beside the best of its peers, as a table and as a picture."""

from dataclasses import dataclass
from statistics import median
from xml.sax.saxutils import escape

from tables import is_peer, rate, rows_of


@dataclass(frozen=True)
class Place:
    """Where a figure stands: file of bench/results, what was measured, on which layout, and what bounds it."""

    label: str
    file: str
    what: str
    layout: str
    ceiling: str = "ceiling"


PLACES = [
    Place("Read, uncompressed", "peers-16-cores", "read", "raw"),
    Place("Read, zstd", "peers-16-cores", "read", "zstd"),
    Place("Read, zstd in shards", "peers-16-cores", "read", "sharded-zstd"),
    Place("Read, blosc-lz4", "peers-16-cores", "read", "blosc-lz4"),
    Place("Read to the GPU, zstd", "gpu-16-cores", "to the device", "zstd", "bus"),
    Place("Random regions, zstd in shards", "peers-2-cores", "regions at once", "small-sharded-zstd"),
    Place("100,000 chunks of 128 bytes", "peers-2-cores", "100,000 chunks", "128 bytes, raw"),
    Place("Write, zstd in shards", "peers-2-cores", "write", "sharded-zstd"),
]
README_PLACES = [1, 4, 7]  # of PLACES


@dataclass(frozen=True)
class Figure:
    label: str
    machine: str
    rates: dict[str, float]  # GB/s of every program
    ceiling: float | None
    digits: int

    @property
    def own(self) -> float:
        return self.rates["penstock"]

    @property
    def best_peer(self) -> str:
        return max((name for name in self.rates if is_peer(name)), key=self.rates.__getitem__)

    @property
    def ratio(self) -> float:
        return self.own / self.rates[self.best_peer]

    def text(self, value: float | None) -> str:
        return "" if value is None else f"{value:.{self.digits}f}"


def figures(results: dict[str, dict]) -> list[Figure]:
    """The rows of PLACES.  `results`: by file name without ending."""
    out = []
    for place in PLACES:
        result = results[place.file]
        row = rows_of(result)[place.what, place.layout]
        rates = {name: rate(r) for name, r in row.items() if r["seconds"]}
        digits = 1 if rates["penstock"] >= 1 else 3
        gpu = f"{result['gpu']}, " if "gpu" in result else ""
        out.append(Figure(place.label, f"{gpu}{result['cores']} cores", rates, rates.get(place.ceiling), digits))
    return out


def table(rows: list[Figure]) -> list[str]:
    lines = ["| GB/s of decoded data | penstock | best peer | ratio | ceiling | machine |", "|---|---|---|---|---|---|"]
    for f in rows:
        peer = f"{f.text(f.rates[f.best_peer])} {f.best_peer}"
        cells = (f.label, f.text(f.own), peer, f"{f.ratio:.1f} x", f.text(f.ceiling), f.machine)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def io_table(result: dict | None) -> list[str]:
    """Bytes between files and a GPU: penstock beside the best of KvikIO, and what bounds both in the same run."""
    if result is None:
        return []
    rows = {(row["what"], row["by"]): row for row in result["results"]}
    ceilings = {"read, warm": ("bus", "copy from pinned memory")}
    lines = ["", f"Files and a GPU ({result['gpu']}, {result['cores']} cores), GB/s:", ""]
    lines += ["| what | penstock | KvikIO's best | ratio | ceiling | share |", "|---|---|---|---|---|---|"]
    for (what, by), row in rows.items():
        if not by.startswith("penstock"):
            continue
        own = rate(row)
        peers = {name: rate(r) for (w, name), r in rows.items() if w == what and name.startswith("kvikio")}
        peer = max(peers, key=peers.__getitem__, default=None)
        ceiling = rows.get(ceilings.get(what, (what, "O_DIRECT, 16 threads")))
        label = what + by.removeprefix("penstock").replace(", ", ": ", 1)
        shown = ["", ""] if peer is None else [f"{peers[peer]:.2f} ({peer})", f"{own / peers[peer]:.1f} x"]
        shown += (
            ["", ""] if ceiling is None else [f"{rate(ceiling):.2f} ({ceiling['by']})", f"{own / rate(ceiling):.0%}"]
        )
        lines.append("| " + " | ".join([label, f"{own:.2f}", *shown]) + " |")
    return lines


CASES = {
    "objects": "1 GiB in 1,024 objects",
    "shard": "1 GiB in one shard of 1,024 chunks",
    "late": "1,000 chunks of 64 KiB behind 50 ms",
    "group": "a group of 200 arrays behind 50 ms",
}


def cloud_table(result: dict | None) -> list[str]:
    """Reads from S3: seconds of the median run, CPU seconds of the reading process."""
    if result is None:
        return []
    found = {(row["case"], row["reader"]): row for row in result["results"]}
    readers = [
        name for name in ("penstock", "tensorstore", "obstore", "zarr-python") if any(r == name for _, r in found)
    ]
    head = f"Reads from S3, {result['cores']} cores: seconds (CPU s)"
    lines = ["", "| " + " | ".join([head, *readers, "requests"]) + " |", "|---" * (len(readers) + 2) + "|"]
    for case, label in CASES.items():
        cells = [label]
        for reader in readers:
            row = found.get((case, reader))
            cells.append("" if row is None else f"{median(row['seconds']):.2f} ({row['cpu_seconds']:.2f})")
        cells.append(str(found[case, "penstock"].get("requests", "")) if (case, "penstock") in found else "")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def geotiff_table(result: dict) -> list[str]:
    """GeoTIFFs: every row that was measured, beside the best peer."""
    place = f"{result['gpu']}, " if "gpu" in result else ""
    head = f"GB/s of decoded data, GeoTIFF; {place}{result['cores']} cores"
    lines = ["", f"| {head} | penstock | best peer | ratio |", "|---|---|---|---|"]
    for (what, layout), row in rows_of(result).items():
        rates = {name: rate(r) for name, r in row.items() if r["seconds"]}
        peers = [name for name in rates if is_peer(name)]
        best = max(peers, key=rates.__getitem__) if peers else None
        peer, ratio = (f"{rates[best]:.3f} {best}", f"{rates['penstock'] / rates[best]:.1f} x") if best else ("", "")
        lines.append(f"| {what}, {layout} | {rates['penstock']:.3f} | {peer} | {ratio} |")
    return lines


def readme_table(rows: list[Figure]) -> list[str]:
    """Three figures, beside tensorstore and zarr-python's quicker pipeline."""
    lines = ["| GB/s of decoded data | penstock | tensorstore | zarr-python | machine |", "|---|---|---|---|---|"]
    for f in (rows[i] for i in README_PLACES):
        zarr = max(f.rates[name] for name in ("zarr-python", "zarr-python-fused") if name in f.rates)
        cells = (f.label, f"**{f.text(f.own)}**", f.text(f.rates["tensorstore"]), f.text(zarr), f.machine)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


ROW_H, LEFT, BAR, RIGHT, TOP = 34, 230, 430, 150, 14


def picture(rows: list[Figure]) -> str:
    """A bar a row: how many times the best peer's rate, which is the line at 1, on a scale that doubles."""
    from math import log2

    most = max(f.ratio for f in rows)
    scale = BAR / log2(2 * most)
    at = {n: LEFT + scale * log2(2 * n) for n in (0.5, 1, 2, 4, 8, 16) if n <= most or n == 1}
    height = TOP + ROW_H * len(rows) + 30
    width = LEFT + BAR + RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="penstock beside the best of its peers: times its rate, a bar for each measurement">',
        "<style>",
        "text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:13px;fill:#1b2733}",
        ".axis{font-size:11px;fill:#51606f;text-anchor:middle}.what{text-anchor:end}",
        "line{stroke:#c9d3dd;stroke-width:1}.peer{stroke:#c08a2b;stroke-width:2}rect{fill:#4a7dab}",
        "</style>",
        f'<rect x="0" y="0" width="{width}" height="{height}" style="fill:#ffffff"/>',
    ]
    bottom = TOP + ROW_H * len(rows)
    for n, x in at.items():
        css = ' class="peer"' if n == 1 else ""
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}"{css}/>')
        name = "best peer" if n == 1 else f"{n:g} x"
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" class="axis">{name}</text>')
    for i, f in enumerate(rows):
        y = TOP + ROW_H * i
        end = LEFT + scale * log2(2 * f.ratio)
        parts.append(f'<text x="{LEFT - 10}" y="{y + 20}" class="what">{escape(f.label)}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y + 5}" width="{end - LEFT:.1f}" height="{ROW_H - 12}"/>')
        parts.append(f'<text x="{end + 8:.1f}" y="{y + 20}">{f.text(f.own)} GB/s, {f.ratio:.1f} x</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
