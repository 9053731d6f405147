"""README's table of what people use today, a row each: penstock beside it in one run of one machine."""

from collections.abc import Callable
from dataclasses import dataclass

from tables import is_peer, rate, rows_of


@dataclass(frozen=True)
class Row:
    label: str
    own: str
    peer: str
    ratio: float
    machine: str


def machine(result: dict) -> str:
    device = result.get("gpu", result.get("device", "cpu"))
    return f"{result['cores']} cores" if device == "cpu" else f"{device}, {result['cores']} cores"


def small_reads(result: dict) -> Row:
    rates = {r["by"]: rate(r) for r in result["results"] if r["what"] == "10,000 x 64 KiB, warm"}
    own = rates["penstock, pread_many"]
    peer = max(value for name, value in rates.items() if name.startswith("kvikio"))
    return Row(
        "10,000 reads of 64 KiB to the GPU, by one call",
        f"{own:.1f} GB/s",
        f"{peer:.1f} KvikIO",
        own / peer,
        machine(result),
    )


def geotiff(result: dict) -> Row:
    row = rows_of(result)["all cores", "uint16 lzw, predictor 2"]
    rates = {name: rate(r) for name, r in row.items() if r["seconds"]}
    best = max((name for name in rates if is_peer(name)), key=rates.__getitem__)
    own, peer = rates["penstock"], rates[best]
    name = f"GDAL ({best})" if best == "LIBERTIFF" else best
    return Row(
        "GeoTIFF of LZW, all cores", f"{own:.1f} GB/s", f"{peer:.1f} {name}", own / peer, f"{result['cores']} cores"
    )


def operator(what: str, label: str) -> Callable[[dict], Row]:
    def row(result: dict) -> Row:
        r = next(r for r in result["rows"] if r["what"] == what)
        peer = "CuPy" if result["peer"].startswith("cupy") else "scipy"
        times = f"{r['penstock_ms']:.1f} ms", f"{r['peer_ms']:.1f} {peer}"
        place = machine(result) if peer == "CuPy" else "one core"
        return Row(label, *times, r["ratio"], place)

    return row


def tracking(result: dict) -> Row:
    r = next(r for r in result["rows"] if r["what"] == "prob")
    own, peer = r["points_per_second"]
    return Row(
        "Probabilistic tractography", f"{own / 1e6:.1f} M points/s", f"{peer / 1e6:.1f} DIPY", r["ratio"], "one core"
    )


def oct_slices(result: dict) -> Row:
    r = next(r for r in result["rows"] if r["what"] == "zstd in shards")
    own, peer = (r["bytes"] / r["seconds"][name] / 1e9 for name in ("penstock", "zarr-python"))
    return Row(
        "OCT mosaic, zstd in shards, to the GPU",
        f"{own:.1f} GB/s",
        f"{peer:.1f} zarr-python",
        own / peer,
        machine(result),
    )


ROWS: list[tuple[str, Callable[[dict], Row]]] = [
    ("io-16-cores", small_reads),
    ("geotiff-16-cores", geotiff),
    ("ndimage-gpu-16-cores", operator("gaussian_filter sigma 2 float32", "Gaussian of 512^3, sigma 2")),
    ("ndimage-2-cores", operator("median_filter 3 uint16", "Median of 128^3, 3 x 3 x 3")),
    ("track-peers-2-cores", tracking),
    ("linumpy-read-16-cores", oct_slices),
]


def table(results: dict[str, dict]) -> list[str]:
    lines = ["| beside what people use | penstock | peer | ratio | machine |", "|---|---|---|---|---|"]
    for file, row in ROWS:
        r = row(results[file])
        lines.append(f"| {r.label} | **{r.own}** | {r.peer} | {r.ratio:.1f} x | {r.machine} |")
    return lines
