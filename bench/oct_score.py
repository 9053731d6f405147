"""Scores reconstructions of made subjects beside the truth, and measures what a run takes.

    oct_score.py [--penstock PROGRAM] [--device cpu,cuda] [--sizes smoke,small,medium] [--seeds N] [--beside N]
                 [--folder DIR] [--out DIR]

writes bench/results/oct-score-*.json, and oct-score-gpu-* for GPUs.  For each size and seed: simulate; then on each
device reconstruct, fix-focal-curvature of each mosaic, tissue-interface of each slice, score.  Seconds and peak memory
are those of `reconstruct` alone.  With --beside so many subjects are made at a time; each has all threads, so their
seconds say what a machine gets done, not what one subject takes.  Needs some 3 GiB of disk for each medium one.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
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


def one_device(program: str, subject: Path, out: Path, device: str) -> dict:
    """What one reconstruction takes, and how good it is."""
    on = ["--device", device]
    shifts = ["--shifts", str(subject / "raw/shifts_xy.csv")]
    done, seconds, peak = penstock(program, "reconstruct", str(subject / "raw"), str(out), *HOW, *shifts, *on)
    for mosaic in sorted(out.glob("mosaic_grid_z??.ome.zarr")):
        stem = str(mosaic).removesuffix(".ome.zarr")
        penstock(program, "fix-focal-curvature", str(mosaic), f"{stem}_focal.ome.zarr", *on)
        name = stem.replace("mosaic_grid", "slice")
        penstock(program, "tissue-interface", f"{name}_stitch.ome.zarr", f"{name}_interface.npy", *on)
    score, _, _ = penstock(program, "score", str(out), "--truth", str(subject / "truth.json"), *on)
    shutil.rmtree(out)
    return {
        "seconds": round(seconds, 2),
        "peak_bytes": peak,
        "steps": {name: round(s, 3) for name, s in done["seconds"]["value"].items()},
        "score": {name: row["value"] for name, row in score.items() if "; mark " in row["description"]},
        "marks": {
            name: row["description"].split("; mark ")[1]
            for name, row in score.items()
            if "; mark " in row["description"]
        },
    }


def one(program: str, folder: Path, size: str, seed: int, devices: list[str]) -> dict[str, dict]:
    """The row of a subject for each device; nothing of it stays on the disk."""
    subject = folder / "subject"
    made, _, _ = penstock(program, "simulate", str(subject), "--size", size, "--seed", str(seed))
    head = {"size": size, "seed": seed, "raw_bytes": made["raw_bytes"]["value"]}
    rows = {}
    for device in devices:
        row = rows[device] = head | one_device(program, subject, folder / "out", device)
        took = f"{row['seconds']} s, {row['peak_bytes'] / 2**20:.0f} MiB"
        print(f"{size} {seed} {device}: {took}", row["score"], flush=True)
    shutil.rmtree(folder)
    return rows


def gpu_name() -> str:
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def save(rows: list[dict], device: str, beside: int, folder: Path | None) -> Path:
    gpu = device != "cpu"
    marks: dict[str, str] = {}
    for row in rows:
        marks |= row.pop("marks")
    content = {"title": "oct score" + (", GPU" if gpu else ""), "device": device, "beside": beside, "marks": marks}
    if gpu:
        content["gpu"] = gpu_name()
    name, cores = "oct-score-gpu" if gpu else "oct-score", len(os.sched_getaffinity(0))
    path = folder / f"{name}-{cores}-cores.json" if folder else None
    return record.save(name, cores, content | {"rows": rows}, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(record.ROOT / "build/release/bin/penstock"))
    parser.add_argument("--device", default="cpu", help="one, or several with commas between them")
    parser.add_argument("--sizes", default="smoke,small,medium")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--beside", type=int, default=1, help="subjects at a time")
    parser.add_argument("--folder", type=Path, help="where subjects are made; default: a new one in /tmp")
    parser.add_argument("--out", type=Path, help="folder for the results, made if need be; default: bench/results")
    arguments = parser.parse_args()
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
    devices = arguments.device.split(",")
    subjects = [(size, seed) for size in arguments.sizes.split(",") for seed in range(1, arguments.seeds + 1)]
    with (
        tempfile.TemporaryDirectory(dir=arguments.folder) as scratch,
        ThreadPoolExecutor(arguments.beside) as pool,
    ):
        made = list(
            pool.map(
                lambda subject: one(arguments.penstock, Path(scratch) / "{}-{}".format(*subject), *subject, devices),
                subjects,
            )
        )
    for device in devices:
        print(save([rows[device] for rows in made], device, arguments.beside, arguments.out))


if __name__ == "__main__":
    main()
