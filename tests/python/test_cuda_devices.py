"""Every part on each of several GPUs, and on all at once.  Part of a run only where there are two GPUs and CuPy."""

from __future__ import annotations

import concurrent.futures
import pathlib
import subprocess
import sys
from typing import Any

import cupy
import numpy as np
import pytest

import penstock
import penstock.ndimage as nd
from penstock import CuFile, oct

DEVICES = [device.name for device in penstock.devices() if device.name.startswith("cuda")]
FIRST, SECOND = DEVICES[:2]
PHANTOM = pathlib.Path(__file__).parents[1] / "cli/phantom.py"
SHAPE = (60, 200, 210)
VALUES = np.random.default_rng(0).integers(0, 500, SHAPE, "u2")


@pytest.fixture(scope="module")
def array(tmp_path_factory: pytest.TempPathFactory) -> penstock.Array:
    made = penstock.create(
        tmp_path_factory.mktemp("devices") / "a", shape=SHAPE, dtype="u2", chunks=(32, 64, 64), codecs=["zstd"]
    )
    made[...] = VALUES
    return made


def expect_current(device: str) -> None:
    """A call leaves the thread on the device that its caller chose."""
    assert cupy.cuda.runtime.getDevice() == int(device.removeprefix("cuda:"))


@pytest.mark.parametrize("current", DEVICES)
@pytest.mark.parametrize("device", DEVICES)
def test_a_call_works_where_it_is_asked_to_and_leaves_the_callers_device(
    array: penstock.Array, tmp_path: pathlib.Path, device: str, current: str
) -> None:
    with cupy.cuda.Device(int(current.removeprefix("cuda:"))):
        got = array.read(device=device)
        expect_current(current)
        assert got.device == device
        np.testing.assert_array_equal(got.numpy(), VALUES)
        filtered = nd.gaussian_filter(got, 1.5)
        expect_current(current)
        assert filtered.device == device
        np.testing.assert_array_equal(
            filtered.numpy(), nd.gaussian_filter(penstock.asarray(VALUES).to(FIRST), 1.5).numpy()
        )
        assert nd.percentile(got, 50) == np.percentile(VALUES, 50)
        b = penstock.create(tmp_path / "b", shape=SHAPE, dtype="u2", chunks=(32, 64, 64), codecs=["zstd"])
        b[...] = got
        expect_current(current)
        np.testing.assert_array_equal(b[...], VALUES)
        nd.gaussian_filter(array, 1).write(tmp_path / "c", device=device, budget="64MiB")
        expect_current(current)


def test_copies_between_devices(array: penstock.Array) -> None:
    here = array.read(device=SECOND)
    there = here.to(FIRST)
    assert (here.device, there.device) == (SECOND, FIRST)
    np.testing.assert_array_equal(there.numpy(), VALUES)
    np.testing.assert_array_equal(there.to(SECOND).numpy(), VALUES)
    # Of a view, and into memory that others gave.
    with cupy.cuda.Device(1):
        part = cupy.asarray(VALUES)[::-2, 5:100:3]
    np.testing.assert_array_equal(penstock.asarray(part).to(FIRST).numpy(), VALUES[::-2, 5:100:3])


def test_memory_of_others_is_known_by_its_device(array: penstock.Array) -> None:
    for number in range(len(DEVICES)):
        with cupy.cuda.Device(number):
            out = cupy.zeros(SHAPE, "u2")
        with cupy.cuda.Device(0):
            array.read(out=out)
        np.testing.assert_array_equal(out.get(), VALUES)
        with cupy.cuda.Device(number):
            filtered = nd.median_filter(out, 3)
        assert isinstance(filtered, cupy.ndarray) and filtered.device.id == number
        np.testing.assert_array_equal(filtered.get(), nd.median_filter(VALUES, 3))


def test_two_devices_in_one_call_are_refused_or_right(array: penstock.Array) -> None:
    a, b = array.read(device=FIRST), array.read(device=SECOND)
    with pytest.raises(ValueError, match="cuda:"):
        nd.gaussian_filter(a, 1, output=b)
    with pytest.raises(ValueError, match="cuda:"):
        array.read(out=a, device=SECOND)
    penstock.read_many([(array, ..., a), (array, np.s_[::-1], b)])
    np.testing.assert_array_equal(a.numpy(), VALUES)
    np.testing.assert_array_equal(b.numpy(), VALUES[::-1])


