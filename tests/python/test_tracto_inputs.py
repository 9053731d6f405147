"""Tractography of what is in memory: images, gradients, models of DIPY; and the pictures of its guide."""

from __future__ import annotations

import inspect
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib

import nibabel as nib
import numpy as np
import pytest
from dipy.core.gradients import GradientTable, gradient_table
from dipy.core.sphere import HemiSphere
from dipy.data import get_fnames
from dipy.io import read_bvals_bvecs
from dipy.reconst.csdeconv import ConstrainedSphericalDeconvModel
from dipy.reconst.dti import TensorModel
from dipy.reconst.shm import CsaOdfModel, OpdtModel, sh_to_sf
from dipy.tracking import tracker

import penstock as ps
from penstock._diffusion_inputs import write_nifti

COMMAND = pathlib.Path(sys.executable).parent / "penstock"
ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / "docs/guides/tractography.md"


@pytest.fixture
def dwi(tmp_path: pathlib.Path) -> pathlib.Path:
    """DIPY's small_64D."""
    for source, name in zip(get_fnames(name="small_64D"), ("dwi.nii", "dwi.bval", "dwi.bvec"), strict=True):
        shutil.copy(source, tmp_path / name)
    return tmp_path / "dwi.nii"


def table(dwi: pathlib.Path) -> GradientTable:
    bvals, bvecs = read_bvals_bvecs(str(dwi.with_suffix(".bval")), str(dwi.with_suffix(".bvec")))
    return gradient_table(bvals=bvals, bvecs=bvecs)


def values(path: pathlib.Path) -> np.ndarray:
    return np.asarray(nib.load(path).dataobj)


def test_images_and_numbers_in_memory_are_tracked(dwi: pathlib.Path) -> None:
    image = nib.load(dwi)
    bval, bvec = np.loadtxt(dwi.with_suffix(".bval")), np.genfromtxt(dwi.with_suffix(".bvec"))
    mask = nib.Nifti1Image((np.arange(1000).reshape(10, 10, 10) % 7 > 0).astype(np.uint8), image.affine)
    nib.save(mask, dwi.parent / "mask.nii")
    files = ps.track(dwi, seeds=200, mask=dwi.parent / "mask.nii")
    memory = ps.track(image, seeds=200, mask=mask, bval=bval, bvec=np.nan_to_num(bvec))
    assert len(files) > 50
    np.testing.assert_array_equal(files.points, memory.points)
    points = nib.affines.apply_affine(image.affine, [[5, 5, 5], [4, 5, 6]])
    assert set(ps.track(image, bval=bval, bvec=bvec, seeds_file=points, min_length_mm=0).seed_index) <= {0, 1}
    chunks = list(ps.track_chunks(image, bval=bval, bvec=bvec, seeds=90, chunk_seeds=40))
    assert len(chunks) == 3
    with pytest.raises(TypeError, match="mask: must be a path"):
        ps.track(dwi, seeds=10, mask=np.ones((10, 10, 10)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "f4", "f8", "i1", "u2", "u4", "i8", "u8", "?"])
def test_arrays_are_written_as_nifti(tmp_path: pathlib.Path, kind: str) -> None:
    array = np.random.default_rng(1).integers(0, 2 if kind == "?" else 100, (3, 4, 5, 2)).astype(kind)
    affine = np.array([[0, -2, 0, 3], [1.5, 0, 0, -7], [0, 0, 2.5, 1], [0, 0, 0, 1.0]])
    write_nifti(str(tmp_path / "a.nii"), array, affine)
    back = nib.load(tmp_path / "a.nii")
    np.testing.assert_array_equal(np.asarray(back.dataobj), array)
    np.testing.assert_allclose(back.affine, affine)


@pytest.mark.parametrize("kind", ["csd", "csa", "opdt"])
def test_models_of_dipy_are_fitted_and_tracked(dwi: pathlib.Path, kind: str) -> None:
    gradients = table(dwi)
    response = ((1.4e-3, 0.4e-3, 0.4e-3), 200.0)
    model = {
        "csd": lambda: ConstrainedSphericalDeconvModel(gradients, response, sh_order_max=6),
        "csa": lambda: CsaOdfModel(gradients, sh_order_max=4, smooth=0.01, min_signal=2),
        "opdt": lambda: OpdtModel(gradients, sh_order_max=6, smooth=0.01, min_signal=2),
    }[kind]()
    options = ps.from_dipy(model, smooth=0.01)
    summary = ps.fit_dwi(dwi, dwi.parent / "maps", **options)
    want = model.fit(np.asarray(nib.load(dwi).dataobj).astype(float)).shm_coeff
    got, fitted = values(dwi.parent / "maps/sh.nii.gz"), values(dwi.parent / "maps/fa.nii.gz") > 0.1
    assert got.shape == want.shape
    if kind == "csd":  # whose directions of the constraint differ a little
        assert summary.response_evals == pytest.approx((1.4e-3, 0.4e-3, 0.4e-3))
        assert np.corrcoef(got[fitted].ravel(), want[fitted].ravel())[0, 1] > 0.999
    else:
        np.testing.assert_allclose(got[fitted], want[fitted], rtol=1e-5, atol=1e-5)
    assert len(ps.track(dwi, seeds=300, **options)) > 50


