"""Tractography: raw diffusion MRI to streamlines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from . import _core
from ._options import Bytes, Deadline
from ._options import options as _options
from ._streamlines import Streamlines

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


class TrackHow(TypedDict, total=False):
    """The options of ``penstock track``, whose page has what they mean and their defaults, with ``_`` for ``-``.

    device: "cpu", "cuda", "cuda:1", "auto", "cuda:all" or a list ("cuda:0,cuda:1").
    keep_partial, force: of a file that is written.
    """

    bval: PathLike
    bvec: PathLike
    gradients: Gradients
    b0_threshold: float
    shell: float
    model: Model
    fit: Fit
    sh_order: int
    response_fa: float
    response_radius: int
    smooth: float
    min_signal: float
    sh_basis: Basis
    sphere: int
    method: Method
    boot_retry: bool
    substeps: int
    min_radius_mm: float
    probe_length_mm: float
    probe_quality: int
    probe_count: int
    probe_radius_mm: float
    seeds: int
    seeds_per_voxel: int
    seed_grid: int
    seeds_file: PathLike
    seed_image: PathLike
    first_seed: int
    random_seed: int
    peaks: int
    relative_peak: float
    separation_deg: float
    mask: PathLike
    stop: PathLike
    stop_below: float
    step_mm: float
    step_voxels: float
    max_angle_deg: float
    pmf_threshold: float
    min_length_mm: float
    max_length_mm: float
    chunk_seeds: int
    keep_partial: bool
    force: bool
    device: str
    budget: Bytes
    threads: int
    deadline: Deadline


@overload
def track(dwi: PathLike, out: PathLike, **how: Unpack[TrackHow]) -> _core.TrackSummary: ...
@overload
def track(dwi: PathLike, out: None = None, **how: Unpack[TrackHow]) -> Streamlines: ...
def track(dwi: PathLike, out: PathLike | None = None, **how: Unpack[TrackHow]) -> _core.TrackSummary | Streamlines:
    """Tracks a diffusion volume; writes its streamlines to a file, or gives them.

    The file is the one of ``penstock track``, to the byte, also on a GPU.

    dwi: shape (x, y, z, volumes): .nii, .nii.gz, .hdr or a Zarr array; or a folder of fit_dwi; or, with sh_basis, an
        image of coefficients.
    out: a .trx, .trk or .tck file, points as float32; None: the streamlines are returned.

    Raises FileExistsError unless force, FileNotFoundError, ValueError (an option), TypeError (no such option),
    MetadataError and CorruptDataError (a file, which is named).
    """
    how_, device, job = _split(how)
    if out is not None:
        return _core.track(os.fspath(dwi), os.fspath(out), how_, device, job)
    tracking = _core.Tracking.begin(os.fspath(dwi), how_, device, job)
    streamlines = Streamlines(**tracking.rest(job))
    streamlines.summary = tracking.summary()
    return streamlines


def track_chunks(dwi: PathLike, **how: Unpack[TrackHow]) -> Iterator[Streamlines]:
    """As track, chunk by chunk, in the order of the seeds; a chunk is of ``chunk_seeds`` seeds (25000)."""
    how_, device, job = _split(how)
    tracking = _core.Tracking.begin(os.fspath(dwi), how_, device, job)
    while (chunk := tracking.next(job)) is not None:
        yield Streamlines(**chunk)


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


_JOB = ("budget", "threads", "deadline")
_PATHS = ("bval", "bvec", "seeds_file", "seed_image", "mask", "stop")


def _split(how: TrackHow) -> tuple[_core.TrackOptions, str, _core.Options]:
    """Options of tracking, device, options of the job."""
    named = dict(how)
    device = str(named.pop("device", "cpu"))
    job = {name: named.pop(name) for name in _JOB if name in named}
    for name in _PATHS:
        if name in named:
            named[name] = _path(named[name])  # type: ignore[arg-type]
    unknown = sorted(named.keys() - TrackHow.__annotations__.keys())
    if unknown:
        raise TypeError(f"track() has no option {unknown[0]!r}")
    options = _options(job.get("budget"), job.get("threads"), deadline=job.get("deadline"))  # type: ignore[arg-type]
    return _how(named), device, options


def _path(path: PathLike | None) -> str | None:
    return None if path is None else os.fspath(path)


def _how(named: Mapping[str, object]) -> _core.TrackOptions:
    how = _core.TrackOptions()
    for name, value in named.items():
        if value is not None:
            setattr(how, name, value)
    return how
