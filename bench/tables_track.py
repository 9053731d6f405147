"""Results of bench/track.py and bench/track_rates.py as Markdown tables."""


def number(value: float) -> str:
    """ "1.55 M", "230 k", "12"."""
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def beside_peers(result: dict) -> list[str]:
    """One core beside DIPY and MRtrix: rates, and whether the streamlines are the same."""
    dipy, mrtrix = (f"{name} {result['peers'][key]}" for name, key in (("DIPY", "dipy"), ("MRtrix", "mrtrix")))
    lines = [
        "| one core | penstock | peer | ratio | streamlines | mean points | density r |",
        "|---|---|---|---|---|---|---|",
    ]
    own = {row["what"]: row for row in result["rows"]}
    for row in result["rows"]:
        if row["what"] == "csd":
            mine, other = row["voxels_per_second"]
            lines.append(
                f"| csd, order 8 | {number(mine)} voxels/s | {number(other)} {dipy} | {row['ratio']:.1f} x | | | |"
            )
        elif "beside" in row:
            mine = own[row["beside"]]["points_per_second"][0]
            lines.append(
                f"| {row['beside']} | {number(mine)} points/s | {number(row['points_per_second'])} {mrtrix} "
                f"{row['what']} | {row['ratio']:.1f} x | | | |"
            )
        else:
            mine, other = row["points_per_second"]
            streamlines = " and ".join(f"{n:,}" for n in row["streamlines"])
            points = " and ".join(f"{n:.2f}" for n in row["mean_points"])
            lines.append(
                f"| {row['what']} | {number(mine)} points/s | {number(other)} {dipy} | {row['ratio']:.1f} x | "
                f"{streamlines} | {points} | {row['density_r']:.4f} |"
            )
    return lines + notes(own)


def notes(own: dict[str, dict]) -> list[str]:
    lines = []
    if "within_0.25_mm" in own.get("det", {}):
        lines.append(
            f"Of det {own['det']['within_0.25_mm']:.2%} of DIPY's streamlines lie within 0.25 mm of penstock's."
        )
    if "dipy_again" in own.get("prob", {}):
        again = own["prob"]["dipy_again"]
        lines.append(
            f"DIPY's prob once more, with another random seed: {again['streamlines']:,} streamlines, "
            f"{again['mean_points']:.2f} points, r {again['density_r']:.4f} with its first run."
        )
    return ["", " ".join(lines)] if lines else []


def rates(result: dict) -> list[str]:
    """Kernels and delivery on this machine."""
    lines = [
        "| what | where | seeds/s | points/s | delivered, seeds/s | bytes of the file | of all cores |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        if row["what"] == "csd":
            lines.append(f"| csd, order 8 | {row['where']} | {number(row['voxels_per_second'])} voxels/s | | | | |")
            continue
        cores = f"{row['of_cores']:.0%}" if "of_cores" in row else ""
        lines.append(
            f"| {row['what']} | {row['where']} | {number(row['seeds_per_second'])} | "
            f"{number(row['points_per_second'])} | {number(row['delivered_seeds_per_second'])} | "
            f"{number(row['file_bytes'])} | {cores} |"
        )
    return lines


def pages(result: dict) -> list[str]:
    """What docs/benchmarks.md shows of a result; nothing of other benchmarks."""
    table = {"track-peers": beside_peers, "track-rates": rates}.get(result["benchmark"])
    if table is None:
        return []
    machine = result["gpu"] if "gpu" in result else result["machine"]["cpu"]
    return [f"{machine}, {result['cores']} cores; {result['date']}:", "", *table(result), ""]