def test_models_that_are_not_fitted_here_are_refused(dwi: pathlib.Path) -> None:
    gradients = table(dwi)
    with pytest.raises(TypeError, match="CSD, CSA or OPDT"):
        ps.from_dipy(TensorModel(gradients))
    model = ConstrainedSphericalDeconvModel(gradients, ((1.4e-3, 0.4e-3, 0.4e-3), 200.0), sh_order_max=6, tau=0.2)
    with pytest.raises(ValueError, match=r"tau 0\.2"):
        ps.from_dipy(model)


@pytest.mark.parametrize("model", ["dti", "csd", "opdt"])
def test_peaks_are_those_of_the_coefficients(dwi: pathlib.Path, model: str) -> None:
    out = dwi.parent / "maps"
    ps.fit_dwi(dwi, out, model, sh_order=None if model == "dti" else 6)  # type: ignore[arg-type]
    peaks = values(out / "peaks.nii.gz")
    length = np.linalg.norm(peaks[..., :3], axis=-1)
    if model == "dti":
        np.testing.assert_allclose(length, values(out / "fa.nii.gz"), atol=1e-6)
        evecs = values(out / "evecs.nii.gz")[..., :3]
        np.testing.assert_allclose(abs((peaks * evecs).sum(-1)), length, atol=1e-6)
        return
    sphere = HemiSphere(xyz=ps.sphere_directions(362))
    amplitude = sh_to_sf(values(out / "sh.nii.gz"), sphere, sh_order_max=6, basis_type="descoteaux07", legacy=True)
    strongest = np.clip(amplitude, 0, None).max(-1)
    some = length > 0
    assert some.sum() > 700
    np.testing.assert_array_equal(some, (strongest > 0) & (values(out / "fa.nii.gz") > 0.1))
    np.testing.assert_allclose(length[some], strongest[some], rtol=1e-4)
    assert peaks.shape[-1] == 15
    lengths = np.linalg.norm(peaks.reshape(*peaks.shape[:3], 5, 3), axis=-1)
    assert (np.diff(lengths, axis=-1) <= 1e-6).all()


