"""Image operators beside scipy on one core, or beside CuPy on a GPU, in one run.

    ndimage.py [--device cpu|cuda] [--size N] [--rounds N] [--only TEXT]    writes bench/results/ndimage-*.json
    ndimage.py --scaling [--size N]     one thread and all, beside what the machine's copies and arithmetic gain by all
    ndimage.py --small                  calls on few elements: what a call costs

N^3 elements; every result is compared with the peer's before it is timed (where the peer is wrong or rounds otherwise, with
scipy or NumPy in double on some of the elements), and one that differs is said, not timed: exit 1 at the end.  A time is the
least of the rounds, in which the two take turns, and write into memory that was used before where they can.  On the CPU
penstock has one thread, as scipy has, and a time is the processor's, of which other programs take nothing.
The share is how much of the bandwidth of one copy of the elements it is to read them once and write the result once.
"""

import argparse
import concurrent.futures
import hashlib
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
            lambda: nd.map_coordinates(x, points, order=3, output=ours["x"][: len(points[0])], **one),
            lambda: peer.map_coordinates(x, points, order=3, output=theirs["x"][: len(points[0])]),
        ),
        "spline_filter float32": (
            lambda: nd.spline_filter(x, output=ours["x"], **one),
            lambda: peer.spline_filter(x, output=theirs["x"]),
        ),
        "map_coordinates order 1 float32": (
            lambda: nd.map_coordinates(x, points, order=1, output=ours["x"][: len(points[0])], **one),
            lambda: peer.map_coordinates(x, points, order=1, output=theirs["x"][: len(points[0])]),
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


def truth(name: str, x: Any, u: Any) -> Callable[[Any], tuple[Any, Any]] | None:
    """Makes of our result some of its elements and what they are, where the GPU's peer does not say that."""
    import scipy.ndimage

    if name.startswith("map_coordinates order 3"):  # the peer's are wrong near the ends

        def sampled(ours: Any) -> tuple[Any, Any]:
            n = x.shape[0]
            some = np.random.default_rng(1).integers(0, [[n // 4], [n], [n]], (3, 4000))
            at = some + 3 * np.sin(some[::-1] / 7)
            return host(ours)[tuple(some)], scipy.ndimage.map_coordinates(host(x), at, order=3)

        return sampled
    if name.startswith("affine_transform order 0"):  # the peer takes elements beyond the ends

        def nearest(ours: Any) -> tuple[Any, Any]:
            some = np.random.default_rng(1).integers(0, u.shape[0], (3, 4000))
            at = ROTATION @ some + np.array(OFFSET)[:, None]
            return host(ours)[tuple(some)], scipy.ndimage.map_coordinates(host(u), at, order=0)

        return nearest
    if name.startswith("variance"):  # the peer's is in float32
        return lambda ours: (ours, host(x).var(dtype=np.float64))
    return None


def difference(name: str, ours: Any, theirs: Any) -> float | None:
    """The largest one, where it is more than roundings make."""
    a, b = host(ours).astype(float), host(theirs).astype(float)
    whole = "uint16" in name and ("gaussian" in name or "order 1" in name)
    slack = 3 if whole else 2e-5 * np.abs(b).max()
    wrong = np.abs(a - b)
    worst = float(wrong.max())
    return None if worst <= slack else worst


def seconds(call: Callable[[], Any], wait: Callable[[], None], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    call()
    wait()
    return clock() - start


def arithmetic(threads: int) -> None:
    """The same work for each thread, of which nothing leaves its caches: SHA-256 of a MiB, 32 times."""
    block = bytes(1 << 20)  # hashed without Python's lock
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: hashlib.sha256(block), range(32 * threads)))


def copy_rate(x: np.ndarray, out: np.ndarray, threads: int, rounds: int) -> float:
    """Bytes a second that are read and written where threads copy parts of an array into memory that was used before."""
    edges = np.linspace(0, len(x), threads + 1, dtype=int)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:

        def copy() -> None:
            list(
                pool.map(lambda k: np.copyto(out[edges[k] : edges[k + 1]], x[edges[k] : edges[k + 1]]), range(threads))
            )

        copy()
        return 2 * x.nbytes / min(seconds(copy, lambda: None) for _ in range(3 * rounds))


def scaling(size: int, rounds: int) -> None:
    """How much faster all threads are than one: of what this many could be, of what they are at SHA-256 on this machine,
    whose processors may be halves of cores; and how much of the bandwidth of a copy by all of them moving the elements is
    that each row cannot do without: what is read and written once by each pass over memory."""
    x = np.random.default_rng(7).random((size, size, size), np.float32)
    u, out, wide = (x * 4000).astype(np.uint16), np.empty_like(x), np.empty_like(x)
    whole = np.empty_like(u)
    part = slice(0, size // 4)
    cores = len(os.sched_getaffinity(0))
    calls: dict[str, tuple[int, Callable[[int], Any]]] = {
        "gaussian_filter sigma 4": (4 * x.nbytes, lambda n: nd.gaussian_filter(x, 4, output=out, threads=n)),
        "uniform_filter 5": (4 * x.nbytes, lambda n: nd.uniform_filter(x, 5, output=out, threads=n)),
        "maximum_filter 3": (2 * x.nbytes, lambda n: nd.maximum_filter(x, 3, output=out, threads=n)),
        "median_filter 3 uint16": (4 * u.nbytes, lambda n: nd.median_filter(u, 3, output=whole, threads=n)),
        "median_filter 5 float32": (x.nbytes, lambda n: nd.median_filter(x[part], 5, output=out[part], threads=n)),
        "affine_transform order 3": (
            6 * x.nbytes,
            lambda n: nd.affine_transform(x, ROTATION, OFFSET, order=3, output=out, threads=n),
        ),
        "affine_transform order 1": (
            2 * x.nbytes,
            lambda n: nd.affine_transform(x, ROTATION, OFFSET, order=1, output=out, threads=n),
        ),
        "zoom 0.5 order 1": (x.nbytes * 9 // 8, lambda n: nd.zoom(x, 0.5, order=1, threads=n)),
        "mean": (x.nbytes, lambda n: nd.mean(x, threads=n)),
        "percentile": (2 * x.nbytes, lambda n: nd.percentile(x, QUANTILES, threads=n)),
    }
    rates = {n: copy_rate(x, wide, n, rounds) for n in (1, cores)}
    units = [min(seconds(lambda n=n: arithmetic(n), lambda: None) for _ in range(rounds)) for n in (1, cores)]
    possible = units[0] * cores / units[1]
    print(
        f"copies {rates[1] / 1e9:.1f} GB/s with one thread, {rates[cores] / 1e9:.1f} GB/s with {cores} (read and written); "
        f"arithmetic {possible:.1f} x"
    )
    made = []
    for name, (moved, call) in calls.items():
        call(cores)
        one = min(seconds(lambda call=call: call(1), lambda: None) for _ in range(max(rounds // 2, 2)))
        all_of = min(seconds(lambda call=call: call(cores), lambda: None) for _ in range(rounds))
        row = {"what": name, "one_ms": one * 1e3, "all_ms": all_of * 1e3, "share": one / all_of / cores}
        row |= {"share_of_possible": one / all_of / possible, "moved_bytes": moved}
        row |= {"share_of_bandwidth": moved / all_of / rates[cores]}
        made.append(row)
        print(
            f"{name:26} {one * 1e3:9.2f} ms {all_of * 1e3:9.2f} ms {row['share']:5.0%} of {cores} x, "
            f"{row['share_of_possible']:5.0%} of {possible:.1f} x, {moved / 1e6:6.0f} MB: "
            f"{row['share_of_bandwidth']:5.0%} of the bandwidth",
            flush=True,
        )
    content = {
        "size": size,
        "copy_gb_s": [rate / 1e9 for rate in rates.values()],
        "arithmetic_x": possible,
        "rows": made,
    }
    print(record.save("ndimage-scaling", cores, content))


def small(device: str, rounds: int) -> None:
    """Calls on 32^3 elements, in microseconds."""
    xp = importlib.import_module("cupy" if device == "cuda" else "numpy")
    peer = importlib.import_module("cupyx.scipy.ndimage" if device == "cuda" else "scipy.ndimage")
    wait = xp.cuda.Device().synchronize if device == "cuda" else (lambda: None)
    x = xp.asarray(np.random.default_rng(7).random((32, 32, 32), np.float32))
    turn = {nd: ROTATION, peer: xp.asarray(ROTATION)}  # CuPy wants the matrix on the device
    for name, call in {
        "gaussian_filter": lambda of: of.gaussian_filter(x, 1),
        "maximum_filter": lambda of: of.maximum_filter(x, 3),
        "median_filter": lambda of: of.median_filter(x, 3),
        "affine_transform order 1": lambda of: of.affine_transform(x, turn[of], OFFSET, order=1),
        "mean": lambda of: of.mean(x),
        "sum": lambda of: of.sum(x),
    }.items():
        for of in (nd, peer):
            for _ in range(5):
                call(of)
        pairs = [
            (seconds(lambda c=call: c(nd), wait), seconds(lambda c=call: c(peer), wait)) for _ in range(20 * rounds)
        ]
        mine, other = (float(np.median([p[k] for p in pairs])) for k in (0, 1))
        print(f"{name:36} {mine * 1e6:9.1f} us {other * 1e6:9.1f} us {other / mine:6.1f} x", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--size", type=int)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="rows that contain this text; nothing is saved")
    parser.add_argument("--scaling", action="store_true", help="one thread beside all; no peer")
    parser.add_argument("--small", action="store_true", help="what calls on few elements cost; nothing is saved")
    args = parser.parse_args()
    if args.scaling:
        return scaling(args.size or 256, args.rounds)
    if args.small:
        return small(args.device, args.rounds)
    cuda = args.device == "cuda"
    size = args.size or (512 if cuda else 128)
    xp = importlib.import_module("cupy") if cuda else np
    peer = importlib.import_module("cupyx.scipy.ndimage" if cuda else "scipy.ndimage")
    wait = xp.cuda.Device().synchronize if cuda else (lambda: None)
    x = np.random.default_rng(7).random((size, size, size), np.float32)
    x = nd.gaussian_filter(x, 2) * 1000
    there, whole = xp.asarray(x), xp.asarray((x * 4).astype(np.uint16))
    clock = time.perf_counter if cuda else time.process_time
    copied = min(seconds(lambda: there.copy(), wait, clock) for _ in range(5))
    made, differing = [], []
    for name, (ours, theirs) in rows(peer, xp, there, whole, {} if cuda else {"threads": 1}).items():
        if args.only not in name:
            continue
        result = ours()
        known = truth(name, there, whole) if cuda else None
        worst = difference(name, *known(result)) if known else difference(name, result, theirs())
        if worst is not None:
            differing.append(name)
            print(f"{name:36} differs from the peer by {worst:g}", flush=True)
            continue
        moved = (whole if "uint16" in name else there).nbytes + getattr(result, "nbytes", 0)
        del result
        times = [(seconds(ours, wait, clock), seconds(theirs, wait, clock)) for _ in range(args.rounds)]
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
