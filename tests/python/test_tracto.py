"""Tractography beside DIPY: tensors, response, deconvolution, streamlines, and who can read the files."""

from __future__ import annotations

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import warnings

import nibabel as nib
import numpy as np
import pytest
from dipy.core.gradients import GradientTable, gradient_table
from dipy.core.sphere import HemiSphere
from dipy.data import default_sphere, get_fnames
from dipy.direction import BootDirectionGetter
from dipy.io import read_bvals_bvecs
from dipy.reconst import dti
from dipy.reconst.csdeconv import ConstrainedSphericalDeconvModel, auto_response_ssst
from dipy.reconst.shm import CsaOdfModel, OpdtModel, sh_to_sf
from dipy.tracking import tracker
from dipy.tracking.local_tracking import LocalTracking
from dipy.tracking.stopping_criterion import ThresholdStoppingCriterion
from scipy.ndimage import map_coordinates
from trx import trx_file_memmap

import penstock as ps

COMMAND = pathlib.Path(sys.executable).parent / "penstock"


class Data:
    """DIPY's small_64D as files, and as DIPY reads them."""

    def __init__(self, folder: pathlib.Path) -> None:
        image, bval, bvec = (pathlib.Path(name) for name in get_fnames(name="small_64D"))
        self.folder = folder
        self.dwi = folder / "dwi.nii.gz"
        nib.save(nib.load(image), self.dwi)
        shutil.copy(bval, folder / "dwi.bval")
        shutil.copy(bvec, folder / "dwi.bvec")
        loaded = nib.load(self.dwi)
        self.affine = loaded.affine
        self.signal = np.asarray(loaded.dataobj).astype(float)
        bvals, bvecs = read_bvals_bvecs(str(folder / "dwi.bval"), str(folder / "dwi.bvec"))
        self.gradients: GradientTable = gradient_table(bvals=bvals, bvecs=bvecs)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("dwi"))


def values(path: pathlib.Path) -> np.ndarray:
    return np.asarray(nib.load(path).dataobj)


def test_tensor_is_dipys(data: Data) -> None:
    out = data.folder / "dti"
    ps.fit_dwi(data.dwi, out)
    want = dti.TensorModel(data.gradients, fit_method="WLS").fit(data.signal)
    np.testing.assert_allclose(values(out / "fa.nii.gz"), want.fa, atol=1e-6)
    np.testing.assert_allclose(values(out / "md.nii.gz"), want.md, atol=1e-9)
    np.testing.assert_allclose(values(out / "evals.nii.gz"), want.evals, atol=1e-9)
    first = values(out / "evecs.nii.gz")[..., :3]
    clear = want.evals[..., 0] > 1.01 * want.evals[..., 1]  # the first is one direction only
    np.testing.assert_allclose(abs((first * want.evecs[..., 0]).sum(-1))[clear], 1, atol=1e-4)
    np.testing.assert_allclose(nib.load(out / "fa.nii.gz").affine, data.affine, atol=1e-5)


def icosahedron_directions(parts: int) -> np.ndarray:
    """One of each two antipodes of an icosahedron's cut edges and faces: what deconvolution looks at."""
    z, r = 1 / 5**0.5, 2 / 5**0.5
    upper = [(0, 0, 1)] + [(r * np.cos(2 * np.pi * k / 5), r * np.sin(2 * np.pi * k / 5), z) for k in range(5)]
    corners = np.array(upper + [(-a, -b, -c) for a, b, c in upper])
    near = abs(corners @ corners.T - z) < 1e-9
    weight = np.sin(np.arccos(z) * np.arange(parts + 1) / parts)
    found: list[np.ndarray] = []
    for a in range(12):
        for b in range(a + 1, 12):
            for c in range(b + 1, 12):
                if not (near[a, b] and near[b, c] and near[a, c]):
                    continue
                for i in range(parts + 1):
                    for j in range(parts + 1 - i):
                        v = weight[i] * corners[a] + weight[j] * corners[b] + weight[parts - i - j] * corners[c]
                        v /= np.linalg.norm(v)
                        if not found or max(abs(np.array(found) @ v)) < 1 - 1e-6:
                            found.append(v)
    return np.array(found)


