"""Steps of the OCT reconstruction beside their definitions in NumPy and SciPy, within what is asked of each."""

from pathlib import Path

import numpy as np
import pytest
import zarr
from scipy import ndimage

from penstock import oct as steps

MM = 0.01


def image(path: Path, values: np.ndarray, chunks: tuple[int, ...]) -> Path:
    """An OME-NGFF image of voxels of 10 um."""
    group = zarr.create_group(path, zarr_format=3)
    axes = [{"name": n, "type": "space", "unit": "millimeter"} for n in "zyx"]
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [MM] * 3}]}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets, "name": path.name}]}
    array = group.create_array(
        "0", shape=values.shape, chunks=chunks, dtype="float32", fill_value=0, dimension_names=list("zyx")
    )
    array[:] = values
    return path


def level0(path: Path) -> np.ndarray:
    return zarr.open_array(path / "0", mode="r")[:]


@pytest.fixture(scope="module")
def tissue() -> np.ndarray:
    """Tissue below a tilted surface, with speckle; (planes, rows, columns)."""
    rng = np.random.default_rng(2)
    z, r, c = np.meshgrid(np.arange(40), np.arange(60), np.arange(48), indexing="ij")
    surface = 11 + r / 20 + c / 16
    light = np.where(z < surface, 6, 90 * np.exp(-(z - surface) / 25))
    spots = ndimage.gaussian_filter(rng.random(light.shape), 2)
    return (light * (0.6 + 0.8 * (spots - spots.min()) / np.ptp(spots)) * rng.gamma(8, 1 / 8, light.shape)).astype("f4")


def interface(volume: np.ndarray, width: int, sigma: float, log: bool, mask: np.ndarray | None = None) -> np.ndarray:
    """Where columns rise most steeply, whole planes."""
    v = volume.astype("f4")
    if log:
        v = np.where(v > 0, np.log(np.where(v > 0, v, 1)), v)
    v = ndimage.uniform_filter(v, (1, width, width), mode="reflect")
    if mask is None:
        rise = ndimage.gaussian_filter1d(v, sigma, axis=0, order=1)
    else:
        rise = np.zeros_like(v)
        for r, c in np.ndindex(v.shape[1:]):
            held = mask[:, r, c] > 0
            if held.any():
                rise[held, r, c] = ndimage.gaussian_filter1d(v[held, r, c], sigma, order=1)
    return np.ceil(rise.argmax(0) + 0.5 * sigma)


@pytest.mark.parametrize("log", [True, False])
def test_interface_is_the_same_in_nearly_all_columns(tmp_path: Path, tissue: np.ndarray, log: bool) -> None:
    path = image(tmp_path / "s.ome.zarr", tissue, (40, 20, 20))
    steps.tissue_interface(path, tmp_path / "map.npy", sigma_xy=5, sigma_z=2, no_log=not log, compat=True)
    made, expected = np.load(tmp_path / "map.npy"), interface(tissue, 5, 2, log)
    assert (made == expected).mean() >= 0.999
    assert np.abs(made - expected).max() <= 1


def test_interface_in_a_mask(tmp_path: Path, tissue: np.ndarray) -> None:
    mask = np.ones_like(tissue)
    mask[:9, :30] = 0  # a bright film above
    mask[20:23, :, 10:20] = 0  # a gap
    mask[:, 50:, 40:] = 0  # nothing
    path = image(tmp_path / "s.ome.zarr", tissue, (40, 20, 20))
    inside = image(tmp_path / "m.ome.zarr", mask, (40, 60, 48))
    steps.tissue_interface(path, tmp_path / "map.npy", mask=inside, sigma_xy=3, compat=True)
    made, expected = np.load(tmp_path / "map.npy"), interface(tissue, 3, 2, True, mask)
    assert (made == expected).mean() >= 0.999
    steps.tissue_interface(path, tmp_path / "exact.npy", mask=inside, sigma_xy=3)
    near = np.load(tmp_path / "exact.npy")[:30, :10]
    assert np.abs(near + 1 - expected[:30, :10]).max() <= 1  # ceil(plane + 1)
    other = image(tmp_path / "other.ome.zarr", mask[:, 1:], (40, 20, 20))
    with pytest.raises(Exception, match="other.ome.zarr"):
        steps.tissue_interface(path, tmp_path / "no.npy", mask=other)


