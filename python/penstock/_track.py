"""Tractography: raw diffusion MRI to streamlines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from . import _core
from ._diffusion_inputs import Inputs
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


class SpatialImage(Protocol):
    """An image as nibabel's: values, and (4, 4) voxel to mm."""

    @property
    def dataobj(self) -> Any: ...
    @property
    def affine(self) -> Any: ...


Image: TypeAlias = PathLike | SpatialImage
"""A file, or an image in memory, which is written to a temporary folder for the time of the call."""
Numbers: TypeAlias = PathLike | np.ndarray
"""A text file, or its numbers."""


class TrackHow(TypedDict, total=False):
    """The options of ``penstock track``, whose page has what they mean and their defaults, with ``_`` for ``-``.

    bval, bvec, seeds_file: files, or arrays; mask, stop, seed_image: files, or images in memory.
    response: evals along and across the fibre (mm2/s), and S0; else it is estimated.
    device: "cpu", "cuda", "cuda:1", "auto", "cuda:all" or a list ("cuda:0,cuda:1").
    keep_partial, force: of a file that is written.
    """

    bval: Numbers
    bvec: Numbers
    gradients: Gradients
    b0_threshold: float
    shell: float
    model: Model
    fit: Fit
    sh_order: int
    response: tuple[float, float, float]
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
    seeds_file: Numbers
    seed_image: Image
    first_seed: int
    random_seed: int
    peaks: int
    relative_peak: float
    separation_deg: float
    mask: Image
    stop: Image
    stop_below: float
    step_mm: float
    step_voxels: float
    max_angle_deg: float
    pmf_threshold: float
    min_length_mm: float
    max_length_mm: float
    chunk_seeds: int
    dtype: Literal["float32", "float16"]
    keep_partial: bool
    force: bool
    device: str
    budget: Bytes
    threads: int
    deadline: Deadline


@overload
def track(dwi: Image, out: PathLike, **how: Unpack[TrackHow]) -> _core.TrackSummary: ...
@overload
def track(dwi: Image, out: None = None, **how: Unpack[TrackHow]) -> Streamlines: ...
def track(dwi: Image, out: PathLike | None = None, **how: Unpack[TrackHow]) -> _core.TrackSummary | Streamlines:
    """Tracks a diffusion volume; writes its streamlines to a file, or gives them.

    The file is the one of ``penstock track``, to the byte, also on a GPU.

    dwi: shape (x, y, z, volumes): .nii, .nii.gz, .hdr or a Zarr array, or an image in memory; or a folder of fit_dwi;
        or, with sh_basis, an image of coefficients.
    out: a .trx, .trk or .tck file, points as float32 (or, with dtype, a .trx of float16); None: the streamlines are returned.

    Raises FileExistsError unless force, FileNotFoundError, ValueError (an option), TypeError (no such option),
    MetadataError and CorruptDataError (a file, which is named).
    """
    with Inputs() as inputs:
        how_, device, job = _split(how, inputs)
        if out is not None:
            return _core.track(inputs.image("dwi", dwi), os.fspath(out), how_, device, job)
        tracking = _core.Tracking.begin(inputs.image("dwi", dwi), how_, device, job)
    streamlines = Streamlines(**tracking.rest(job))
    streamlines.summary = tracking.summary()
    return streamlines


def track_chunks(dwi: Image, **how: Unpack[TrackHow]) -> Iterator[Streamlines]:
    """As track, chunk by chunk, in the order of the seeds; a chunk is of ``chunk_seeds`` seeds (25000)."""
    with Inputs() as inputs:
        how_, device, job = _split(how, inputs)
        tracking = _core.Tracking.begin(inputs.image("dwi", dwi), how_, device, job)
    while (chunk := tracking.next(job)) is not None:
        yield Streamlines(**chunk)