def test_all_devices_at_once(array: penstock.Array) -> None:
    def work(i: int) -> bool:
        got = nd.maximum_filter(array.read(np.s_[i % 20 :], device=DEVICES[i % len(DEVICES)]), 3)
        return np.array_equal(got.numpy(), nd.maximum_filter(VALUES[i % 20 :], 3))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(48)))


def test_files(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(1).integers(0, 256, 30_000_001, "u1")
    values.tofile(tmp_path / "a")
    buffers = []
    for number in range(len(DEVICES)):
        with cupy.cuda.Device(number):
            buffers.append(cupy.zeros(values.size, "u1"))
    offsets, each = np.arange(0, values.size - 5000, 50_000), 4096
    with CuFile(tmp_path / "a") as f:
        for future in [f.pread(buffer) for buffer in buffers]:
            assert future.get() == values.size
        for buffer in buffers:
            np.testing.assert_array_equal(buffer.get(), values)
            with buffer.device:
                buffer.fill(0)
        # Small requests to devices in turn: each is copied on its own.
        futures = [f.pread(buffers[i % len(buffers)][o : o + each], file_offset=int(o)) for i, o in enumerate(offsets)]
        assert all(future.get() == each for future in futures)
    for i, o in enumerate(offsets):
        np.testing.assert_array_equal(buffers[i % len(buffers)][o : o + each].get(), values[o : o + each])
    for number, buffer in enumerate(buffers):
        with cupy.cuda.Device(number), CuFile(tmp_path / "b", "w+") as out, CuFile(tmp_path / "a") as f:
            stream = cupy.cuda.Stream(non_blocking=True)
            read = f.raw_read_async(buffer, stream)
            written = out.raw_write_async(buffer, stream)
            assert read.check_bytes_done() == written.check_bytes_done() == values.size
        np.testing.assert_array_equal(np.fromfile(tmp_path / "b", "u1"), values)


def test_rasters(tmp_path: pathlib.Path) -> None:
    for codec in ("lzw", "deflate", "zstd"):
        raster = penstock.write_cog(VALUES[:3], tmp_path / f"{codec}.tif", codec=codec, block=64)
        for device in DEVICES:
            got = raster.read(device=device)
            assert got.device == device
            np.testing.assert_array_equal(got.numpy(), VALUES[:3])
            again = penstock.write_cog(got, tmp_path / "again.tif", codec=codec, block=64, overwrite=True)
            np.testing.assert_array_equal(again[...], VALUES[:3])


def test_pyramids(array: penstock.Array, tmp_path: pathlib.Path) -> None:
    made = []
    for device in ("cpu", *DEVICES):
        path = tmp_path / device.replace(":", "")
        penstock.write_pyramid(array, path, axes="zyx", levels=3, device=device)
        made.append(penstock.open(path)[2][...])
    for other in made[1:]:
        np.testing.assert_array_equal(other, made[0])


def test_steps_of_oct(tmp_path: pathlib.Path) -> None:
    oct.simulate(tmp_path / "subject", size="smoke", seed=3)
    volumes = []
    for device in DEVICES[:2]:
        out = tmp_path / device.replace(":", "")
        oct.reconstruct(
            tmp_path / "subject/raw", out, device=device, shifts=tmp_path / "subject/raw/shifts_xy.csv",
            resolution_um=10, axial_resolution_um=10, slicing_interval_mm=0.24, depth_um=520,
        )  # fmt: skip
        volumes.append(penstock.open(out / "3d_volume.ome.zarr")[0][...])
    np.testing.assert_array_equal(*volumes)


@pytest.mark.parametrize("method", ["prob", "det", "boot", "ptt"])
def test_streamlines_by_all_devices_are_those_of_one(tmp_path: pathlib.Path, method: Any) -> None:
    subprocess.run([sys.executable, PHANTOM, "dwi"], cwd=tmp_path, check=True)
    files = []
    for name in ("cpu", FIRST, SECOND, "cuda:all", f"{SECOND},{FIRST}"):
        out = tmp_path / f"{len(files)}.trx"
        penstock.track(tmp_path / "dwi.nii", out, method=method, seeds=5000, chunk_seeds=600, device=name)
        files.append(out.read_bytes())
    assert all(other == files[0] for other in files[1:])