def peaks(values: np.ndarray) -> np.ndarray:
    """Of each column the plane of the first largest value, to a fraction by the parabola through its neighbours."""
    top = values.argmax(0)
    inside = (top > 0) & (top < len(values) - 1)
    at = np.clip(top, 1, len(values) - 2)
    before, here, after = (np.take_along_axis(values, (at + k)[None], 0)[0] for k in (-1, 0, 1))
    curve = before - 2 * here + after
    return top + np.where(inside & (curve < 0), 0.5 * (before - after) / np.where(curve < 0, curve, 1), 0)


def exact_interface(volume: np.ndarray, width: int, sigma: float, log: bool, cutting: bool = False) -> np.ndarray:
    """The same between planes, in double precision."""
    v = volume.astype("f8")
    if log:
        v = np.where(v > 0, np.log(np.where(v > 0, v, 1)), v)
    v = ndimage.uniform_filter(v, (1, width, width), mode="reflect")
    found = peaks(ndimage.gaussian_filter1d(v, sigma, axis=0, order=1))
    return np.minimum(found, peaks(np.abs(ndimage.gaussian_filter1d(v, sigma, axis=0)))) if cutting else found


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("cutting", [False, True])
def test_interface_between_planes_is_that_of_double_precision(
    tmp_path: Path, tissue: np.ndarray, log: bool, cutting: bool
) -> None:
    tissue = tissue.copy()
    tissue[:3, :30] = 300  # what was cut and lies above: bright from the first plane on, so that nothing rises there
    path = image(tmp_path / "s.ome.zarr", tissue, (40, 20, 20))
    options = {"sigma_xy": 5, "sigma_z": 2, "no_log": not log, "detect_cutting_errors": cutting}
    steps.tissue_interface(path, tmp_path / "map.npy", **options)
    away = np.abs(np.load(tmp_path / "map.npy") - exact_interface(tissue, 5, 2, log, cutting))
    assert (away < 1e-3).mean() >= 0.999 and away.max() <= 1
    # With --compat by whole planes; half of sigma is added to the steepest rise only.
    steps.tissue_interface(path, tmp_path / "whole.npy", compat=True, **options)
    whole = interface(tissue, 5, 2, log)
    if cutting:
        v = tissue.astype("f8")
        v = np.where(v > 0, np.log(np.where(v > 0, v, 1)), v) if log else v
        smooth = ndimage.gaussian_filter1d(ndimage.uniform_filter(v, (1, 5, 5), mode="reflect"), 2, axis=0)
        whole = np.minimum(whole, np.abs(smooth).argmax(0))
    made = np.load(tmp_path / "whole.npy")
    assert (made == whole).mean() >= 0.999 and np.abs(made - whole).max() <= 1