def grey(path: pathlib.Path) -> np.ndarray:
    """The pixels of an 8-bit grey PNG."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack_from(">IIBB", body)
            assert (depth, color) == (8, 0)
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width + 1)
    out = np.zeros((height, width), np.uint8)
    for y in range(height):
        above = out[y - 1] if y else np.zeros(width, np.uint8)
        match rows[y, 0]:
            case 0:
                out[y] = rows[y, 1:]
            case 1:
                out[y] = np.cumsum(rows[y, 1:], dtype=np.uint8)
            case 2:
                out[y] = rows[y, 1:] + above
            case kind:
                left = np.uint8(0)
                for x in range(width):
                    corner = int(above[x - 1]) if x else 0
                    a, b = int(left), int(above[x])
                    p = a + b - corner
                    near = min((a, b, corner), key=lambda v: (abs(p - v),))
                    left = np.uint8((int(rows[y, x + 1]) + ((a + b) // 2 if kind == 3 else near)) % 256)
                    out[y, x] = left
    return out


def test_the_picture_of_the_guide_is_what_its_commands_draw(dwi: pathlib.Path) -> None:
    text = GUIDE.read_text()
    picture = GUIDE.parent / re.search(r"!\[.*?\]\((\S+\.png)\)", text)[1]  # type: ignore[index]
    block = next(
        b for b in re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M) if "tracks picture" in b and "--scale" in b
    )
    for line in block.strip().splitlines():
        words = line.split()
        assert words[0] == "penstock"
        subprocess.run([COMMAND, *words[1:]], cwd=dwi.parent, check=True, capture_output=True)
    drawn, shown = grey(dwi.parent / picture.name), grey(picture)
    assert drawn.shape == shown.shape
    assert shown.max() == 255
    assert (shown == 0).mean() > 0.02  # the gaps between the projections
    assert shown.std() > 20
    assert np.corrcoef(drawn.ravel().astype(float), shown.ravel().astype(float))[0, 1] > 0.98


def test_the_guide_can_be_followed_to_its_end(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block in its order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE.read_text(), re.S | re.M)
    assert len(blocks) > 8
    for language, block in blocks:
        if language == "python":
            exec(compile(block, str(GUIDE), "exec"), names)
            continue
        for line in block.strip().splitlines():
            words = line.split("#")[0].split()
            done = subprocess.run([COMMAND, *words[1:]], capture_output=True, text=True, check=False)
            assert done.returncode == 0, (line, done.stderr)
    many, one = lines_of("many.trx"), lines_of("one.trx")
    assert list(one) == [4712]
    np.testing.assert_array_equal(one[4712], many[4712])


def test_the_demo_tracks_its_phantom(tmp_path: pathlib.Path) -> None:
    """What `./run demo` does with it."""
    subprocess.run([sys.executable, ROOT / "tools/demo_dwi.py", tmp_path / "demo/dwi"], check=True)
    (tmp_path / "demo/output").mkdir()
    body = (ROOT / "tools/run/demo.sh").read_text().split("demo_tracks() {")[1].split("\n}")[0]
    lines = [line.split() for line in body.splitlines() if "bin/penstock" in line]
    assert [line[1] for line in lines] == ["track", "tracks"]
    for words in lines:
        subprocess.run([COMMAND, *words[1:]], cwd=tmp_path, check=True, capture_output=True)
    picture = grey(tmp_path / "demo/output/tracks.png")
    assert picture.max() == 255
    assert (picture > 0).mean() > 0.1
    lines_found = lines_of(str(tmp_path / "demo/output/tracks.trx"))
    assert len(lines_found) > 5000


def lines_of(path: str) -> dict[int, np.ndarray]:
    """The points of each seed that gave one streamline."""
    with zipfile.ZipFile(path) as file:
        points = np.frombuffer(file.read("positions.3.float32"), np.float32).reshape(-1, 3)
        offsets = np.frombuffer(file.read("offsets.uint64"), np.uint64).astype(int)
        seeds = np.frombuffer(file.read("dps/seed_index.uint64"), np.uint64).astype(int)
    numbers, count = np.unique(seeds, return_counts=True)
    alone = set(numbers[count == 1])
    return {int(s): points[a:b] for s, a, b in zip(seeds, offsets[:-1], offsets[1:], strict=True) if s in alone}


CUSLINES = """nifti_file bvals bvecs mask_nifti roi_nifti --device --sphere --output-prefix --chunk-size --nseeds --ngpus
    --write-method --max-angle --min-signal --step-size --sh-order --fa-threshold --relative-peak-threshold
    --min-separation-angle --sm-lambda --model --dg --cache-dir --seed-seed""".split()
TCKGEN = """-act -algorithm -angle -backtrack -config -crop_at_gmwmi -cutoff -debug -downsample -exclude -force -fslgrad
    -grad -help -include -include_ordered -info -mask -max_attempts_per_seed -maxlength -minlength -noprecomputed
    -nthreads -output_seeds -power -quiet -rk4 -samples -seed_coordinates_fixed -seed_coordinates_global -seed_cutoff
    -seed_direction -seed_dynamic -seed_gmwmi -seed_grid_per_voxel -seed_image -seed_random_per_voxel -seed_rejection
    -seed_sphere -seed_unidirectional -seeds -select -step -stop -trials -version""".split()


def test_the_guide_names_every_option_of_the_others() -> None:
    table = GUIDE.read_text().split("## Options of other programs")[1].split("\n## ")[0]
    dipy = {
        name
        for kind, function in inspect.getmembers(tracker, inspect.isfunction)
        if kind.endswith("_tracking")
        for name in inspect.signature(function).parameters
        if name not in ("sc", "params", "kwargs")  # of the stopping criterion there are rows
    }
    assert len(dipy) > 30
    for option in sorted(dipy) + CUSLINES + TCKGEN:
        assert re.search(rf"`[^`]*(?<![\w-]){re.escape(option)}(?![\w-])[^`]*`", table), option


def test_the_guide_names_every_option_of_the_command() -> None:
    shown = subprocess.run([COMMAND, "track", "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^ +(--[a-z0-9-]+)", shown, re.M)) | set(re.findall(r", (--[a-z0-9-]+)", shown))
    assert len(options) > 40
    text = GUIDE.read_text()
    for option in sorted(options - {"--help", "--json", "--output", "--budget"}):
        assert f"{option}" in text, option


@pytest.mark.parametrize("member", ["../dps/a.float32", "dps/../../a.float32", "/dps/a.float32"])
def test_members_of_a_trx_stay_inside_it(member: str, tmp_path: pathlib.Path) -> None:
    header = {"VOXEL_TO_RASMM": np.eye(4).tolist(), "DIMENSIONS": [5, 5, 5], "NB_STREAMLINES": 1, "NB_VERTICES": 2}
    parts = {
        "header.json": json.dumps(header),
        "positions.3.float32": np.array([[1, 2, 3], [1.5, 2, 3]], np.float32).tobytes(),
        "offsets.uint64": np.array([0, 2], np.uint64).tobytes(),
    }
    inside, outside = tmp_path / "in.trx", tmp_path / "out.trx"
    for path, more in ((inside, {}), (outside, {member: b"\0\0\0\0"})):
        with zipfile.ZipFile(path, "w") as file:
            for name, content in (parts | more).items():
                file.writestr(name, content)
    run = [str(COMMAND), "tracks"]
    assert subprocess.run([*run, "info", str(inside)], capture_output=True, check=False).returncode == 0
    made = tmp_path / "made.trk"
    told = subprocess.run([*run, "convert", str(outside), "-o", str(made)], capture_output=True, text=True, check=False)
    assert told.returncode == 65, told
    assert "out.trx" in told.stderr and "a.float32" in told.stderr
    assert not made.exists()
