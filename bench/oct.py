"""Steps of the OCT reconstruction beside what a lab does today: zarr-python with NumPy, or with CuPy on a GPU.

    oct.py overlap [--side N] [--planes N] [--device D]     find-z-overlap beside the loop of the reference, on one core
    oct.py basic [--planes N] [--tiles ROWSxCOLS] [--device D]
    oct.py resample [--tiles ROWSxCOLS] [--device D]        a sharded zstd mosaic; peer: zarr-python and CuPy, a thread reads ahead
    oct.py same [--device D]                                every step on the device beside the CPU: values, not times
    --json FILE adds what was measured to a file; --save writes bench/results/oct-*.json

Both read and write the same files; a time is the least of the rounds, the peers in turn.
"""

import argparse
import json
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import record
import zarr

from penstock import oct as steps

ROUNDS = 3


def image(
    path: Path, shape: tuple[int, ...], chunks: tuple[int, ...], shards: tuple[int, ...] | None, mm: float = 0.01
) -> zarr.Array:
    """An empty OME-NGFF image, float32, zstd."""
    group = zarr.create_group(path, overwrite=True, zarr_format=3)
    axes = [{"name": n, "type": "space", "unit": "millimeter"} for n in "zyx"]
    scale = [{"type": "scale", "scale": [mm] * 3}]
    multiscale = {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}], "name": path.name}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [multiscale]}
    return group.create_array(
        "0", shape=shape, chunks=chunks, shards=shards, dtype="float32", fill_value=0, dimension_names=list("zyx")
    )


def level0(path: Path) -> zarr.Array:
    return zarr.open_array(path / "0", mode="r")