@pytest.mark.parametrize("order", [4, 6, 8])
def test_response_and_deconvolution_are_dipys(data: Data, order: int) -> None:
    out = data.folder / f"csd{order}"
    summary = ps.fit_dwi(data.dwi, out, "csd", response_fa=0.5, sh_order=order)
    response, _ = auto_response_ssst(data.gradients, data.signal, roi_radii=10, fa_thr=0.5)
    np.testing.assert_allclose(summary.response_evals, response[0], rtol=1e-6)
    assert summary.response_s0 == pytest.approx(response[1], rel=1e-6)
    assert summary.response_voxels == 277
    assert json.loads((out / "response.json").read_text())["s0"] == summary.response_s0
    # DIPY's own directions differ a little from ours; with ours it must come to the same.
    directions = HemiSphere(xyz=icosahedron_directions(6))
    model = ConstrainedSphericalDeconvModel(data.gradients, response, sh_order_max=order, reg_sphere=directions)
    fitted = values(out / "fa.nii.gz") > 0.1
    want = model.fit(data.signal, mask=fitted).shm_coeff
    got = values(out / "sh.nii.gz")
    assert summary.fitted_voxels == fitted.sum() == 941
    difference = abs(got - want)[fitted].max(-1)
    assert np.median(difference) < 1e-5
    assert (difference < 1e-4).mean() > 0.98  # a direction at the threshold may fall to either side


@pytest.mark.parametrize(("model", "order"), [("csa", 4), ("csa", 6), ("opdt", 4), ("opdt", 6)])
def test_orientation_distributions_are_dipys(data: Data, model: str, order: int) -> None:
    out = data.folder / f"{model}{order}"
    ps.fit_dwi(data.dwi, out, model, sh_order=order)  # type: ignore[arg-type]
    kind = {"csa": CsaOdfModel, "opdt": OpdtModel}[model]
    want = kind(data.gradients, sh_order_max=order, smooth=0.006, min_signal=1).fit(data.signal).shm_coeff
    got, fitted = values(out / "sh.nii.gz"), values(out / "fa.nii.gz") > 0.1
    np.testing.assert_allclose(got[fitted], want[fitted], rtol=1e-5, atol=1e-5)
    assert not got[~fitted].any()


def test_ordinary_least_squares_are_dipys(data: Data) -> None:
    out = data.folder / "ols"
    ps.fit_dwi(data.dwi, out, fit="ols")
    want = dti.TensorModel(data.gradients, fit_method="OLS").fit(data.signal)
    np.testing.assert_allclose(values(out / "fa.nii.gz"), want.fa, atol=1e-6)


def test_bootstrap_is_as_dipys(data: Data) -> None:
    fa = dti.TensorModel(data.gradients, fit_method="WLS").fit(data.signal).fa
    random = np.random.default_rng(7)
    inner = np.zeros_like(fa, bool)
    inner[2:-2, 2:-2, 2:-2] = True  # at the image's border the two interpolate differently
    inside = np.argwhere((fa > 0.1) & inner)
    at = inside[random.integers(0, len(inside), 300)] + random.random((300, 3)) - 0.5
    model = OpdtModel(data.gradients, sh_order_max=4, smooth=0.006, min_signal=1)
    there = [map_coordinates(data.signal[..., k], at.T, order=1) for k in range(data.signal.shape[-1])]
    # Where the distribution is negative in every direction, as in water, DIPY begins along its first vertex; ours does not.
    at = at[model.fit(np.stack(there, axis=-1)).odf(default_sphere).max(axis=-1) > 0]
    np.savetxt(data.folder / "seeds.txt", at @ data.affine[:3, :3].T + data.affine[:3, 3])
    common = {"method": "boot", "seeds_file": data.folder / "seeds.txt", "step_mm": 1}
    ps.track(data.dwi, data.folder / "boot.trx", **common, min_length_mm=0, max_length_mm=499)  # type: ignore[arg-type]
    ours = [np.asarray(line) for line in trx_file_memmap.load(str(data.folder / "boot.trx")).streamlines]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getter = BootDirectionGetter.from_data(
            data.signal, model, max_angle=60, sphere=default_sphere, relative_peak_threshold=0.25,
            min_separation_angle=45, sh_order=4,
        )  # fmt: skip
        lines = [
            line
            for line in LocalTracking(
                getter, ThresholdStoppingCriterion(fa, 0.1), at, np.eye(4), step_size=0.5, random_seed=1
            )
            if len(line) > 0
        ]
    assert len(ours) == pytest.approx(len(lines), rel=0.03)
    assert np.mean([len(line) for line in ours]) == pytest.approx(np.mean([len(line) for line in lines]), rel=0.1)


