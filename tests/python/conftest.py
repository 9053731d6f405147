"""Settings of all tests.  They test the installed package, never the source tree."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import warnings

import hypothesis
import pytest

import penstock

# zarr-python warns about data types that zarr v3 has no specification of; we test that both sides agree on them.
warnings.filterwarnings("ignore", category=UserWarning, module="zarr")
hypothesis.settings.register_profile(
    "penstock",
    derandomize=True,  # a run says the same twice; HYPOTHESIS_PROFILE=explore draws new examples
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("explore", hypothesis.settings.get_profile("penstock"), derandomize=False)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "penstock"))

os.environ["PENSTOCK_CONFIG"] = ""  # no settings of the one who runs this

CUDA_DEVICES = sum(device.name.startswith("cuda") for device in penstock.devices())
HAVE_CUDA = CUDA_DEVICES > 0
# Tests that need a GPU are not part of a run without one, nor those of libraries for it without these.
INSTALLED = {library for library in ("cupy", "torch") if importlib.util.find_spec(library) is not None}
COLLECTED = {
    "test_cuda.py": HAVE_CUDA,
    "test_cuda_cufile.py": HAVE_CUDA and "cupy" in INSTALLED,
    "test_cuda_devices.py": CUDA_DEVICES > 1 and "cupy" in INSTALLED,
    "test_cuda_linumpy.py": HAVE_CUDA and "cupy" in INSTALLED,
    "test_cuda_ndimage.py": HAVE_CUDA and "cupy" in INSTALLED,
    "test_cuda_libraries.py": HAVE_CUDA and bool(INSTALLED),
    "test_cuda_oct.py": HAVE_CUDA,
    "test_cuda_tiff.py": HAVE_CUDA,
    "test_oct_pyramid.py": importlib.util.find_spec("ome_zarr") is not None,  # which needs Python 3.12
    "test_cuda_zarr_codecs.py": HAVE_CUDA and "cupy" in INSTALLED,
    "test_torch.py": "torch" in INSTALLED,
}
collect_ignore = [name for name, collected in COLLECTED.items() if not collected]


def pytest_report_header() -> str:
    cuda = "with CUDA" if HAVE_CUDA else f"no CUDA ({penstock.cuda_unavailable_reason()}): no test_cuda*.py"
    return f"penstock {penstock.__version__} from {pathlib.Path(penstock.__file__).parent}, {cuda}"


def pytest_configure() -> None:
    installed = pathlib.Path(penstock.__file__).resolve()
    tree = pathlib.Path(__file__).resolve().parents[2]
    if (tree / "python") in installed.parents:
        pytest.exit(f"penstock comes from the source tree ({installed}); install the wheel first", returncode=4)
