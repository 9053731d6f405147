"""Tensors of PyTorch in, tensors of PyTorch out: operators on the CPU and, where there is one, on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as sn
import torch
from images import expect_same, image

import penstock as ps
import penstock.ndimage as nd

DEVICES = ["cpu"]
if torch.cuda.is_available() and any(device.name.startswith("cuda") for device in ps.devices()):
    DEVICES.append("cuda")
POINTS = np.random.default_rng(1).random((3, 50)) * 10
CALLS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("f4", lambda of, x: of.gaussian_filter(x, 1.5)),
    ("u1", lambda of, x: of.median_filter(x, 3)),
    ("f8", lambda of, x: of.maximum_filter(x, (3, 1, 2), mode="wrap")),
    ("i2", lambda of, x: of.uniform_filter(x, 3)),
    ("f4", lambda of, x: of.zoom(x, 0.5, order=1)),
    ("f4", lambda of, x: of.map_coordinates(x, POINTS if of is sn else torch.asarray(POINTS).to(x.device), order=1)),
]


def same(made: Any, wanted: Any, device: str) -> None:
    assert isinstance(made, torch.Tensor) and made.device.type == device
    expect_same(made.cpu().numpy(), wanted)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "call"), CALLS)
def test_tensors_come_out(dtype: str, call: Callable[[Any, Any], Any], device: str) -> None:
    x = image((21, 16, 13), dtype)
    tensor = torch.from_numpy(x).to(device)
    same(call(nd, tensor), call(sn, x), device)
    same(call(nd, tensor.permute(2, 0, 1)), call(sn, x.transpose(2, 0, 1)), device)  # a view
    np.testing.assert_array_equal(tensor.cpu().numpy(), x)


@pytest.mark.parametrize("device", DEVICES)
def test_outputs_are_filled(device: str) -> None:
    x = image((21, 16, 13), "f4")
    tensor = torch.from_numpy(x).to(device)
    wanted = sn.gaussian_filter(x, 1)
    into = torch.empty_like(tensor)
    assert nd.gaussian_filter(tensor, 1, output=into) is into
    same(into, wanted, device)
    nd.gaussian_filter(tensor, 1, output=tensor)  # in its place
    same(tensor, wanted, device)
    double = nd.gaussian_filter(torch.from_numpy(x).to(device), 1, output=torch.float64)
    assert double.dtype == torch.float64
    same(double, sn.gaussian_filter(x, 1, output="f8"), device)
    total = nd.sum(torch.from_numpy(x).to(device))
    np.testing.assert_allclose(float(total), x.sum(dtype="f8"), rtol=1e-6)
