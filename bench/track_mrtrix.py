"""MRtrix's tckgen on one core, on the coefficients that `penstock dwi fit` made."""

import re
import resource
import shutil
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np

ALGORITHMS = {"iFOD1": "prob", "iFOD2": "prob", "SD_STREAM": "det"}  # and what here is the nearest


def version() -> str:
    """ "3.0.3"; empty where there is no tckgen."""
    if shutil.which("tckgen") is None:
        return ""
    said = subprocess.run(["tckgen", "-version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"tckgen (\d+\.\d+\.\d+)", said)
    return found[1] if found else "unknown"


def tournier(sh: np.ndarray) -> np.ndarray:
    """Coefficients of the legacy basis of Descoteaux in MRtrix's: m and -m exchanged."""
    order, out = 0, []
    while len(out) < sh.shape[-1]:
        first = order * (order - 1) // 2
        out += [first + order - m for m in range(-order, order + 1)]
        order += 2
    return sh[..., out]


def write_inputs(folder: Path, sh: np.ndarray, inside: np.ndarray, affine: np.ndarray) -> None:
    nib.save(nib.Nifti1Image(tournier(sh).astype(np.float32), affine), folder / "fod.nii")
    nib.save(nib.Nifti1Image(inside.astype(np.uint8), affine), folder / "inside.nii")


def run(folder: Path, algorithm: str, seeds: int, step_mm: float, angle_deg: float, longest_mm: float) -> dict:
    """One row.  Seconds are of the processor: reading the image counts, little beside tracking."""
    out = folder / "mrtrix.tck"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["tckgen", folder / "fod.nii", out, "-algorithm", algorithm, "-seed_image", folder / "inside.nii",
         "-mask", folder / "inside.nii", "-seeds", str(seeds), "-select", "0", "-step", str(step_mm), "-angle",
         str(angle_deg), "-cutoff", "0.1", "-minlength", "0", "-maxlength", str(longest_mm), "-nthreads", "0",
         "-force", "-quiet"],
        check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = nib.streamlines.load(out).streamlines
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {
        "what": algorithm,
        "seeds": seeds,
        "streamlines": len(lines),
        "mean_points": len(lines.get_data()) / max(len(lines), 1),
        "seconds": seconds,
        "points_per_second": len(lines.get_data()) / seconds,
    }