@pytest.mark.parametrize("method", ["boot", "ptt", "closest"])
def test_every_method_gives_a_file(data: Data, method: str) -> None:
    out = data.folder / f"{method}_any.trx"
    summary = ps.track(data.dwi, out, method=method, seeds=200, substeps=5)  # type: ignore[arg-type]
    assert summary.streamlines > 20
    lines = [np.asarray(line) for line in trx_file_memmap.load(str(out)).streamlines]
    assert sum(map(len, lines)) == summary.points
    steps = np.concatenate([np.linalg.norm(np.diff(line, axis=0), axis=1) for line in lines])
    assert steps.max() < 1.001
    assert steps.min() > (0.9 if method == "ptt" else 0.999)  # chords of arcs


def points_of(path: pathlib.Path) -> list[np.ndarray]:
    return [np.asarray(line) for line in nib.streamlines.load(path).streamlines]


def test_files_are_read_by_others_and_hold_the_same(data: Data) -> None:
    for ending in ("trx", "trk", "tck"):
        summary = ps.track(data.dwi, data.folder / f"a.{ending}")
    trx = trx_file_memmap.load(str(data.folder / "a.trx"))
    want = [np.asarray(line) for line in trx.streamlines]
    assert len(want) == summary.streamlines > 1500
    assert sum(map(len, want)) == summary.points
    for ending in ("trk", "tck"):
        got = points_of(data.folder / f"a.{ending}")
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-4)
    np.testing.assert_allclose(trx.header["VOXEL_TO_RASMM"], data.affine, atol=1e-5)
    assert list(trx.header["DIMENSIONS"]) == [10, 10, 10]
    said = trx.data_per_streamline
    seeds = np.asarray(said["seed_index"]).ravel()
    assert (np.diff(seeds.astype(np.int64)) >= 0).all()
    for line, seed in zip(want, np.asarray(said["seed"]), strict=True):
        assert (line == seed).all(-1).any()
    np.testing.assert_allclose(np.asarray(said["length_mm"]).ravel(), [len(line) - 1.0 for line in want])


def test_command_and_python_write_the_same_bytes(data: Data) -> None:
    ps.track(data.dwi, data.folder / "p.trx", seeds=500, chunk_seeds=7, threads=2)
    command = [COMMAND, "track", data.dwi, "-o", data.folder / "c.trx", "--seeds", "500", "--threads", "1", "--quiet"]
    subprocess.run([str(word) for word in command], check=True)
    digests = [hashlib.sha256((data.folder / name).read_bytes()).hexdigest() for name in ("p.trx", "c.trx")]
    assert digests[0] == digests[1]


def density(lines: list[np.ndarray], data: Data) -> np.ndarray:
    to_voxel = np.linalg.inv(data.affine)
    voxels = np.round(np.concatenate(lines) @ to_voxel[:3, :3].T + to_voxel[:3, 3]).astype(int)
    shape = data.signal.shape[:3]
    inside = ((voxels >= 0) & (voxels < shape)).all(-1)
    counts = np.zeros(shape)
    np.add.at(counts, tuple(voxels[inside].T), 1)
    return counts


TRACKERS = {"prob": tracker.probabilistic_tracking, "det": tracker.deterministic_tracking}


@pytest.mark.parametrize("method", ["prob", "det"])
def test_streamlines_are_as_dipys(data: Data, method: str) -> None:
    seeds = 20000
    out = data.folder / f"{method}.trx"
    ps.track(data.dwi, out, method=method, seeds=seeds, peaks=1, step_mm=1, min_length_mm=0, max_angle_deg=45)
    ours = [np.asarray(line) for line in trx_file_memmap.load(str(out)).streamlines]
    maps = data.folder / f"maps_{method}"
    ps.fit_dwi(data.dwi, maps, "csd")
    fa, sh = values(maps / "fa.nii.gz").astype(float), values(maps / "sh.nii.gz")
    amplitudes = np.clip(sh_to_sf(sh, default_sphere, sh_order_max=8, basis_type="descoteaux07", legacy=True), 0, None)
    random = np.random.default_rng(7)
    inside = np.argwhere(fa > 0.1)
    at = inside[random.integers(0, len(inside), seeds)] + random.random((seeds, 3)) - 0.5
    lines = list(
        TRACKERS[method](
            at @ data.affine[:3, :3].T + data.affine[:3, 3],
            ThresholdStoppingCriterion(fa, 0.1),
            data.affine,
            sf=amplitudes.astype(float),
            sphere=default_sphere,
            step_size=1.0,
            max_angle=45,
            pmf_threshold=0.05,
            min_len=1,
            max_len=1000,
            random_seed=1,
            nbr_threads=1,
        )
    )
    assert len(ours) == pytest.approx(len(lines), rel=0.02)
    assert np.mean([len(line) - 1 for line in ours]) == pytest.approx(
        np.mean([len(line) - 1 for line in lines]), rel=0.03
    )
    correlation = np.corrcoef(density(ours, data).ravel(), density(lines, data).ravel())[0, 1]
    assert correlation > 0.97  # two runs of DIPY with other seeds: 0.978


