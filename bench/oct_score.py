"""Scores reconstructions of made subjects beside the truth, and measures what a run takes.

    oct_score.py [--penstock PROGRAM] [--device cpu|cuda] [--sizes smoke,small,medium] [--seeds N] [--folder DIR]

writes bench/results/oct-score-*.json (oct-score-gpu-* for a GPU).  For each size and seed: simulate, reconstruct,
fix-focal-curvature of each mosaic, tissue-interface of each slice, score.  Seconds and peak memory are those of
`reconstruct` alone.  Needs some 3 GiB of disk for medium.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import record

HOW = ["--resolution-um", "10", "--axial-resolution-um", "10", "--slicing-interval-mm", "0.24", "--depth-um", "520"]


def penstock(program: str, *words: str) -> tuple[dict, float, int]:
    """(metrics, seconds, peak bytes of the process) of one step."""
    command = [program, "oct", *words, "--json"]
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        out.seek(0)
        errors.seek(0)
        text, complaint = out.read(), errors.read().decode()
    if child.returncode not in (0, 1) or not text:  # 1: a mark is missed
        raise SystemExit(f"{' '.join(command)}: {child.returncode}: {complaint}")
    return json.loads(text)["metrics"], seconds, usage.ru_maxrss * 1024


def one(program: str, folder: Path, size: str, seed: int, device: list[str]) -> dict:
    subject, out = folder / "subject", folder / "out"
    made, _, _ = penstock(program, "simulate", str(subject), "--size", size, "--seed", str(seed))
    shifts = ["--shifts", str(subject / "raw/shifts_xy.csv")]
    done, seconds, peak = penstock(program, "reconstruct", str(subject / "raw"), str(out), *HOW, *shifts, *device)
    for mosaic in sorted(out.glob("mosaic_grid_z??.ome.zarr")):
        stem = str(mosaic).removesuffix(".ome.zarr")
        penstock(program, "fix-focal-curvature", str(mosaic), f"{stem}_focal.ome.zarr", *device)
        name = stem.replace("mosaic_grid", "slice")
        penstock(program, "tissue-interface", f"{name}_stitch.ome.zarr", f"{name}_interface.npy", *device)
    score, _, _ = penstock(program, "score", str(out), "--truth", str(subject / "truth.json"), *device)
    shutil.rmtree(folder)
    return {
        "size": size,
        "seed": seed,
        "raw_bytes": made["raw_bytes"]["value"],
        "seconds": round(seconds, 2),
        "peak_bytes": peak,
        "steps": {name: round(s, 3) for name, s in done["seconds"]["value"].items()},
        "score": {name: row["value"] for name, row in score.items()},
    } | {"marks": {name: row["description"].split("; mark ")[1] for name, row in score.items()}}


def gpu_name() -> str:
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(record.ROOT / "build/release/bin/penstock"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sizes", default="smoke,small,medium")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where subjects are made; default: a new one in /tmp")
    parser.add_argument("--out", type=Path, help="move the result there")
    arguments = parser.parse_args()
    rows, marks = [], {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        for size in arguments.sizes.split(","):
            for seed in range(1, arguments.seeds + 1):
                row = one(arguments.penstock, Path(scratch) / "run", size, seed, ["--device", arguments.device])
                marks |= row.pop("marks")
                rows.append(row)
                print(
                    f"{size} {seed}: {row['seconds']} s, {row['peak_bytes'] / 2**20:.0f} MiB", row["score"], flush=True
                )
    gpu = arguments.device != "cpu"
    content = {
        "title": "oct score" + (", GPU" if gpu else ""),
        "device": arguments.device,
        "marks": marks,
        "rows": rows,
    }
    if gpu:
        content["gpu"] = gpu_name()
    path = record.save("oct-score-gpu" if gpu else "oct-score", len(os.sched_getaffinity(0)), content)
    print(shutil.move(path, arguments.out) if arguments.out else path)


if __name__ == "__main__":
    main()