def focal_map(mosaic: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """What all tiles' interfaces share beside their planes: the median, smoothed, mean 0."""
    y, x = np.meshgrid(2 * np.arange(rows) / rows - 1, 2 * np.arange(cols) / cols - 1, indexing="ij")
    base = np.stack([np.ones(rows * cols), y.ravel(), x.ravel()], 1)
    left = []
    for r in range(0, mosaic.shape[1], rows):
        for c in range(0, mosaic.shape[2], cols):
            z = exact_interface(mosaic[:, r : r + rows, c : c + cols], 3, 2, False).ravel()
            left.append(z - base @ np.linalg.lstsq(base, z, rcond=None)[0])
    middle = np.median(left, 0).reshape(rows, cols)
    smooth = ndimage.gaussian_filter(middle, (0.06 * rows, 0.06 * cols), mode="mirror")
    return smooth - smooth.mean()


@pytest.mark.parametrize("compat", [False, True])
def test_focal_curvature_is_that_of_double_precision(tmp_path: Path, compat: bool) -> None:
    """Tiles of 24 x 20 that share a curve of 3 planes, on a tilted surface."""
    rng = np.random.default_rng(7)
    z, r, c = np.meshgrid(np.arange(40), np.arange(72), np.arange(60), indexing="ij")
    curve = 3 * (((r % 24 - 11.5) / 12) ** 2 + ((c % 20 - 9.5) / 10) ** 2)
    surface = 12 + curve + r / 30 + c / 25
    light = 5 + 80 / (1 + np.exp(-(z - surface) / 0.8)) * np.exp(-np.clip(z - surface, 0, None) / 30)
    volume = (light * rng.gamma(60, 1 / 60, light.shape)).astype("f4")
    path = image(tmp_path / "m.ome.zarr", volume, (40, 24, 20))
    steps.fix_focal_curvature(path, tmp_path / "f.ome.zarr", compat=compat)
    found, expected = np.load(tmp_path / "f_focal.npy"), focal_map(volume, 24, 20)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    truth = curve[0, :24, :20] - curve[0, :24, :20].mean()
    assert np.sqrt(((expected - truth) ** 2).mean()) <= 0.5
    moved = np.tile(found, (3, 3))
    if compat:
        at = (np.arange(40)[:, None, None] + np.trunc(moved).astype(int)) % 40
        fixed = np.take_along_axis(volume, at, 0)
    else:
        at = np.clip(np.arange(40)[:, None, None] + moved, 0, 39)
        low = np.floor(at).astype(int)
        below, above = (np.take_along_axis(volume, k, 0).astype("f8") for k in (low, np.minimum(low + 1, 39)))
        fixed = below + (at - low) * (above - below)
    np.testing.assert_allclose(level0(tmp_path / "f.ome.zarr"), fixed, rtol=1e-5, atol=1e-4)


def surface_plane(volume: np.ndarray, sigma_xy: float = 3, sigma_z: float = 2) -> int:
    """One plane for a whole slice."""
    pad = round(4 * sigma_z)
    padded = np.concatenate([np.repeat(volume[:1], pad, 0), volume])
    rise = ndimage.gaussian_filter(padded, (sigma_z, sigma_xy, sigma_xy), order=(1, 0, 0))
    mean = volume.mean(0, dtype="f8").astype("f4")
    bright = mean > np.percentile(mean[mean > 0], 5)
    return max(int(rise[:, bright].sum(1, dtype="f8").argmax()) - pad, 0)


def test_crop_is_exact(tmp_path: Path, tissue: np.ndarray) -> None:
    path = image(tmp_path / "s.ome.zarr", tissue, (40, 20, 20))
    steps.crop_below_interface(path, tmp_path / "c.ome.zarr", depth_um=155, compat=True)
    first = surface_plane(tissue)
    expected = tissue[first : first + 16]  # 15.5 rounds to even
    assert np.array_equal(level0(tmp_path / "c.ome.zarr"), expected)


def test_resampled_tiles(tmp_path: Path, tissue: np.ndarray) -> None:
    tile = (40, 30, 24)
    path = image(tmp_path / "m.ome.zarr", tissue, tile)
    steps.resample_mosaic(path, tmp_path / "r.ome.zarr", resolution_um=20, align="corners")
    made, to = level0(tmp_path / "r.ome.zarr"), (20, 15, 12)
    assert made.shape == (20, 30, 24)
    for i in range(2):
        for j in range(2):
            part = tissue[:, i * 30 : (i + 1) * 30, j * 24 : (j + 1) * 24]
            smooth = ndimage.gaussian_filter(part, [(n / m - 1) / 2 for n, m in zip(tile, to, strict=True)])
            grids = [np.minimum(np.arange(m) * (n - 1) / (m - 1), n - 1) for n, m in zip(tile, to, strict=True)]
            expected = ndimage.map_coordinates(smooth, np.meshgrid(*grids, indexing="ij"), order=1)
            mine = made[:, i * 15 : (i + 1) * 15, j * 12 : (j + 1) * 12]
            np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-4 * expected.max())


