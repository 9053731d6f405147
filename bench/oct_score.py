"""Scores reconstructions of made subjects beside the truth, and measures what a run takes.

    oct_score.py [--penstock PROGRAM] [--device cpu,cuda] [--sizes smoke,small,medium] [--seeds N] [--beside N,N,N]
                 [--budget-mib N] [--folder DIR] [--out DIR] [--keep]

writes bench/results/oct-score-*.json, and oct-score-gpu-* for GPUs.  For each size and seed: simulate; then on each
device reconstruct, fix-focal-curvature of each mosaic, tissue-interface of each slice, score.  Seconds and peak memory
are those of `reconstruct` alone, with the budget that is given or the default one.  With --beside so many subjects are
made at a time (one number, or one for each size); each has all threads, so their seconds say what a machine gets done,
not what one subject takes.  Needs some 20 GiB of disk for each medium one.  Results are written after each subject: a run
that is cut keeps what it has, with a note of what it did not get to, and --keep goes on with it: subjects that the results
have are not made again, and their rows say when and at which commit they were measured.  So do rows say how busy the
machine was when it was: seconds of those are of no use, and stay out of the tables.
"""

import argparse
import functools
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import record

BUSY = 0.5  # load average for each core, above which seconds are not those of the machine alone
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


def one_device(program: str, subject: Path, out: Path, device: str, budget: list[str]) -> dict:
    """What one reconstruction takes, and how good it is."""
    on = ["--device", device]
    load = os.getloadavg()[0]
    shifts = ["--shifts", str(subject / "raw/shifts_xy.csv")]
    done, seconds, peak = penstock(program, "reconstruct", str(subject / "raw"), str(out), *HOW, *shifts, *on, *budget)
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
        **({"load": round(load, 1)} if load > BUSY * len(os.sched_getaffinity(0)) else {}),
        "steps": {name: round(s, 3) for name, s in done["seconds"]["value"].items()},
        "score": {name: row["value"] for name, row in score.items() if "; mark " in row["description"]},
        "marks": {
            name: row["description"].split("; mark ")[1]
            for name, row in score.items()
            if "; mark " in row["description"]
        },
    }


class Results:
    """What is done so far, on disk too."""

    def __init__(self, subjects: list[tuple[str, int]], devices: list[str], head: dict, folder: Path | None) -> None:
        self.subjects, self.devices, self.head, self.folder = subjects, devices, head, folder
        self.rows: dict[tuple[str, int, str], dict] = {}
        self.lock = threading.Lock()
        self.marks: dict[str, str] = {}

    def path(self, device: str) -> Path:
        name = "oct-score" if device == "cpu" else "oct-score-gpu"
        return (self.folder or record.RESULTS) / f"{name}-{len(os.sched_getaffinity(0))}-cores.json"

    def keep(self) -> None:
        """Takes what results files have."""
        for device in self.devices:
            old = json.loads(self.path(device).read_text()) if self.path(device).exists() else {"rows": []}
            if not old["rows"]:
                continue
            self.check_kept(old, device)
            self.marks |= old["marks"]
            measured = {name: old[name] for name in ("date", "commit")}
            for row in old["rows"]:
                self.rows[row["size"], row["seed"], device] = {"measured": measured} | row
                if (row["size"], row["seed"]) not in self.subjects:
                    self.subjects.append((row["size"], row["seed"]))

    def note(self, device: str) -> str:
        """What a reader of the rows must know."""
        groups: dict[str, list[str]] = {}
        for size, seed in self.subjects:
            row, name = self.rows.get((size, seed, device)), f"{size} {seed}"
            if row is None:
                groups.setdefault("the run did not get to these subjects", []).append(name)
            elif "measured" in row:
                before = f"measured on {row['measured']['date']}, commit {row['measured']['commit']}"
                groups.setdefault(before, []).append(name)
            if row is not None and "load" in row:
                groups.setdefault("seconds beside other work", []).append(name)
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in groups.items())

    def check_kept(self, old: dict, device: str) -> None:
        """Rows of one file are of one machine, and made in one way."""
        mine = record.machine()
        pairs = {name: (old["machine"][name], mine[name]) for name in ("cpu", "cores")}
        pairs |= {name: (old.get(name), self.head.get(name)) for name in ("beside", "budget_bytes")}
        if device != "cpu":
            pairs["gpu"] = (old["gpu"], gpu_name())
        for name, (before, now) in pairs.items():
            if before != now:
                raise SystemExit(f"--keep: {self.path(device)}: {name} was {before}, and is {now}")

    def left(self, size: str, seed: int) -> list[str]:
        """Devices that a subject has no row of."""
        return [device for device in self.devices if (size, seed, device) not in self.rows]

    def add(self, size: str, seed: int, device: str, row: dict) -> None:
        with self.lock:
            self.marks |= row.pop("marks")
            self.rows[size, seed, device] = row
            self.save(device)

    def save(self, device: str) -> None:
        gpu = device != "cpu"
        content = {"title": "oct score" + (", GPU" if gpu else ""), "device": device} | self.head
        if gpu:
            content["gpu"] = gpu_name()
        if note := self.note(device):
            content["note"] = note
        rows = [self.rows[size, seed, device] for size, seed in self.subjects if (size, seed, device) in self.rows]
        name, cores = "oct-score-gpu" if gpu else "oct-score", len(os.sched_getaffinity(0))
        record.save(name, cores, content | {"marks": self.marks, "rows": rows}, self.path(device))