def fit_dwi(
    dwi: Image,
    out: PathLike,
    model: Model = "dti",
    *,
    bval: Numbers | None = None,
    bvec: Numbers | None = None,
    gradients: Gradients | None = None,
    b0_threshold: float | None = None,
    shell: float | None = None,
    fit: Fit | None = None,
    sh_order: int | None = None,
    response: tuple[float, float, float] | None = None,
    response_fa: float | None = None,
    response_radius: int | None = None,
    smooth: float | None = None,
    min_signal: float | None = None,
    stop_below: float | None = None,
    sphere: int | None = None,
    relative_peak: float | None = None,
    separation_deg: float | None = None,
    device: str = "cpu",
    force: bool = False,
    budget: Bytes | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> _core.TrackSummary:
    """Fits a model to each voxel of a diffusion volume and writes maps (NIfTI, float32) into the folder `out`.

    The options are those of ``penstock dwi fit``, whose page has their defaults.

    model: "dti" writes fa, md (mm2/s), evals (x, y, z, 3), evecs (x, y, z, 9), peaks (x, y, z, 3); "csd" writes fa, sh
        (x, y, z, coefficients), peaks (x, y, z, 15) and response.json; "csa" and "opdt" write fa, sh and peaks.
    device: "cpu", "cuda", "cuda:1", "auto"; the numbers are the same.
    """
    named = {
        "bval": bval,
        "bvec": bvec,
        "gradients": gradients,
        "b0_threshold": b0_threshold,
        "shell": shell,
        "fit": fit,
        "sh_order": sh_order,
        "response": response,
        "response_fa": response_fa,
        "response_radius": response_radius,
        "smooth": smooth,
        "min_signal": min_signal,
        "stop_below": stop_below,
        "sphere": sphere,
        "relative_peak": relative_peak,
        "separation_deg": separation_deg,
        "force": force,
    }
    job = _options(budget, threads, deadline=deadline)
    with Inputs() as inputs:
        how = _how(inputs.options(named))
        return _core.fit_dwi(inputs.image("dwi", dwi), os.fspath(out), model, how, device, job)


def from_dipy(model: Any, *, smooth: float = 0.006) -> TrackHow:
    """The options of ``track`` and ``fit_dwi`` that fit what a model of DIPY fits.

    ``ps.track(dwi, **ps.from_dipy(model))``, ``ps.fit_dwi(dwi, out, **ps.from_dipy(model))``.

    model: a ConstrainedSphericalDeconvModel, CsaOdfModel or OpdtModel (or of a class made from one).
    smooth: CSA, OPDT: what the model was made with; it does not keep it.

    Raises TypeError (another model, a response that is no tensor's) and ValueError (csd: another `tau` than 0.1).
    """
    names = {kind.__name__ for kind in type(model).__mro__}
    if not names & {"ConstrainedSphericalDeconvModel", "CsaOdfModel", "OpdtModel"}:
        raise TypeError(f"{type(model).__name__}: must be a model of CSD, CSA or OPDT")
    table = model.gtab
    how: TrackHow = {
        "bval": np.asarray(table.bvals, float),
        "bvec": np.asarray(table.bvecs, float),
        "gradients": "voxel",
        "b0_threshold": float(table.b0_threshold),
        "sh_order": int(model.sh_order_max),
    }
    if "ConstrainedSphericalDeconvModel" in names:
        if abs(float(model.tau) - 0.1) > 1e-12:
            raise ValueError(f"tau {model.tau}: must be 0.1")
        try:
            along, across = (float(e) for e in model.response[0][:2])
            how["response"] = (along, across, float(model.response[1]))
        except (TypeError, IndexError) as error:
            raise TypeError("response: must be (evals, S0)") from error
        return how | {"model": "csd"}
    name: Model = "csa" if "CsaOdfModel" in names else "opdt"
    return how | {"model": name, "smooth": smooth, "min_signal": float(model.min_signal)}


def sphere_directions(count: int = 362) -> np.ndarray:
    """The directions of the half sphere on which tracking looks at amplitudes: float64, shape (count, 3), unit vectors."""
    return np.array(_core.sphere_directions(count))


_JOB = ("budget", "threads", "deadline")


def _split(how: TrackHow, inputs: Inputs) -> tuple[_core.TrackOptions, str, _core.Options]:
    """Options of tracking, device, options of the job."""
    named = dict(how)
    device = str(named.pop("device", "cpu"))
    job = {name: named.pop(name) for name in _JOB if name in named}
    unknown = sorted(named.keys() - TrackHow.__annotations__.keys())
    if unknown:
        raise TypeError(f"track() has no option {unknown[0]!r}")
    options = _options(job.get("budget"), job.get("threads"), deadline=job.get("deadline"))  # type: ignore[arg-type]
    return _how(inputs.options(named)), device, options


def _how(named: Mapping[str, object]) -> _core.TrackOptions:
    how = _core.TrackOptions()
    for name, value in named.items():
        if value is not None:
            setattr(how, name, value)
    return how
