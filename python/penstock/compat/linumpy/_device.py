"""Where elements are, and how they get to a GPU and back."""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any

import numpy as np

from penstock import _core, _memory, _tensor
from penstock._errors import DeviceError
from penstock.ndimage import _held


def on_device(x: Any) -> bool:
    """Whether the elements are in the memory of a GPU."""
    return _memory.cuda_index(x) is not None


@functools.cache
def have_gpu() -> bool:
    """Whether this process can use a GPU."""
    try:
        _core.Stream.create(0)
    except DeviceError:
        return False
    return True


def placed(x: Any, use_gpu: bool) -> tuple[Any, bool]:
    """The elements where they are computed on, and whether the result must come back to host memory.

    Elements on a device stay there.  Those of the host go to the GPU where there is one and it is asked for; without one the
    CPU computes the same, and nothing is said: a GPU is what the reference's functions ask for by default.
    """
    if on_device(x):
        return x, False
    x = np.asarray(x)
    if not (use_gpu and have_gpu()):
        return x, False
    native = x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
    return _tensor.asarray(native).to("cuda"), True


def back(x: Any, to_host: bool) -> Any:
    """The result of elements that `placed` gave."""
    return _held.numpy_of(x) if to_host else x


def cupy() -> Any:
    """CuPy; None where it is not installed or there is no GPU."""
    if not have_gpu():
        return None
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


def array_module(use_gpu: bool, *arrays: Any) -> Any:
    """What computes on the arrays: CuPy where one is on a device or `use_gpu` asks for it, else NumPy.

    Errors: ImportError (elements on a device without CuPy).  A GPU or CuPy that is not there where it is asked for is a warning.
    """
    there = any(on_device(x) for x in arrays)
    if not there and not use_gpu:
        return np
    module = cupy()
    if module is not None:
        return module
    if there:
        raise ImportError("elements on a device are taken here by way of CuPy, which is not installed")
    warnings.warn("GPU requested but not available, falling back to CPU", UserWarning, stacklevel=3)
    return np