def test_parallel_transport_is_as_dipys_in_voxels(data: Data) -> None:
    """DIPY's probes reach as many voxels as penstock's reach mm: it is given voxels, and lengths in them."""
    size = np.linalg.norm(data.affine[:3, 0])
    step, probe, angle, count = 1.0, 3.0, 45, 300
    maps = data.folder / "maps_ptt"
    ps.fit_dwi(data.dwi, maps, "csd")
    fa, sh = values(maps / "fa.nii.gz").astype(float), values(maps / "sh.nii.gz")
    random = np.random.default_rng(7)
    inside = np.argwhere(fa > 0.2)
    at = inside[random.integers(0, len(inside), count)] + random.random((count, 3)) - 0.5
    np.savetxt(data.folder / "ptt.txt", at @ data.affine[:3, :3].T + data.affine[:3, 3], "%.9g")
    ours = ps.track(
        maps, method="ptt", seeds_file=data.folder / "ptt.txt", peaks=1, relative_peak=0.5, separation_deg=25,
        step_mm=step, substeps=1, max_angle_deg=angle, probe_length_mm=probe, probe_quality=7, pmf_threshold=0.1,
        stop_below=0.1, min_length_mm=0, max_length_mm=1000,
    )  # fmt: skip
    amplitudes = np.clip(sh_to_sf(sh, default_sphere, sh_order_max=8, basis_type="descoteaux07", legacy=True), 0, None)
    theirs = list(
        tracker.ptt_tracking(
            at, ThresholdStoppingCriterion(fa, 0.1), np.eye(4), sf=amplitudes.astype(float), sphere=default_sphere,
            step_size=step / size, probe_length=probe / size, probe_quality=7, max_angle=angle, pmf_threshold=0.1,
            min_len=1, max_len=1000, random_seed=1, nbr_threads=1,
        )
    )  # fmt: skip
    assert len(ours) == pytest.approx(len(theirs), rel=0.25)
    assert np.mean([len(line) for line in ours]) == pytest.approx(np.mean([len(line) for line in theirs]), rel=0.25)


def test_streamlines_in_memory_are_those_of_the_file(data: Data, tmp_path: pathlib.Path) -> None:
    ps.track(data.dwi, tmp_path / "a.trx", seeds=300, chunk_seeds=64)
    lines = ps.track(data.dwi, seeds=300, chunk_seeds=7)
    assert lines.summary is not None
    assert len(lines) == lines.summary.streamlines > 100
    lines.save(tmp_path / "b.trx")
    assert (tmp_path / "a.trx").read_bytes() == (tmp_path / "b.trx").read_bytes()
    with pytest.raises(FileExistsError):
        lines.save(tmp_path / "b.trx")
    assert np.shares_memory(lines[3], lines.points)
    np.testing.assert_array_equal(lines[-1], list(lines)[-1])
    some = lines[lines.length_mm > 10]
    assert 0 < len(some) < len(lines)
    assert all(len(line) > 10 for line in some)
    chunks = list(ps.track_chunks(data.dwi, seeds=300, chunk_seeds=128))
    assert len(chunks) == 3
    np.testing.assert_array_equal(np.concatenate([chunk.points for chunk in chunks]), lines.points)
    np.testing.assert_allclose(lines.affine, data.affine, atol=1e-5)
    with pytest.raises(TypeError, match="no option 'seed'"):
        ps.track(data.dwi, seed=3)  # type: ignore[call-overload]