def best(calls: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """The least seconds of each, taken in turn."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def reference_overlap(fixed: np.ndarray, moving: np.ndarray, least: int, most: int) -> tuple[int, float]:
    """Every overlap by itself: both parts to mean 0 and deviation 1, multiplied, averaged."""
    margin = min(fixed.shape[1:]) // 4
    middle = np.s_[:, margin : fixed.shape[1] - margin, margin : fixed.shape[2] - margin]
    found = (least, -2.0)
    for o in range(least, most + 1):
        a, b = fixed[-o:][middle], moving[:o][middle]
        a = (a - a.mean()) / (a.std() + 1e-8)
        b = (b - b.mean()) / (b.std() + 1e-8)
        score = float((a * b).mean())
        if score > found[1]:
            found = (o, score)
    return found


def overlap(folder: Path, planes: int, side: int, device: str) -> dict:
    """21 overlaps about 40 of 60 planes, in the middle half of the image."""
    rng = np.random.default_rng(5)
    shared = planes * 2 // 3
    world = rng.random((2 * planes - shared, side, side), np.float32)
    for name, first in (("a", 0), ("b", planes - shared)):
        image(folder / f"{name}.ome.zarr", (planes, side, side), (100, 100, 100), None)[:] = world[
            first : first + planes
        ]
    fixed, moving = folder / "a.ome.zarr", folder / "b.ome.zarr"
    how = {"slicing_interval_mm": (planes - shared) * 0.01, "search_range_mm": 0.1, "threads": 1}
    made = steps.find_z_overlap(fixed, moving, device=device, **how)

    def peer() -> tuple[int, float]:
        return reference_overlap(level0(fixed)[:], level0(moving)[:], shared - 10, shared + 10)

    expected = peer()
    if made["overlap"] != expected[0] or abs(made["score"] - expected[1]) > 1e-4:
        raise SystemExit(f"overlap {made['overlap']}, score {made['score']}; NumPy {expected}")
    arrays = (level0(fixed)[:], level0(moving)[:])
    seconds = best(
        {
            "penstock": lambda: steps.find_z_overlap(fixed, moving, device=device, **how),
            "numpy": peer,
            "numpy_in_memory": lambda: reference_overlap(*arrays, shared - 10, shared + 10),
        },
        2,
    )
    return {
        "planes": planes,
        "side": side,
        "overlaps": 21,
        "device": device,
        "seconds": seconds,
        "ratio": seconds["numpy"] / seconds["penstock"],
    }


def lit_mosaic(path: Path, planes: int, grid: tuple[int, int], side: int) -> np.ndarray:
    """Tiles that share a flat field, which is returned (mean 1)."""
    rng = np.random.default_rng(3)
    y, x = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    field = (1 - 0.25 * (y * y + x * x) + 0.1 * x).astype(np.float32)
    field /= field.mean()
    array = image(path, (planes, grid[0] * side, grid[1] * side), (planes, side, side), None)
    for i in range(grid[0]):
        for j in range(grid[1]):
            tile = rng.random((planes, side, side), np.float32)
            tile *= 20 * field
            tile += (60 + 40 * rng.random()) * field
            r, c = rng.integers(0, side - side // 3, 2)  # something bright, elsewhere in each tile
            tile[:, r : r + side // 3, c : c + side // 3] += 40 * field[r : r + side // 3, c : c + side // 3]
            array[:, i * side : (i + 1) * side, j * side : (j + 1) * side] = tile
    return field


def basic(folder: Path, planes: int, grid: tuple[int, int], device: str) -> dict:
    """BaSiC of all planes; solve: without reading, percentiles and writing."""
    path = folder / "lit.ome.zarr"
    field = lit_mosaic(path, planes, grid, 128)
    out = folder / "even.ome.zarr"
    start = time.perf_counter()
    made = steps.fix_illumination(path, out, method="basic", device=device, force=True, budget="24GiB")
    seconds = time.perf_counter() - start
    flat = np.load(folder / "even_flatfield.npy")
    return {
        "planes": planes,
        "tiles": grid[0] * grid[1],
        "side": 128,
        "device": device,
        "seconds": seconds,
        "solve_seconds": made["solve_seconds"],
        "iterations": made["iterations"],
        "flat_field_rms": float(np.sqrt(((flat - field) ** 2).mean())),
    }


def reference_resample(source: Path, target: Path, tile: tuple[int, ...], to: tuple[int, ...]) -> None:
    """Tile by tile: a thread reads the next while this one is smoothed, interpolated and written."""
    import cupy as cp
    from cupyx.scipy import ndimage

    array = level0(source)
    rows, cols = array.shape[1] // tile[1], array.shape[2] // tile[2]
    out = image(target, (to[0], rows * to[1], cols * to[2]), to, None)
    ready: queue.Queue = queue.Queue(1)

    def read() -> None:
        for i in range(rows):
            for j in range(cols):
                ready.put((i, j, array[:, i * tile[1] : (i + 1) * tile[1], j * tile[2] : (j + 1) * tile[2]]))

    threading.Thread(target=read, daemon=True).start()
    sigma = [max(0, (n / m - 1) / 2) for n, m in zip(tile, to, strict=True)]
    for _ in range(rows * cols):
        i, j, host = ready.get()
        smooth = ndimage.gaussian_filter(cp.asarray(host), sigma, mode="reflect")
        small = ndimage.zoom(smooth, [m / n for n, m in zip(tile, to, strict=True)], order=1)
        out[:, i * to[1] : (i + 1) * to[1], j * to[2] : (j + 1) * to[2]] = cp.asnumpy(small)


def resample(folder: Path, grid: tuple[int, int], device: str) -> dict:
    """Tiles of 100 x 400 x 400 at 1.875 um to 10 um, four to a shard."""
    tile, um = (100, 400, 400), 1.875
    path = folder / "native.ome.zarr"
    array = image(path, (tile[0], grid[0] * 400, grid[1] * 400), tile, (tile[0], 800, 800), um / 1000)
    rng = np.random.default_rng(1)
    for i in range(0, grid[0], 2):
        for j in range(0, grid[1], 2):
            block = rng.integers(20, 80, (tile[0], 800, 800), np.uint8).astype(np.float32)
            array[:, i * 400 : (i + 2) * 400, j * 400 : (j + 2) * 400] = block
    to = tuple(round(n * um / 10) for n in tile)
    ours, theirs = folder / "ours.ome.zarr", folder / "theirs.ome.zarr"
    calls = {
        "penstock": lambda: steps.resample_mosaic(
            path, ours, resolution_um=10, align="corners", device=device, force=True
        )
    }
    if device != "cpu":
        calls["cupy"] = lambda: reference_resample(path, theirs, tile, to)
    seconds = best(calls, 2)
    row = {"tiles": grid[0] * grid[1], "bytes": int(np.prod(array.shape)) * 4, "device": device, "seconds": seconds}
    if device != "cpu":
        worst = float(np.abs(level0(ours)[:] - level0(theirs)[:]).max())
        row |= {"ratio": seconds["cupy"] / seconds["penstock"], "most_different": worst}
        if worst > 1e-2:  # of values from 20 to 80
            raise SystemExit(f"resampled tiles differ by {worst}")
    return row


def same(folder: Path, device: str) -> dict:
    """Whole subjects and single steps on the device and on the CPU."""
    rows = {}
    for size in ("smoke", "small"):
        subject = folder / size
        steps.simulate(subject, size=size, seed=7)
        how = {"resolution_um": 10, "axial_resolution_um": 10, "slicing_interval_mm": 0.24, "depth_um": 520}
        tables = {}
        for place in ("cpu", device):
            out = folder / f"{size}-{place.replace(':', '')}"
            start = time.perf_counter()
            steps.reconstruct(subject / "raw", out, device=place, shifts=subject / "raw" / "shifts_xy.csv", **how)
            seconds = time.perf_counter() - start
            score = steps.score(out, truth=subject / "truth.json")
            tables[place] = score.text
            rows[f"{size} {place}"] = {"good": score.good, "seconds": seconds}
        rows[f"{size} equal scores"] = tables["cpu"] == tables[device]
        one, other = (
            level0(folder / f"{size}-{p.replace(':', '')}" / "3d_volume.ome.zarr")[:] for p in ("cpu", device)
        )
        rows[f"{size} most different"] = float(np.abs(one - other).max() / np.abs(one).max())
        print(tables["cpu"], tables[device], sep="\n")
    mosaic = folder / "small" / "truth" / "mosaic_grid_z01.ome.zarr"
    singles = {
        "fix_focal_curvature": {},
        "fix_illumination": {"method": "basic", "fit": "slice"},
        "crop_below_interface": {"tiles": True},
        "normalize": {"tiles": True},
        "tissue_interface": {},
    }
    for name, options in singles.items():
        made = {}
        for place in ("cpu", device):
            ending = "npy" if name == "tissue_interface" else "ome.zarr"
            out = folder / f"{name}-{place.replace(':', '')}.{ending}"
            getattr(steps, name)(mosaic, out, device=place, **options)
            made[place] = np.load(out) if ending == "npy" else level0(out)[:]
        rows[f"{name} most different"] = float(np.abs(made["cpu"] - made[device]).max() / np.abs(made["cpu"]).max())
    return {"device": device, "rows": rows}


def grid_of(text: str) -> tuple[int, int]:
    rows, cols = text.split("x")
    return int(rows), int(cols)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["overlap", "basic", "resample", "same"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--planes", type=int, default=60)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--tiles", type=grid_of, default=(15, 20))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    rows = {}
    for what in args.what:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if what == "overlap":
                rows[what] = overlap(folder, args.planes, args.side, args.device)
            elif what == "basic":
                rows[what] = basic(folder, args.planes, args.tiles, args.device)
            elif what == "resample":
                rows[what] = resample(folder, args.tiles, args.device)
            else:
                rows[what] = same(folder, args.device)
        print(json.dumps({what: rows[what]}, indent=1))
    if args.json:
        before = json.loads(args.json.read_text()) if args.json.exists() else []
        args.json.write_text(json.dumps([*before, rows], indent=1) + "\n")
    if args.save:
        cores = 1 if args.what == ["overlap"] and args.device == "cpu" else record.machine()["cores"]
        print(record.save("oct", cores, {"rows": rows}))


if __name__ == "__main__":
    main()
