"""Tracking beside DIPY and MRtrix on one core: the same orientation distributions, directions and seeds for both.

    track.py [--seeds N] [--size N] [--device cpu|cuda:0] [--rounds N] [--methods prob,det,ptt,boot]
                                                              writes bench/results/track-peers-*.json

A phantom of two bundles that cross is fitted by `penstock dwi fit`; both programs track its sh.nii.gz along the same
directions from the same points.  Counts, mean lengths and densities are compared before anything is said of speed, and
of `det` each streamline with DIPY's from the same seed.  A time is the least of the rounds.  penstock has one thread on
the CPU, DIPY one; seconds are of the processor, so that other work on the machine does not count, penstock's with the file
but without what a run of one seed takes; of csd
penstock's run with its maps, less a run of the tensor alone.  Where tckgen is installed it tracks the same coefficients, in
its basis, with the same step and angle from as many seeds of its own.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import dipy
import nibabel as nib
import numpy as np
import record
import track_mrtrix
from dipy.core.gradients import gradient_table
from dipy.core.sphere import HemiSphere
from dipy.direction import BootDirectionGetter
from dipy.io import read_bvals_bvecs
from dipy.reconst.csdeconv import ConstrainedSphericalDeconvModel
from dipy.reconst.shm import OpdtModel, sh_to_sf
from dipy.tracking import tracker
from dipy.tracking.local_tracking import LocalTracking
from dipy.tracking.stopping_criterion import ThresholdStoppingCriterion
from trx import trx_file_memmap

import penstock as ps

VOXEL_MM = 2.0
STEP_MM = 1.0
PROBE_MM = 3.0  # of ptt
ANGLE_DEG = 45
LONGEST_MM = 400
PART = {"boot": 20, "ptt": 100}  # of the seeds, for what takes DIPY long


def phantom(folder: Path, size: int, noise: float = 20) -> Path:
    """A bundle along x and one along y, voxels of 2 mm, 64 directions of b 2000."""
    k = np.arange(64)
    z = (k + 0.5) / 64
    phi = 2.399963229728653 * k
    bvec = np.stack([np.sqrt(1 - z * z) * np.cos(phi), np.sqrt(1 - z * z) * np.sin(phi), z], 1)
    shape = (size, size, max(size // 4, 6))
    low, high = size // 3, 2 * size // 3
    signal = np.zeros((*shape, 65))
    signal[..., 0] = 1
    signal[..., 1:] = np.exp(-2000 * 0.9e-3)

    def fibre(axis: int) -> np.ndarray:
        return np.concatenate([[1], np.exp(-2000 * (0.3e-3 + 1.4e-3 * bvec[:, axis] ** 2))])

    signal[:, low:high, 1:-1] = fibre(0)
    signal[low:high, :, 1:-1] = fibre(1)
    signal[low:high, low:high, 1:-1] = (fibre(0) + fibre(1)) / 2
    signal = 1000 * signal + np.random.default_rng(1).normal(0, noise, signal.shape)
    path = folder / "dwi.nii"
    nib.save(nib.Nifti1Image(np.clip(signal, 0, 32767).astype(np.int16), np.diag([VOXEL_MM] * 3 + [1.0])), path)
    np.savetxt(folder / "dwi.bval", np.r_[0, np.full(64, 2000)][None], "%g")
    np.savetxt(folder / "dwi.bvec", np.r_[[[0, 0, 0]], bvec], "%.17g")
    return path


def ours(maps: Path, some: np.ndarray, method: str, args: argparse.Namespace) -> tuple[list, list, float, float]:
    """Streamlines, the seeds of each, seconds of tracking, seconds in all."""
    out, seeds_file = maps / f"{method}.trx", maps / "seeds.txt"
    source = maps.parent / "dwi.nii" if method == "boot" else maps
    extra = {} if method == "boot" else {"relative_peak": 0.5, "separation_deg": 25, "peaks": 1}

    def run(seeds: np.ndarray) -> tuple[float, float, float]:
        np.savetxt(seeds_file, seeds, "%.9g")
        start, start_processor = time.perf_counter(), time.process_time()
        summary = ps.track(
            source, out, method=method, seeds_file=seeds_file, step_mm=STEP_MM, max_angle_deg=ANGLE_DEG,
            pmf_threshold=0.1, min_length_mm=0, max_length_mm=LONGEST_MM, substeps=1, probe_length_mm=PROBE_MM,
            probe_quality=7, stop_below=0.2, device=args.device, threads=None if "cuda" in args.device else 1,
            force=True, **extra,
        )  # fmt: skip
        return time.process_time() - start_processor, time.perf_counter() - start, summary.track_seconds

    ready, _, _ = run(some[:1])
    processor, wall, tracking = run(some)
    trx = trx_file_memmap.load(str(out))
    lines = [np.array(line) for line in trx.streamlines]  # copies: close takes the memory away
    numbers = np.array(trx.data_per_streamline["seed_index"]).ravel().astype(int).tolist()
    trx.close()
    return lines, numbers, tracking if "cuda" in args.device else processor - ready, wall


def theirs(data: dict, seeds: np.ndarray, method: str, random_seed: int = 1) -> tuple[list, float]:
    stop = ThresholdStoppingCriterion(data["fa"], 0.2)
    start = time.process_time()
    if method == "boot":
        model = OpdtModel(data["gradients"], sh_order_max=4, smooth=0.006, min_signal=1)
        getter = BootDirectionGetter.from_data(
            data["signal"], model, max_angle=ANGLE_DEG, sphere=data["sphere"], relative_peak_threshold=0.25,
            min_separation_angle=45, sh_order=4,
        )  # fmt: skip
        points = nib.affines.apply_affine(np.linalg.inv(data["affine"]), seeds)
        found = LocalTracking(getter, stop, points, np.eye(4), step_size=STEP_MM / 2, random_seed=1)
        return [nib.affines.apply_affine(data["affine"], line) for line in found if len(line)], (
            time.process_time() - start
        )
    kind = {"prob": "probabilistic", "det": "deterministic", "ptt": "ptt"}[method]
    affine, step, more, places = data["affine"], STEP_MM, {}, seeds
    if method == "ptt":  # its probes reach as many voxels as they should mm: it is given voxels, and lengths in them
        affine, step, more = np.eye(4), STEP_MM / VOXEL_MM, {"probe_length": PROBE_MM / VOXEL_MM, "probe_quality": 7}
        places = nib.affines.apply_affine(np.linalg.inv(data["affine"]), seeds)
    found = getattr(tracker, f"{kind}_tracking")(
        places, stop, affine, sf=data["amplitudes"], sphere=data["sphere"], step_size=step, max_angle=ANGLE_DEG,
        pmf_threshold=0.1, min_len=1, max_len=LONGEST_MM, random_seed=random_seed, nbr_threads=1, **more,
    )  # fmt: skip
    lines = list(found)
    seconds = time.process_time() - start
    back = data["affine"] if method == "ptt" else np.eye(4)
    return [nib.affines.apply_affine(back, line) for line in lines], seconds


def density(lines: list, data: dict) -> np.ndarray:
    voxels = np.round(nib.affines.apply_affine(np.linalg.inv(data["affine"]), np.concatenate(lines))).astype(int)
    counts = np.zeros(data["fa"].shape)
    inside = ((voxels >= 0) & (voxels < counts.shape)).all(-1)
    np.add.at(counts, tuple(voxels[inside].T), 1)
    return counts


def correlation(mine: list, other: list, data: dict) -> float:
    return float(np.corrcoef(density(mine, data).ravel(), density(other, data).ravel())[0, 1])


def same_within(mine: list, numbers: list, other: list, seeds: np.ndarray, mm: float) -> float:
    """Part of DIPY's streamlines all of whose points lie within `mm` of penstock's from the same seed."""
    by_seed = dict(zip(numbers, mine, strict=True))
    near = 0
    for line in other:
        number = seed_of(line, seeds)
        if number not in by_seed:
            continue
        gaps = np.linalg.norm(line[:, None] - by_seed[number][None], axis=-1)
        near += max(gaps.min(0).max(), gaps.min(1).max()) < mm
    return near / len(other)


def seed_of(line: np.ndarray, seeds: np.ndarray) -> int:
    """The number of the seed that the line passes."""
    gaps = np.linalg.norm(line[:, None] - seeds[None], axis=-1)
    return int(np.unravel_index(gaps.argmin(), gaps.shape)[1])


def prepare(folder: Path, size: int) -> dict:
    """The phantom, fitted: what both programs track."""
    dwi = phantom(folder, size)
    maps = folder / "maps"
    start = time.process_time()
    ps.fit_dwi(dwi, folder / "tensor", threads=1)
    between = time.process_time()
    summary = ps.fit_dwi(dwi, maps, "csd", threads=1)
    fit_seconds = (time.process_time() - between) - (between - start)  # without the tensor, which csd begins with
    image = nib.load(dwi)
    sphere = HemiSphere(xyz=ps.sphere_directions(362))
    sh = np.asarray(nib.load(maps / "sh.nii.gz").dataobj)
    bvals, bvecs = read_bvals_bvecs(str(folder / "dwi.bval"), str(folder / "dwi.bvec"))
    amplitudes = sh_to_sf(sh, sphere, sh_order_max=8, basis_type="descoteaux07", legacy=True)
    return {
        "affine": image.affine,
        "signal": np.asarray(image.dataobj).astype(float),
        "gradients": gradient_table(bvals=bvals, bvecs=bvecs),
        "fa": np.asarray(nib.load(maps / "fa.nii.gz").dataobj).astype(float),
        "sphere": sphere,
        "sh": sh,
        "amplitudes": np.clip(amplitudes, 0, None).astype(float),
        "fit": summary,
        "fit_seconds": fit_seconds,
    }


def deconvolution(data: dict, voxels: int) -> dict:
    """CSD of order 8, voxels a second of a core."""
    fit = data["fit"]
    response = (np.array(fit.response_evals), fit.response_s0)
    model = ConstrainedSphericalDeconvModel(data["gradients"], response, sh_order_max=8)
    some = data["signal"][data["fa"] > 0.1][:voxels]
    start = time.process_time()
    model.fit(some)
    other = len(some) / (time.process_time() - start)
    own = fit.fitted_voxels / data["fit_seconds"]
    print(f"csd   {own:10.0f} {other:9.0f} voxels/s, {own / other:5.1f} x", flush=True)
    return {"what": "csd", "voxels": [fit.fitted_voxels, len(some)], "voxels_per_second": [own, other],
            "ratio": own / other}  # fmt: skip


def compared(method: str, some: np.ndarray, data: dict, folder: Path, args: argparse.Namespace) -> dict:
    """One row: penstock, then DIPY."""
    runs = [ours(folder / "maps", some, method, args) for _ in range(args.rounds)]
    mine = min(runs, key=lambda r: r[2])
    other = min((theirs(data, some, method) for _ in range(args.rounds)), key=lambda r: r[1])
    points = [sum(map(len, lines)) for lines in (mine[0], other[0])]
    row = {
        "what": method,
        "seeds": len(some),
        "streamlines": [len(mine[0]), len(other[0])],
        "mean_points": [points[0] / len(mine[0]), points[1] / len(other[0])],
        "density_r": correlation(mine[0], other[0], data),
        "seconds": [mine[2], other[1]],
        "points_per_second": [points[0] / mine[2], points[1] / other[1]],
        "ratio": (points[0] / mine[2]) / (points[1] / other[1]),
        "delivered_seeds_per_second": len(some) / mine[3],
    }
    if method == "det":
        row["within_0.25_mm"] = same_within(mine[0], mine[1], other[0][:2000], some, 0.25)
    if method == "prob":
        again = theirs(data, some, method, random_seed=2)[0]
        row["dipy_again"] = {
            "streamlines": len(again),
            "mean_points": sum(map(len, again)) / len(again),
            "density_r": correlation(again, other[0], data),
        }
    print(
        f"{method:5} {row['streamlines'][0]:7} {row['streamlines'][1]:7} streamlines, "
        f"{row['mean_points'][0]:6.2f} {row['mean_points'][1]:6.2f} points, r {row['density_r']:.4f}, "
        f"{row['points_per_second'][0]:10.0f} {row['points_per_second'][1]:9.0f} points/s, {row['ratio']:5.1f} x"
        + (f", {row['within_0.25_mm']:.2%} within 0.25 mm" if method == "det" else ""),
        flush=True,
    )
    return row


def beside_mrtrix(data: dict, rows: list[dict], folder: Path, seeds: int) -> list[dict]:
    track_mrtrix.write_inputs(folder, data["sh"], data["fa"] > 0.2, data["affine"])
    own = {row["what"]: row["points_per_second"][0] for row in rows if "points_per_second" in row}
    out = []
    for algorithm, method in track_mrtrix.ALGORITHMS.items():
        some = seeds // 10 if algorithm == "iFOD2" else seeds
        row = track_mrtrix.run(folder, algorithm, some, STEP_MM, ANGLE_DEG, LONGEST_MM)
        row |= {"beside": method, "ratio": own[method] / row["points_per_second"]}
        print(
            f"{algorithm:9} {row['streamlines']:7} streamlines, {row['mean_points']:6.2f} points, "
            f"{row['points_per_second']:9.0f} points/s: {method} {row['ratio']:5.1f} x",
            flush=True,
        )
        out.append(row)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20000)
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--methods", default="prob,det,ptt,boot")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = prepare(folder, args.size)
        rows = [deconvolution(data, 2000)]
        random = np.random.default_rng(7)
        inside = np.argwhere(data["fa"] > 0.3)
        at = inside[random.integers(0, len(inside), args.seeds)] + random.random((args.seeds, 3)) - 0.5
        seeds = nib.affines.apply_affine(data["affine"], at)
        for method in args.methods.split(","):
            some = seeds[: max(len(seeds) // PART.get(method, 1), 100)]
            rows.append(compared(method, some, data, folder, args))
        mrtrix = track_mrtrix.version()
        if mrtrix and {"prob", "det"} <= set(args.methods.split(",")):
            rows += beside_mrtrix(data, rows, folder, args.seeds)
    content = {
        "title": "tracking beside DIPY and MRtrix, one core each",
        "device": args.device,
        "peers": {"dipy": dipy.__version__, "mrtrix": mrtrix},
        "size": args.size,
        "rows": rows,
    }
    cores = len(os.sched_getaffinity(0))
    print(record.save("track-peers-gpu" if "cuda" in args.device else "track-peers", cores, content))


if __name__ == "__main__":
    main()
