"""Tractography: raw diffusion MRI to streamlines."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

import numpy as np

from . import _core
from ._options import Bytes, Deadline
from ._options import options as _options

Method: TypeAlias = Literal["prob", "det", "closest", "boot", "ptt"]
"""How the next direction is found: drawn, the strongest, or the closest peak, within the angle; the closest peak of a
residual bootstrap; by parallel transport."""
Model: TypeAlias = Literal["dti", "csd", "csa", "opdt"]
"""The diffusion tensor, constrained spherical deconvolution, or an orientation distribution of one shell."""
Gradients: TypeAlias = Literal["voxel", "fsl", "world"]
"""Axes of the gradients: of the voxels, as FSL has them, or of the world."""
Basis: TypeAlias = Literal["descoteaux07_legacy", "descoteaux07", "tournier07"]
"""Functions that coefficients are of: DIPY's with and without legacy, MRtrix's."""
Fit: TypeAlias = Literal["wls", "ols"]
"""The tensor by weighted or ordinary least squares."""
PathLike: TypeAlias = str | os.PathLike[str]


def track(
    dwi: PathLike,
    out: PathLike,
    *,
    bval: PathLike | None = None,
    bvec: PathLike | None = None,
    gradients: Gradients | None = None,
    b0_threshold: float | None = None,
    shell: float | None = None,
    model: Model | None = None,
    fit: Fit | None = None,
    sh_order: int | None = None,
    response_fa: float | None = None,
    response_radius: int | None = None,
    smooth: float | None = None,
    min_signal: float | None = None,
    sh_basis: Basis | None = None,
    sphere: int | None = None,
    method: Method | None = None,
    boot_retry: bool | None = None,
    substeps: int | None = None,
    min_radius_mm: float | None = None,
    probe_length_mm: float | None = None,
    probe_quality: int | None = None,
    probe_count: int | None = None,
    probe_radius_mm: float | None = None,
    seeds: int | None = None,
    seeds_per_voxel: int | None = None,
    seed_grid: int | None = None,
    seeds_file: PathLike | None = None,
    seed_image: PathLike | None = None,
    first_seed: int | None = None,
    random_seed: int | None = None,
    peaks: int | None = None,
    relative_peak: float | None = None,
    separation_deg: float | None = None,
    mask: PathLike | None = None,
    stop: PathLike | None = None,
    stop_below: float | None = None,
    step_mm: float | None = None,
    step_voxels: float | None = None,
    max_angle_deg: float | None = None,
    pmf_threshold: float | None = None,
    min_length_mm: float | None = None,
    max_length_mm: float | None = None,
    chunk_seeds: int | None = None,
    keep_partial: bool = False,
    force: bool = False,
    device: str = "cpu",
    budget: Bytes | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> _core.TrackSummary:
    """Tracks a diffusion volume and writes its streamlines to a file.

    The options are those of ``penstock track``, whose page has their defaults; the file is the same to the byte, also on
    a GPU.

    dwi: shape (x, y, z, volumes): .nii, .nii.gz, .hdr or a Zarr array; or a folder of fit_dwi; or, with sh_basis, an
        image of coefficients.
    out: a .trx, .trk or .tck file; points as float32.
    device: "cpu", "cuda", "cuda:1", "auto", "cuda:all" or a list ("cuda:0,cuda:1").

    Raises FileExistsError unless force, FileNotFoundError, ValueError (an option), MetadataError and CorruptDataError
    (a file, which is named).
    """
    named = {
        "bval": _path(bval),
        "bvec": _path(bvec),
        "gradients": gradients,
        "b0_threshold": b0_threshold,
        "shell": shell,
        "model": model,
        "fit": fit,
        "sh_order": sh_order,
        "response_fa": response_fa,
        "response_radius": response_radius,
        "smooth": smooth,
        "min_signal": min_signal,
        "sh_basis": sh_basis,
        "sphere": sphere,
        "method": method,
        "boot_retry": boot_retry,
        "substeps": substeps,
        "min_radius_mm": min_radius_mm,
        "probe_length_mm": probe_length_mm,
        "probe_quality": probe_quality,
        "probe_count": probe_count,
        "probe_radius_mm": probe_radius_mm,
        "seeds": seeds,
        "seeds_per_voxel": seeds_per_voxel,
        "seed_grid": seed_grid,
        "seeds_file": _path(seeds_file),
        "seed_image": _path(seed_image),
        "first_seed": first_seed,
        "random_seed": random_seed,
        "peaks": peaks,
        "relative_peak": relative_peak,
        "separation_deg": separation_deg,
        "mask": _path(mask),
        "stop": _path(stop),
        "stop_below": stop_below,
        "step_mm": step_mm,
        "step_voxels": step_voxels,
        "max_angle_deg": max_angle_deg,
        "pmf_threshold": pmf_threshold,
        "min_length_mm": min_length_mm,
        "max_length_mm": max_length_mm,
        "chunk_seeds": chunk_seeds,
        "keep_partial": keep_partial,
        "force": force,
    }
    job = _options(budget, threads, deadline=deadline)
    return _core.track(os.fspath(dwi), os.fspath(out), _how(named), device, job)


def fit_dwi(
    dwi: PathLike,
    out: PathLike,
    model: Model = "dti",
    *,
    bval: PathLike | None = None,
    bvec: PathLike | None = None,
    gradients: Gradients | None = None,
    b0_threshold: float | None = None,
    shell: float | None = None,
    fit: Fit | None = None,
    sh_order: int | None = None,
    response_fa: float | None = None,
    response_radius: int | None = None,
    smooth: float | None = None,
    min_signal: float | None = None,
    stop_below: float | None = None,
    force: bool = False,
    budget: Bytes | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> _core.TrackSummary:
    """Fits a model to each voxel of a diffusion volume and writes maps (NIfTI, float32) into the folder `out`.

    The options are those of ``penstock dwi fit``, whose page has their defaults.

    model: "dti" writes fa, md (mm2/s), evals (x, y, z, 3), evecs (x, y, z, 9); "csd" writes fa, sh (x, y, z,
        coefficients) and response.json; "csa" and "opdt" write fa and sh.
    """
    named = {
        "bval": _path(bval),
        "bvec": _path(bvec),
        "gradients": gradients,
        "b0_threshold": b0_threshold,
        "shell": shell,
        "fit": fit,
        "sh_order": sh_order,
        "response_fa": response_fa,
        "response_radius": response_radius,
        "smooth": smooth,
        "min_signal": min_signal,
        "stop_below": stop_below,
        "force": force,
    }
    job = _options(budget, threads, deadline=deadline)
    return _core.fit_dwi(os.fspath(dwi), os.fspath(out), model, _how(named), job)


def sphere_directions(count: int = 362) -> np.ndarray:
    """The directions of the half sphere on which tracking looks at amplitudes: float64, shape (count, 3), unit vectors."""
    return np.array(_core.sphere_directions(count))


def _path(path: PathLike | None) -> str | None:
    return None if path is None else os.fspath(path)


def _how(named: dict[str, object]) -> _core.TrackOptions:
    how = _core.TrackOptions()
    for name, value in named.items():
        if value is not None:
            setattr(how, name, value)
    return how
