"""What the steps of the OCT reconstruction take of memory, and what they read and write, one by one and as one.

    oct_memory.py [--penstock PROGRAM] [--device cpu,cuda] [--size small] [--budget-mib 64] [--folder DIR] [--out DIR]

writes bench/results/oct-memory-*.json, and oct-memory-gpu-* for GPUs.  A subject is made, and reconstructed within the
budget; then resample, focal curvature, illumination, crop and normalise of the mosaic of each slice one by one, and as
one.  Host memory: the most that the process held, less what it holds beside its blocks in a step of the smallest subject.  Blocks: the
most that the step's owner of memory had given at once, on the device where it worked.  Exits 1 where a step took more
than its budget and 64 MiB, or where steps as one moved more than a third.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import record

MIB = 2**20
SPARE = 64 * MIB
HOW = ["--resolution-um", "10", "--axial-resolution-um", "10", "--slicing-interval-mm", "0.24", "--depth-um", "520"]
STEPS: dict[str, dict[str, object]] = {
    "resample-mosaic": {"resolution_um": 11},
    "fix-focal-curvature": {},
    "fix-illumination": {},
    "crop-below-interface": {"depth_um": 300, "tiles": True},
    "normalize": {"tiles": True},
}


def penstock(program: str, *words: str) -> tuple[dict, int]:
    """(metrics, peak bytes of the process) of one step."""
    command = [program, "oct", *words, "--json"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        text, complaint = out.read(), errors.read().decode()
    if child.returncode != 0 or not text:
        raise SystemExit(f"{' '.join(command)}: {child.returncode}: {complaint}")
    return json.loads(text)["metrics"], usage.ru_maxrss * 1024


def options_of(step: str) -> list[str]:
    words = []
    for name, value in STEPS[step].items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return words


def steps_file(path: Path, source: Path, target: Path) -> None:
    lines = [f'input = "{source}"', f'output = "{target}"']
    for step, options in STEPS.items():
        lines += ["[[step]]", f'name = "{step}"', *(f"{k} = {json.dumps(v)}" for k, v in options.items())]
    path.write_text("\n".join(lines) + "\n")


class Measured:
    """Rows of one device, within one budget."""

    def __init__(self, program: str, device: str, budget: int) -> None:
        self.program, self.budget = program, budget
        self.common = ["--device", device, "--budget", str(budget)]
        self.rows: list[dict] = []
        self.base = 0

    def run(self, name: str, *words: str) -> dict:
        metrics, peak = penstock(self.program, *words, *self.common)
        row = {"what": name, "host_bytes": max(peak - self.base, 0)}
        row["blocks_bytes"] = metrics["peak_memory_bytes"]["value"]
        for key in ("read_bytes", "written_bytes"):
            if key in metrics:
                row[key] = metrics[key]["value"]
        row["within"] = row["host_bytes"] <= self.budget + SPARE and row["blocks_bytes"] <= self.budget
        self.rows.append(row)
        print(json.dumps(row), flush=True)
        return row

    def start_up(self, subject: Path, out: Path) -> None:
        """What the process takes for itself: that of a small step, without the step's blocks."""
        words = ["aip", str(subject / "truth/mosaic_grid_z00.ome.zarr"), str(out / "start.ome.zarr"), *self.common]
        metrics, peak = penstock(self.program, *words)
        self.base = peak - metrics["peak_memory_bytes"]["value"]

    def fused(self, mosaics: list[Path], out: Path) -> dict:
        """Bytes that went, of all slices."""
        moved = {"one_by_one": 0, "as_one": 0}
        for k, mosaic in enumerate(mosaics):
            source = mosaic
            for step in STEPS:
                target = out / f"{step}_{k}.ome.zarr"
                row = self.run(f"{step}, slice {k}", step, str(source), str(target), *options_of(step))
                moved["one_by_one"] += row["read_bytes"] + row["written_bytes"]
                source = target
            steps_file(out / f"steps_{k}.toml", mosaic, out / f"fused_{k}.ome.zarr")
            row = self.run(f"as one, slice {k}", "run", str(out / f"steps_{k}.toml"))
            moved["as_one"] += row["read_bytes"] + row["written_bytes"]
        return moved | {"part": round(moved["as_one"] / moved["one_by_one"], 4)}


def one_device(program: str, device: str, budget: int, size: str, folder: Path) -> dict:
    tiny, subject, out = folder / "tiny", folder / "subject", folder / f"out-{device.replace(':', '')}"
    out.mkdir()
    for path, wanted in ((tiny, "smoke"), (subject, size)):
        if not path.exists():
            penstock(program, "simulate", str(path), "--size", wanted, "--seed", "1")
    measured = Measured(program, device, budget)
    measured.start_up(tiny, out)
    shifts = ["--shifts", str(subject / "raw/shifts_xy.csv")]
    measured.run("reconstruct", "reconstruct", str(subject / "raw"), str(out / "whole"), *HOW, *shifts)
    moved = measured.fused(sorted((subject / "truth").glob("mosaic_grid_z??.ome.zarr")), out)
    print(json.dumps(moved))
    return {
        "title": "oct memory" + ("" if device == "cpu" else ", GPU"),
        "device": device,
        "size": size,
        "budget_bytes": budget,
        "start_bytes": measured.base,
        "moved_bytes": moved,
        "rows": measured.rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=str(record.ROOT / "build/release/bin/penstock"))
    parser.add_argument("--device", default="cpu", help="one, or several with commas between them")
    parser.add_argument("--size", default="small", help="of the subject")
    parser.add_argument("--budget-mib", type=int, default=64)
    parser.add_argument("--folder", type=Path, help="where subjects are made; default: a new one in /tmp")
    parser.add_argument("--out", type=Path, help="folder for the results, made if need be; default: bench/results")
    arguments = parser.parse_args()
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
    good = True
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        for device in arguments.device.split(","):
            made = one_device(arguments.penstock, device, arguments.budget_mib * MIB, arguments.size, Path(scratch))
            good = good and all(row["within"] for row in made["rows"]) and made["moved_bytes"]["part"] <= 1 / 3
            name, cores = "oct-memory" if device == "cpu" else "oct-memory-gpu", len(os.sched_getaffinity(0))
            path = arguments.out / f"{name}-{cores}-cores.json" if arguments.out else None
            print(record.save(name, cores, made, path))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
