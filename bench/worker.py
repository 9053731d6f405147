"""One contender in a process of its own: takes one JSON request a line, answers with one JSON line.

    worker.py CONTENDER CORES

{"op": "version"}
{"op": "read", "path": P, "reference": R}            time of opening and reading all, bytes compared with R
{"op": "memory", "path": P, "reference": R, "options": O}   the same once, with the highest memory; in a fresh process
{"op": "boxes", "path": P, "reference": R, "count": N, "edge": E, "seed": S, "together": bool}
{"op": "write", "path": P, "reference": R, "metadata": M}   time of creating and writing all
"""

import json
import os
import sys
import time
import traceback

import numpy as np


def status_bytes(member: str) -> int:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(member + ":"):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {member}")


def check(got: np.ndarray, want: np.ndarray) -> None:
    if got.shape != want.shape or got.dtype != want.dtype:
        raise ValueError(f"wrong array: {got.dtype} {got.shape}, not {want.dtype} {want.shape}")
    for z in range(0, want.shape[0], 64):
        if not np.array_equal(got[z : z + 64], want[z : z + 64]):
            raise ValueError(f"wrong data in planes {z} to {z + 63}")


def settle_memory(nbytes: int) -> None:
    """Touches and frees that much memory before the clock starts, as files are read once to warm the page cache.

    A virtual machine whose host takes free memory back (free page reporting) pays for each page that it gets again,
    4 s a GiB where it was measured, and which program meets such pages is chance.
    """
    np.ones(nbytes, dtype=np.uint8)


def boxes_of(shape: tuple[int, ...], count: int, edge: int, seed: int) -> list[tuple[slice, ...]]:
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, np.asarray(shape) - edge + 1, size=(count, len(shape)))
    return [tuple(slice(int(a), int(a) + edge) for a in row) for row in corner]


def answer(contender, request: dict) -> dict:
    if request["op"] == "version":
        return {"version": contender.version()}
    reference = np.load(request["reference"], mmap_mode="r")
    if request["op"] == "read":
        settle_memory(reference.nbytes)
        start = time.perf_counter()
        out = contender.read(request["path"])
        seconds = time.perf_counter() - start
        check(np.asarray(out), reference)
        return {"seconds": seconds, "bytes": reference.nbytes}
    if request["op"] == "memory":
        before = status_bytes("VmRSS")
        start = time.perf_counter()
        out = contender.read(request["path"], **request["options"])
        seconds = time.perf_counter() - start
        extra = status_bytes("VmHWM") - before - reference.nbytes
        check(np.asarray(out), reference)
        return {"seconds": seconds, "bytes": reference.nbytes, "extra_bytes": extra}
    if request["op"] == "boxes":
        boxes = boxes_of(reference.shape, request["count"], request["edge"], request["seed"])
        array = contender.open(request["path"])
        read = contender.read_boxes_together if request["together"] else contender.read_boxes
        start = time.perf_counter()
        out = read(array, boxes)
        seconds = time.perf_counter() - start
        if out is None:
            return {"unsupported": "no call for several regions"}
        for box, got in zip(boxes, out, strict=True):
            check(np.asarray(got), reference[box])
        return {"seconds": seconds, "bytes": sum(np.asarray(got).nbytes for got in out)}
    if request["op"] == "write":
        volume = np.array(reference)  # in memory: what is a mapped file still would be mapped while it is written
        settle_memory(3 * volume.nbytes)  # as the kernel chooses the pages of the files among all that are free
        start = time.perf_counter()
        contender.write(request["path"], request["metadata"], volume)
        return {"seconds": time.perf_counter() - start, "bytes": volume.nbytes}
    raise ValueError(f"no such request: {request['op']}")


def main() -> None:
    name, cores = sys.argv[1], int(sys.argv[2])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])  # before any library makes threads
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints does not disturb the answers
    try:
        from contenders import CONTENDERS

        contender = CONTENDERS[name](cores)
    except ImportError as error:
        replies.write(json.dumps({"unsupported": str(error)}) + "\n")
        return
    replies.write(json.dumps({"ready": name}) + "\n")
    for line in sys.stdin:
        try:
            reply = answer(contender, json.loads(line))
        except Exception as error:  # the driver decides what a failure means
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