def one(program: str, folder: Path, size: str, seed: int, budget: list[str], results: Results) -> None:
    """A subject, reconstructed on each device that it has no row of; nothing of it stays on the disk."""
    devices = results.left(size, seed)
    if not devices:
        return
    subject = folder / "subject"
    made, _, _ = penstock(program, "simulate", str(subject), "--size", size, "--seed", str(seed))
    head = {"size": size, "seed": seed, "raw_bytes": made["raw_bytes"]["value"]}
    for device in devices:
        row = head | one_device(program, subject, folder / "out", device, budget)
        took = f"{row['seconds']} s, {row['peak_bytes'] / 2**20:.0f} MiB"
        print(f"{size} {seed} {device}: {took}", row["score"], flush=True)
        results.add(size, seed, device, row)
    shutil.rmtree(folder)


@functools.cache
def gpu_name() -> str:
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(record.ROOT / "build/release/bin/penstock"))
    parser.add_argument("--device", default="cpu", help="one, or several with commas between them")
    parser.add_argument("--sizes", default="smoke,small,medium")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--beside", default="1", help="subjects at a time; one number, or one for each size")
    parser.add_argument("--budget-mib", type=int, help="of each reconstruction; default: penstock's own")
    parser.add_argument("--folder", type=Path, help="where subjects are made; default: a new one in /tmp")
    parser.add_argument("--out", type=Path, help="folder for the results, made if need be; default: bench/results")
    parser.add_argument("--keep", action="store_true", help="go on with the results that are there")
    arguments = parser.parse_args()
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
    sizes = arguments.sizes.split(",")
    beside = [int(number) for number in arguments.beside.split(",")]
    beside = beside * len(sizes) if len(beside) == 1 else beside
    if len(beside) != len(sizes):
        parser.error(f"--beside: {len(beside)} numbers for {len(sizes)} sizes")
    head, budget = {"beside": beside[0] if len(set(beside)) == 1 else beside}, []
    if arguments.budget_mib:
        head["budget_bytes"] = arguments.budget_mib * 2**20
        budget = ["--budget", str(head["budget_bytes"])]
    seeds = range(1, arguments.seeds + 1)
    subjects = [(size, seed) for size in sizes for seed in seeds]
    results = Results(subjects, arguments.device.split(","), head, arguments.out)
    if arguments.keep:
        results.keep()
    failed: list[str] = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        for size, at_a_time in zip(sizes, beside, strict=True):
            with ThreadPoolExecutor(at_a_time) as pool:
                runs = [
                    pool.submit(one, arguments.penstock, Path(scratch) / f"{size}-{seed}", size, seed, budget, results)
                    for seed in seeds
                ]
            failed += [str(run.exception()) for run in runs if run.exception()]
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
