#!/usr/bin/env python3
"""find_z_overlap on one core: every overlap of two slices from one matrix product, beside NumPy's loop over overlaps.

    bench/oct_overlap.py [--planes 60] [--side 2048] [--rounds 3] [--folder DIR]

Two slices of float32 are written as OME-Zarr (zstd).  In turns, on one core:
  loop, in memory   NumPy, for each overlap: z-scores of both slabs, the mean of their product; the slices lie in memory
  loop, from files  the same, with the middle of the slices read by zarr-python
  penstock          `oct find-z-overlap`, from the files
The overlap must be the same and the score within 1e-4.  Writes bench/results/oct-overlap-*.json: the least seconds.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  after the number of threads is set
import record  # noqa: E402  after the number of threads is set
import zarr  # noqa: E402  after the number of threads is set

import penstock as ps  # noqa: E402  after the number of threads is set
from penstock import oct  # noqa: E402  after the number of threads is set

SPACING_MM = 0.01
INTERVAL_MM, RANGE_MM = 0.2, 0.1


def write(path: Path, values: np.ndarray) -> None:
    made = ps.create(
        path / "0", shape=values.shape, dtype="f4", chunks=(100, 100, 100), dimension_names=("z", "y", "x")
    )
    made[...] = values
    group = zarr.open_group(path, mode="a")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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

        def by_penstock() -> tuple[int, float]:
            done = oct.find_z_overlap(*paths, slicing_interval_mm=INTERVAL_MM, search_range_mm=RANGE_MM, threads=1)
            return done["overlap"], done["score"]

        ways = {
            "loop, in memory": lambda: loop(*held),
            "loop, from files": lambda: loop(*(a[middle(a)] for a in arrays)),
            "penstock, from files": by_penstock,
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, way in ways.items():
                start = time.perf_counter()
                overlap, score = way()
                seconds[name].append(time.perf_counter() - start)
                print(f"{name:22}{seconds[name][-1]:8.2f} s   {overlap} planes, score {score:.5f}", flush=True)
                if overlap != shared or abs(score - 1) > 1e-4:
                    raise SystemExit(f"{name}: {overlap} planes with {score}, not {shared} with 1")
        least = {name: min(times) for name, times in seconds.items()}
        ours = least.pop("penstock, from files")
        content = {
            "shape": [args.planes, args.side, args.side],
            "overlaps": 2 * round(RANGE_MM / SPACING_MM) + 1,
            "used_cores": 1,
            "seconds": {**least, "penstock, from files": ours},
            "ratios": {name: other / ours for name, other in least.items()},
            "peers": {"numpy": np.__version__, "zarr": zarr.__version__},
        }
        print(content["ratios"])
        print(record.save("oct-overlap", cores, content))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
