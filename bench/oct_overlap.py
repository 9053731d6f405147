#!/usr/bin/env python3
"""find-z-overlap on one core: every overlap of two slices from one matrix product, beside NumPy's loop over overlaps.

    bench/oct_overlap.py --penstock build/release/bin/penstock [--planes 60] [--side 2048] [--rounds 3] [--folder DIR]

Two slices of float32 are written as OME-Zarr (zstd).  In turns, on one core:
  loop, in memory   NumPy, for each overlap: z-scores of both slabs, the mean of their product; the slices lie in memory
  loop, from files  the same, with the middle of the slices read by zarr-python
  penstock          `penstock oct find-z-overlap --threads 1`, from the files, with the start of the process
The overlap must be the same and the score within 1e-4.  Writes bench/results/oct-overlap-*.json: the least seconds, and the
least seconds of the core itself, which other work on the machine does not change.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import record  # noqa: E402
import zarr  # noqa: E402

SPACING_MM = 0.01
INTERVAL_MM, RANGE_MM = 0.2, 0.1
OURS = "penstock, from files"


def write(path: Path, values: np.ndarray) -> None:
    group = zarr.open_group(path, mode="w")
    made = group.create_array("0", shape=values.shape, chunks=(100, 100, 100), dtype="f4")
    made[...] = values
    axes = [{"name": n, "type": "space", "unit": "millimeter"} for n in "zyx"]
    scale = [{"type": "scale", "scale": [SPACING_MM] * 3}]
    datasets = [{"path": "0", "coordinateTransformations": scale}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}


def make(folder: Path, planes: int, side: int) -> int:
    """Writes two slices that share planes; how many."""
    shared = planes - int(INTERVAL_MM / SPACING_MM) + 3
    rng = np.random.default_rng(0)
    world = rng.standard_normal((2 * planes - shared, side, side), "f4")
    world += np.repeat(np.repeat(rng.standard_normal((len(world), side // 8, side // 8), "f4"), 8, 1), 8, 2)
    write(folder / "fixed.ome.zarr", world[:planes])
    write(folder / "moving.ome.zarr", 3 * world[-planes:] + 5)
    return shared


def middle(array) -> tuple[slice, ...]:
    margin = min(array.shape[1:]) // 4
    return (slice(None), slice(margin, array.shape[1] - margin), slice(margin, array.shape[2] - margin))


def loop(fixed: np.ndarray, moving: np.ndarray) -> tuple[int, float]:
    """The definition, overlap by overlap."""
    planes = min(len(fixed), len(moving))
    expected, reach = planes - round(INTERVAL_MM / SPACING_MM), round(RANGE_MM / SPACING_MM)
    best = (0, -np.inf)
    for overlap in range(max(1, expected - reach), min(planes, expected + reach) + 1):
        a, b = fixed[-overlap:], moving[:overlap]
        a = (a - a.mean()) / (a.std() + 1e-8)
        b = (b - b.mean()) / (b.std() + 1e-8)
        score = float((a * b).mean())
        if score > best[1]:
            best = (overlap, score)
    return best


def by_penstock(penstock: Path, fixed: Path, moving: Path) -> tuple[int, float]:
    call = [penstock, "oct", "find-z-overlap", fixed, moving, "--json", "--threads", "1"]
    options = ["--slicing-interval-mm", str(INTERVAL_MM), "--search-range-mm", str(RANGE_MM)]
    run = subprocess.run([*call, *options], capture_output=True, text=True, check=True)
    metrics = json.loads(run.stdout)["metrics"]
    return metrics["overlap"]["value"], metrics["score"]["value"]


def core_seconds() -> float:
    """Of this process and those that it has waited for."""
    return sum(os.times()[:4])


def save(args: argparse.Namespace, cores: int, seconds: dict[str, list[tuple[float, float]]]) -> None:
    """After each round, so that a run that is stopped has what it measured."""
    rows = [
        {"what": name, "seconds": min(t[0] for t in times), "core_seconds": min(t[1] for t in times)}
        for name, times in seconds.items()
    ]
    for row in rows:
        row["ratio"] = row["core_seconds"] / rows[-1]["core_seconds"]
    content = {
        "shape": [args.planes, args.side, args.side],
        "dtype": "float32",
        "overlaps": 2 * round(RANGE_MM / SPACING_MM) + 1,
        "rounds": len(seconds[OURS]),
        "versions": {"numpy": f"numpy {np.__version__}", "zarr": f"zarr-python {zarr.__version__}"},
        "rows": rows,
    }
    print(record.save("oct-overlap", cores, content), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", type=Path, required=True, help="the binary")
    parser.add_argument("--planes", type=int, default=60)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for the slices; default a temporary one")
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    folder = Path(tempfile.mkdtemp(dir=args.folder))
    try:
        shared = make(folder, args.planes, args.side)
        paths = [folder / f"{name}.ome.zarr" for name in ("fixed", "moving")]
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        arrays = [zarr.open_array(path / "0", mode="r") for path in paths]
        held = [a[middle(a)] for a in arrays]

        ways = {
            "loop, in memory": lambda: loop(*held),
            "loop, from files": lambda: loop(*(a[middle(a)] for a in arrays)),
            OURS: lambda: by_penstock(args.penstock.resolve(), *paths),
        }
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, way in ways.items():
                start, before = time.perf_counter(), core_seconds()
                overlap, score = way()
                seconds[name].append((time.perf_counter() - start, core_seconds() - before))
                took, of_core = seconds[name][-1]
                print(
                    f"{name:22}{took:8.2f} s, {of_core:6.2f} s of the core   {overlap} planes, {score:.5f}", flush=True
                )
                if overlap != shared or abs(score - 1) > 1e-4:
                    raise SystemExit(f"{name}: {overlap} planes with {score}, not {shared} with 1")
            save(args, cores, seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