def test_maps_and_coefficients_are_tracked(data: Data, tmp_path: pathlib.Path) -> None:
    direct = ps.track(data.dwi, seeds=200)
    ps.fit_dwi(data.dwi, tmp_path / "maps", "csd")
    again = ps.track(tmp_path / "maps", seeds=200)
    assert len(again) == pytest.approx(len(direct), abs=5)  # coefficients went through float32
    sh = nib.load(tmp_path / "maps" / "sh.nii.gz")
    order = [m for degree in range(0, 9, 2) for m in range(-degree, degree + 1)]
    first = np.cumsum([0] + [2 * degree + 1 for degree in range(0, 9, 2)])
    turned = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(first[:-1], first[1:], strict=True)])
    assert len(order) == len(turned) == 45
    nib.save(nib.Nifti1Image(np.asarray(sh.dataobj)[..., turned], sh.affine), tmp_path / "fod.nii.gz")
    stop = tmp_path / "maps" / "fa.nii.gz"
    other = ps.track(tmp_path / "fod.nii.gz", seeds=200, sh_basis="tournier07", stop=stop)
    np.testing.assert_array_equal(other.points, again.points)
    with pytest.raises(ValueError, match="must be said"):
        ps.track(tmp_path / "fod.nii.gz", seeds=200, sh_basis="tournier07")


def test_seeds_of_a_grid_and_of_a_file(data: Data, tmp_path: pathlib.Path) -> None:
    lines = ps.track(data.dwi, seed_grid=2, min_length_mm=0)
    assert lines.summary is not None
    assert lines.summary.seeds == 8 * lines.summary.fitted_voxels
    voxels = (lines.seeds - data.affine[:3, 3]) @ np.linalg.inv(data.affine[:3, :3]).T
    np.testing.assert_allclose(abs(voxels - np.round(voxels)), 0.25, atol=1e-4)
    np.savetxt(tmp_path / "seeds.txt", lines.seeds[:50])
    same = ps.track(data.dwi, seeds_file=tmp_path / "seeds.txt", min_length_mm=0, method="det")
    np.testing.assert_allclose(same.seeds, lines.seeds[:50][same.seed_index.astype(int)], atol=1e-4)
    (tmp_path / "bad.txt").write_text("1 2 3\n4 5\n")
    with pytest.raises(ps.MetadataError, match=r"bad\.txt.*seed 1"):
        ps.track(data.dwi, seeds_file=tmp_path / "bad.txt")


def test_gradients_in_other_frames(data: Data, tmp_path: pathlib.Path) -> None:
    want = ps.track(data.dwi, seeds=100, method="det")
    rows = np.nan_to_num(np.loadtxt(data.folder / "dwi.bvec"))
    vectors = rows if rows.shape[1] == 3 else rows.T
    axes = data.affine[:3, :3] / np.linalg.norm(data.affine[:3, :3], axis=0)
    np.savetxt(tmp_path / "world.bvec", vectors @ axes.T, "%.17g")
    world = ps.track(data.dwi, seeds=100, method="det", bvec=tmp_path / "world.bvec", gradients="world")
    assert len(world) == pytest.approx(len(want), abs=2)
    turned = vectors * [-1 if np.linalg.det(axes) > 0 else 1, 1, 1]
    np.savetxt(tmp_path / "fsl.bvec", turned, "%.17g")
    fsl = ps.track(data.dwi, seeds=100, method="det", bvec=tmp_path / "fsl.bvec", gradients="fsl")
    np.testing.assert_array_equal(fsl.points, want.points)


def test_mistakes_are_python_errors(data: Data, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "a.trx"
    with pytest.raises(FileNotFoundError, match="nothing"):
        ps.track(data.folder / "nothing.nii.gz", out)
    with pytest.raises(ValueError, match="method 'probable'"):
        ps.track(data.dwi, out, method="probable")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\.trx, \.trk or \.tck"):
        ps.track(data.dwi, tmp_path / "a.vtk")
    with pytest.raises(ps.MetadataError, match="65 volumes, 64 b values, 65 vectors"):
        short = tmp_path / "short.bval"
        short.write_text("0 " + "1000 " * 63)
        ps.track(data.dwi, out, bval=short)
    with pytest.raises(ps.DeviceError):
        ps.track(data.dwi, out, device="cuda:99")
    out.write_text("mine")
    with pytest.raises(FileExistsError):
        ps.track(data.dwi, out)
    assert out.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.trx", "short.bval"]
