"""Image operators beside scipy on one core, or beside CuPy on a GPU, in one run.

    ndimage.py [--device cpu|cuda] [--size N] [--rounds N] [--only TEXT]    writes bench/results/ndimage-*.json

N^3 elements; every result is compared with the peer's before it is timed, and one that differs is said, not timed: exit 1 at
the end.  A time is the least of the rounds, in which the two take turns, and write into memory that was used before where they can.  On the CPU penstock has one thread, as scipy
has.
The share is how much of the bandwidth of one copy of the elements it is to read them once and write the result once.
"""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import record

import penstock
import penstock.ndimage as nd

# No coordinate falls on the border itself, where roundings decide what is inside.
ROTATION = np.array([[np.cos(0.3), -np.sin(0.3), 0], [np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])
OFFSET = [3.217, -1.731, 0.413]
QUANTILES = [1, 50, 99.5]
WEIGHTS = np.hanning(11)[1:-1]


def rows(
    peer: Any, xp: Any, x: Any, u: Any, one: dict[str, int]
) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Name -> (ours, the peer's)."""
    indices = xp.stack(xp.meshgrid(*(xp.arange(n, dtype=np.float64) for n in x.shape), indexing="ij"))
    points = (indices + 3 * xp.sin(indices[::-1] / 7))[:, : x.shape[0] // 4].copy()
    # Results go where others have been: fresh memory can cost more than a filter.
    ours, theirs = ({"x": xp.empty_like(x), "u": xp.empty_like(u)} for _ in range(2))
    return {
        "gaussian_filter sigma 2 float32": (
            lambda: nd.gaussian_filter(x, 2, output=ours["x"], **one),
            lambda: peer.gaussian_filter(x, 2, output=theirs["x"]),
        ),
        "gaussian_filter sigma 2 uint16": (
            lambda: nd.gaussian_filter(u, 2, output=ours["u"], **one),
            lambda: peer.gaussian_filter(u, 2, output=theirs["u"]),
        ),
        "uniform_filter 5 float32": (
            lambda: nd.uniform_filter(x, 5, output=ours["x"], **one),
            lambda: peer.uniform_filter(x, 5, output=theirs["x"]),
        ),
        "maximum_filter 3 float32": (
            lambda: nd.maximum_filter(x, 3, output=ours["x"], **one),
            lambda: peer.maximum_filter(x, 3, output=theirs["x"]),
        ),
        "median_filter 3 float32": (
            lambda: nd.median_filter(x, 3, output=ours["x"], **one),
            lambda: peer.median_filter(x, 3, output=theirs["x"]),
        ),
        "median_filter 3 uint16": (
            lambda: nd.median_filter(u, 3, output=ours["u"], **one),
            lambda: peer.median_filter(u, 3, output=theirs["u"]),
        ),
        "affine_transform order 1 float32": (
            lambda: nd.affine_transform(x, ROTATION, OFFSET, order=1, output=ours["x"], **one),
            lambda: peer.affine_transform(x, xp.asarray(ROTATION), OFFSET, order=1, output=theirs["x"]),
        ),
        "zoom 0.5 order 1 float32": (lambda: nd.zoom(x, 0.5, order=1, **one), lambda: peer.zoom(x, 0.5, order=1)),
        "affine_transform order 3 float32": (
            lambda: nd.affine_transform(x, ROTATION, OFFSET, order=3, output=ours["x"], **one),
            lambda: peer.affine_transform(x, xp.asarray(ROTATION), OFFSET, order=3, output=theirs["x"]),
        ),
        "zoom 0.5 order 3 float32": (lambda: nd.zoom(x, 0.5, order=3, **one), lambda: peer.zoom(x, 0.5, order=3)),
        "map_coordinates order 3 float32": (
            lambda: nd.map_coordinates(x, points, order=3, output=ours["x"], **one),
            lambda: peer.map_coordinates(x, points, order=3, output=theirs["x"]),
        ),
        "spline_filter float32": (
            lambda: nd.spline_filter(x, output=ours["x"], **one),
            lambda: peer.spline_filter(x, output=theirs["x"]),
        ),
        "map_coordinates order 1 float32": (
            lambda: nd.map_coordinates(x, points, order=1, output=ours["x"], **one),
            lambda: peer.map_coordinates(x, points, order=1, output=theirs["x"]),
        ),
        "affine_transform order 0 uint16": (
            lambda: nd.affine_transform(u, ROTATION, OFFSET, order=0, output=ours["u"], **one),
            lambda: peer.affine_transform(u, xp.asarray(ROTATION), OFFSET, order=0, output=theirs["u"]),
        ),
        "affine_transform order 1 uint16": (
            lambda: nd.affine_transform(u, ROTATION, OFFSET, order=1, output=ours["u"], **one),
            lambda: peer.affine_transform(u, xp.asarray(ROTATION), OFFSET, order=1, output=theirs["u"]),
        ),
        "shift order 1 float32": (
            lambda: nd.shift(x, [0.5, -1.25, 2.75], order=1, output=ours["x"], **one),
            lambda: peer.shift(x, [0.5, -1.25, 2.75], order=1, output=theirs["x"]),
        ),
        "correlate1d 9 float32": (
            lambda: nd.correlate1d(x, WEIGHTS, axis=1, output=ours["x"], **one),
            lambda: peer.correlate1d(x, xp.asarray(WEIGHTS), axis=1, output=theirs["x"]),
        ),
        "variance float32": (lambda: nd.variance(x, **one), lambda: xp.var(x)),
        "sum axis 1 float32": (lambda: nd.sum(x, axes=1, **one), lambda: xp.sum(x, axis=1)),
        "sum uint16": (lambda: nd.sum(u, **one), lambda: xp.sum(u)),
        "histogram 256 float32": (
            lambda: nd.histogram(x, 0, 1000, 256, **one),
            lambda: peer.histogram(x, 0, 1000, 256),
        ),
        "mean float32": (lambda: nd.mean(x, **one), lambda: peer.mean(x)),
        "maximum axis 0 uint16": (lambda: nd.maximum(u, axes=0, **one), lambda: u.max(axis=0)),
        "phase correlation float32": (
            lambda: nd.phase_correlation(x[0], x[5], **one)[0],
            lambda: phase_peak(xp, x[0], x[5]),
        ),
        "percentile float32": (lambda: nd.percentile(x, QUANTILES, **one), lambda: xp.percentile(x, QUANTILES)),
        "percentile uint16": (lambda: nd.percentile(u, QUANTILES, **one), lambda: xp.percentile(u, QUANTILES)),
    }


def phase_peak(xp: Any, a: Any, b: Any) -> Any:
    """Where the correlation of phases is largest, as shifts."""
    product = xp.fft.fftn(a) * xp.fft.fftn(b).conj()
    product /= xp.maximum(xp.abs(product), 100 * np.finfo(np.float32).eps)
    at = np.array(np.unravel_index(int(xp.argmax(xp.abs(xp.fft.ifftn(product)))), a.shape), float)
    return np.where(at > np.array(a.shape) // 2, at - np.array(a.shape), at)


def host(values: Any) -> np.ndarray:
    return np.asarray(values.get() if hasattr(values, "get") else values)


def difference(name: str, ours: Any, theirs: Any) -> float | None:
    """The largest one, where it is more than roundings make."""
    a, b = host(ours).astype(float), host(theirs).astype(float)
    whole = "uint16" in name and ("gaussian" in name or "order 1" in name)
    slack = 3 if whole else 2e-5 * np.abs(b).max()
    worst = float(np.abs(a - b).max())
    return None if worst <= slack else worst


def seconds(call: Callable[[], Any], wait: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    wait()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--size", type=int)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="rows that contain this text; nothing is saved")
    args = parser.parse_args()
    cuda = args.device == "cuda"
    size = args.size or (512 if cuda else 128)
    xp = importlib.import_module("cupy") if cuda else np
    peer = importlib.import_module("cupyx.scipy.ndimage" if cuda else "scipy.ndimage")
    wait = xp.cuda.Device().synchronize if cuda else (lambda: None)
    x = np.random.default_rng(7).random((size, size, size), np.float32)
    x = nd.gaussian_filter(x, 2) * 1000
    there, whole = xp.asarray(x), xp.asarray((x * 4).astype(np.uint16))
    copied = min(seconds(lambda: there.copy(), wait) for _ in range(5))
    made, differing = [], []
    for name, (ours, theirs) in rows(peer, xp, there, whole, {} if cuda else {"threads": 1}).items():
        if args.only not in name:
            continue
        result = ours()
        worst = difference(name, result, theirs())
        if worst is not None:
            differing.append(name)
            print(f"{name:36} differs from the peer by {worst:g}", flush=True)
            continue
        moved = (whole if "uint16" in name else there).nbytes + getattr(result, "nbytes", 0)
        del result
        times = [(seconds(ours, wait), seconds(theirs, wait)) for _ in range(args.rounds)]
        mine, other = min(t[0] for t in times), min(t[1] for t in times)
        share = moved / mine / (2 * there.nbytes / copied)
        made.append(
            {"what": name, "penstock_ms": mine * 1e3, "peer_ms": other * 1e3, "ratio": other / mine, "share": share}
        )
        print(f"{name:36} {mine * 1e3:9.3f} ms {other * 1e3:9.3f} ms {other / mine:6.1f} x {share:5.0%}", flush=True)
    if args.only:
        sys.exit(bool(differing))
    name = importlib.import_module("cupy" if cuda else "scipy")
    content = {
        "device": penstock.devices()[0].description if cuda else "cpu, one thread",
        "peer": f"{name.__name__} {name.__version__}",
        "size": size,
        "rounds": args.rounds,
        "copy_ms": copied * 1e3,
        "rows": made,
        "differing": differing,
    }
    cores = len(os.sched_getaffinity(0))
    print(record.save("ndimage-gpu" if cuda else "ndimage", cores, content))
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
