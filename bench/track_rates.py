"""Rates of tracking on this machine, by the command alone: kernels, delivery to a file, cores against one.

    track_rates.py [--penstock PROGRAM] [--rounds N] [--devices cuda,cpu]     writes bench/results/track-rates-*.json

Needs numpy, and for "cuda" a GPU.  A phantom of five bundles that cross or bend (64 x 64 x 40 voxels of 2 mm, 64 directions
of b 2000, Rician noise of SNR 30) is written to memory (/dev/shm), fitted once, and tracked with the parameters that
cuslines has: steps of half a voxel, 60 degrees, FA above 0.1, seeds in the bundles; of ptt also its probes.  "kernel" is
the time that kernels took on the device, "delivered" that of tracking and of the file.  A time is the median of the
rounds.  Takes under two minutes.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import record

SHAPE = (64, 64, 40)
COMMON = ["--step-voxels", "0.5", "--max-angle-deg", "60", "--stop-below", "0.1", "--min-length-mm", "0"]
METHODS = {  # options; seeds on a GPU; seeds of a core
    "prob": ([], 2_000_000, 4_000),
    "det": ([], 1_000_000, 4_000),
    "boot": (["--model", "opdt"], 500_000, 1_000),
    "ptt": (["--min-radius-mm", "0.5", "--probe-length-mm", "4", "--probe-quality", "9"], 100_000, 40),
}


def bundles() -> list[tuple[np.ndarray, np.ndarray]]:
    """Where each bundle is, and its direction there: two at 90 degrees, one at 60, a quarter of a circle, one along z."""
    x, y, z = np.meshgrid(*(np.arange(n, dtype=float) for n in SHAPE), indexing="ij")
    ones, none = np.ones(SHAPE), np.zeros(SHAPE)
    c, s = np.cos(np.pi / 3), np.sin(np.pi / 3)
    r = np.hypot(x, y)
    return [
        ((abs(y - 32) < 7) & (abs(z - 20) < 9), np.stack([ones, none, none], -1)),
        ((abs(x - 32) < 7) & (abs(z - 20) < 9), np.stack([none, ones, none], -1)),
        ((abs((y - 32) * c - (x - 32) * s) < 5) & (abs(z - 20) < 6), np.stack([c * ones, s * ones, none], -1)),
        ((abs(r - 50) < 6) & (abs(z - 12) < 6), np.stack([-y, x, none], -1) / np.maximum(r, 1)[..., None]),
        (np.hypot(x - 14, y - 48) < 7, np.stack([none, none, ones], -1)),
    ]


def nifti(path: Path, values: np.ndarray, code: int) -> None:
    head = bytearray(352)
    view = memoryview(head)

    def put(at: int, kind: str, *numbers: float) -> None:
        raw = np.array(numbers, kind).tobytes()
        view[at : at + len(raw)] = raw

    put(0, "<i4", 348)
    put(40, "<i2", values.ndim, *values.shape, *[1] * (7 - values.ndim))
    put(70, "<i2", code, 8 * values.itemsize)
    put(76, "<f4", 1, 2, 2, 2, 1, 1, 1, 1, 352, 1, 0)
    put(254, "<i2", 1)
    put(280, "<f4", 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0)
    view[344:348] = b"n+1\0"
    path.write_bytes(bytes(head) + values.tobytes(order="F"))


def phantom(folder: Path) -> None:
    """dwi.nii, dwi.bval, dwi.bvec, mask.nii."""
    i = np.arange(64) + 0.5
    z, phi = i / 64, np.pi * (1 + 5**0.5) * i
    g = np.stack([np.sqrt(1 - z * z) * np.cos(phi), np.sqrt(1 - z * z) * np.sin(phi), z], 1)
    b, g = np.r_[0, np.full(64, 2000.0)], np.r_[np.zeros((1, 3)), g]
    every = bundles()
    count = sum(inside.astype(int) for inside, _ in every)
    signal = np.zeros((*SHAPE, 65))
    for inside, along in every:
        dot = along[inside] @ g.T
        signal[inside] += np.exp(-b * (0.3e-3 + 1.4e-3 * dot**2)) / count[inside][:, None]
    signal[count == 0] = np.exp(-b * 0.9e-3)
    random = np.random.Generator(np.random.PCG64(21))
    noise = 1000 / 30
    signal *= 1000
    signal = np.hypot(
        signal + noise * random.standard_normal(signal.shape), noise * random.standard_normal(signal.shape)
    )
    nifti(folder / "dwi.nii", np.round(signal).astype("<i2"), 4)
    nifti(folder / "mask.nii", (count > 0).astype("u1"), 2)
    np.savetxt(folder / "dwi.bval", b[None], "%g")
    np.savetxt(folder / "dwi.bvec", g, "%.8f")


def run(*words: object) -> dict:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout)


def tracked(program: str, folder: Path, method: str, where: list, seeds: int, rounds: int) -> dict:
    """One row of the result."""
    source = folder / ("dwi.nii" if method == "boot" else "maps")
    out = folder / "out.trx"
    words = [program, "track", source, "-o", out, "--force", "--json", "--method", method, *COMMON, *METHODS[method][0]]
    words += ["--seed-image", folder / "mask.nii", "--seeds", seeds, *where]
    runs = []
    for _ in range(rounds):
        out.unlink(missing_ok=True)  # to give its memory back is no part of the next run
        runs.append(run(*words))
    size = out.stat().st_size
    out.unlink()

    def median(of) -> float:
        return statistics.median(of(r) for r in runs)

    def stage(r: dict, name: str) -> float:
        return sum(s["seconds"] for s in r["stages"] if s["stage"] == name)

    tracking, kernel = median(lambda r: r["track_seconds"]), median(lambda r: r.get("kernel_seconds", 0))
    delivered = median(lambda r: r["track_seconds"] + stage(r, "write"))
    row = {
        "what": method,
        "where": " ".join(map(str, where)),
        "seeds": seeds,
        "streamlines": runs[0]["streamlines"],
        "points": runs[0]["points"],
        "file_bytes": size,
        "seconds": {"kernel": kernel, "track": tracking, "delivered": delivered},
        "seeds_per_second": seeds / (kernel or tracking),
        "points_per_second": runs[0]["points"] / (kernel or tracking),
        "delivered_seeds_per_second": seeds / delivered,
    }
    print(
        f"{method:5} {row['where']:32} {row['streamlines']:8} streamlines {row['points'] / row['streamlines']:7.1f} points, "
        f"{'kernel' if kernel else 'track ':6} {row['seeds_per_second']:10.0f} seeds/s {row['points_per_second']:11.0f} "
        f"points/s, delivered {row['delivered_seeds_per_second']:9.0f} seeds/s",
        flush=True,
    )
    return row


def fitted(program: str, folder: Path, where: list, rounds: int) -> dict:
    runs = [
        run(
            program,
            "dwi",
            "fit",
            folder / "dwi.nii",
            "-o",
            folder / "maps",
            "--model",
            "csd",
            "--force",
            "--json",
            *where,
        )
        for _ in range(rounds)
    ]
    seconds = statistics.median(r["fit_seconds"] for r in runs)
    row = {
        "what": "csd",
        "where": " ".join(map(str, where)),
        "voxels": runs[0]["fitted_voxels"],
        "seconds": {"fit": seconds},
        "voxels_per_second": runs[0]["fitted_voxels"] / seconds,
    }
    print(f"csd   {row['where']:32} {row['voxels']:8} voxels, {row['voxels_per_second']:10.0f} voxels/s", flush=True)
    return row


def gpu() -> dict:
    """Its name, where there is one."""
    if shutil.which("nvidia-smi") is None:
        return {}
    said = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    return {"gpu": said.stdout.splitlines()[0]} if said.returncode == 0 and said.stdout else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penstock", default=shutil.which("penstock") or "build/release/bin/penstock")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--devices", default="cuda,cpu")
    parser.add_argument("--methods", default=",".join(METHODS))
    args = parser.parse_args()
    devices, cores = args.devices.split(","), len(os.sched_getaffinity(0))
    rows = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        phantom(folder)
        rows.append(fitted(args.penstock, folder, ["--threads", cores], 1))
        if "cpu" in devices and cores > 1:
            rows.append(fitted(args.penstock, folder, ["--threads", 1], 1))
        if "cuda" in devices:
            rows.append(fitted(args.penstock, folder, ["--device", "cuda"], args.rounds))
        for method in args.methods.split(","):
            _, on_gpu, of_core = METHODS[method]
            if "cuda" in devices:
                rows.append(tracked(args.penstock, folder, method, ["--device", "cuda"], on_gpu, args.rounds))
            if "cuda" in devices and method in ("prob", "det"):
                half = ["--device", "cuda", "--dtype", "float16"]
                rows.append(tracked(args.penstock, folder, method, half, on_gpu, args.rounds))
            if "cpu" not in devices:
                continue
            one = tracked(args.penstock, folder, method, ["--threads", 1], of_core, 1)
            rows.append(one)
            if cores == 1:
                continue
            every = tracked(args.penstock, folder, method, ["--threads", cores], of_core * cores, 1)
            every["of_cores"] = every["points_per_second"] / one["points_per_second"] / cores
            print(f"      {every['of_cores']:.0%} of {cores} times one core", flush=True)
            rows.append(every)
    content = {"title": "tracking", **gpu(), "rows": rows}
    print(record.save("track-rates", cores, content))


if __name__ == "__main__":
    main()