def test_focal_roll_is_exact_for_the_same_map(tmp_path: Path, tissue: np.ndarray) -> None:
    path = image(tmp_path / "m.ome.zarr", tissue, (40, 30, 24))
    steps.fix_focal_curvature(path, tmp_path / "f.ome.zarr", compat=True)
    move = np.trunc(np.load(tmp_path / "f_focal.npy")).astype(int)
    made = level0(tmp_path / "f.ome.zarr")
    z = (np.arange(40)[:, None, None] + np.tile(move, (2, 2))[None]) % 40
    assert np.array_equal(made, np.take_along_axis(tissue, z, 0))


def test_projections(tmp_path: Path, tissue: np.ndarray) -> None:
    path = image(tmp_path / "m.ome.zarr", tissue, (40, 30, 24))
    steps.aip(path, tmp_path / "a.ome.zarr", n_levels=1)
    mean = tissue.mean(0, dtype="f8")
    np.testing.assert_allclose(level0(tmp_path / "a.ome.zarr"), mean, rtol=1e-5)


def test_normalised_planes(tmp_path: Path, tissue: np.ndarray) -> None:
    """The mask is told from the step's own coverage only: both take Otsu's threshold in 256 bins."""
    volume = tissue.copy()
    volume[:, :, :20] *= 0.1  # agarose
    path = image(tmp_path / "s.ome.zarr", volume, (40, 60, 48))
    steps.normalize(path, tmp_path / "n.ome.zarr")
    steps.normalize(path, tmp_path / "t.ome.zarr", tiles=True)
    made = level0(tmp_path / "n.ome.zarr")
    mean = volume.mean(0, dtype="f8").astype("f4")
    smooth = ndimage.gaussian_filter(mean, 1)
    counts, edges = np.histogram(smooth[mean > 0], 256)
    middle = (edges[1:] + edges[:-1]) / 2
    below, above = np.cumsum(counts)[:-1], counts.sum() - np.cumsum(counts)[:-1]
    sums = np.cumsum(counts * middle)
    between = below * above * (sums[:-1] / below - (sums[-1] - sums[:-1]) / above) ** 2
    dark = (smooth < middle[between.argmax()]) & (mean > 0)
    volume = volume.astype("f8")
    low = np.array([np.median(p[dark]) for p in volume])
    high = np.maximum([np.percentile(p, 99.9) for p in volume], low)
    span = np.maximum(high - low, 0.1 * (high - low).max())
    expected = (np.clip(volume, low[:, None, None], high[:, None, None]) - low[:, None, None]) / span[:, None, None]
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(level0(tmp_path / "t.ome.zarr"), made, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("interval_mm", [0.11, 0.137])
def test_overlap_is_exact(tmp_path: Path, tissue: np.ndarray, interval_mm: float) -> None:
    shared = 40 - int(interval_mm * 1000 / 10)
    noise = np.random.default_rng(3).normal(0, 1, tissue.shape).astype("f4")
    below = np.concatenate([tissue[40 - shared :], tissue[: 40 - shared]]) * 2 + noise
    a = image(tmp_path / "a.ome.zarr", tissue, (40, 20, 20))
    b = image(tmp_path / "b.ome.zarr", below, (40, 20, 20))
    made = steps.find_z_overlap(a, b, slicing_interval_mm=interval_mm, search_range_mm=0.05, compat=True)
    scores = {}
    for o in range(shared - 5, shared + 6):
        p, q = (v[:, 12:48, 12:36].astype("f8") for v in (tissue[-o:], below[:o]))
        scores[o] = ((p - p.mean()) / (p.std() + 1e-8) * ((q - q.mean()) / (q.std() + 1e-8))).mean()
    assert made["overlap"] == max(scores, key=scores.__getitem__) == shared
    assert made["score"] == pytest.approx(scores[shared], abs=1e-4)
