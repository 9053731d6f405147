#!/usr/bin/env python3
"""Reads from S3: penstock beside obstore and tensorstore; wall time, CPU time of the client, requests.

    bench/cloud.py [--cases objects,shard,late,group] [--repeats 5] [--cores 2] [--save | --json FILE]

objects: 1 GiB in 1,024 objects of 1 MiB.  shard: 1 GiB in one object with 1,024 inner chunks of 1 MiB.  Both from
versitygw (tests/servers, signatures checked) on the same machine.  late: 1,000 chunks of 64 KiB behind 50 ms, two
threads.  group: a group of 200 arrays behind 50 ms, not consolidated.  Both from tests/servers/object_server.py, which
counts requests.

Each reading is a process of its own on the first `cores` cores, which opens first and is measured from then on; the
server has the others where there are any.  Huge pages are off for all of them: in a virtual machine the first touch of
one costs from 0.1 to 2 s of CPU time a GiB, by what the host has done with it before, and small pages 0.45 s always
(measured here).  `again` is a second reading in the same process: penstock's into the same array, which costs no new
pages; the others take memory as they do, after what they gave before has been freed.  Readings are interleaved, and
every result is compared with what was written.  obstore brings bytes and no array: what it need not do counts for it.
A peer that is not installed is named and left out.  --save writes bench/results/cloud-N-cores.json, --json another
file.
"""

import argparse
import asyncio
import contextlib
import ctypes
import importlib
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import record

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))
import servers

MIB = 1 << 20
CHUNKS = {"objects": 1024, "shard": 1024, "late": 1000}
CHUNK_BYTES = {"objects": MIB, "shard": MIB, "late": 64 << 10}
PEERS = {
    "objects": ("penstock", "tensorstore", "obstore"),
    "shard": ("penstock", "tensorstore", "obstore"),
    "late": ("penstock", "tensorstore", "obstore"),
    "group": ("penstock", "zarr-python"),
}
MEMBERS = 200
AGAIN = ("objects", "shard")


def values(case: str) -> np.ndarray:
    rows, width = CHUNKS[case], CHUNK_BYTES[case]
    return (np.arange(rows, dtype="u4")[:, None] * 7 + np.arange(width, dtype="u4")[None, :]).astype("u1")


def write(case: str, endpoint: str) -> None:
    import penstock

    options = servers.s3_options(endpoint)
    if case == "group":
        group = penstock.create_group("s3://penstock/group", options=options)
        for i in range(MEMBERS):
            group.create_array(f"a{i:03}", shape=(4,), dtype="u1")
        return
    data = values(case)
    shards = data.shape if case == "shard" else None
    chunks = (1, CHUNK_BYTES[case])
    url = f"s3://penstock/{case}"
    array = penstock.create(url, shape=data.shape, dtype="u1", chunks=chunks, shards=shards, codecs=[], options=options)
    array[...] = data


# Readers: (open) -> (read into what came before, or None) -> array of bytes.


def penstock_reader(case: str, endpoint: str):
    import penstock

    options = servers.s3_options(endpoint)
    if case == "group":
        return lambda _: penstock.open("s3://penstock/group", options=options).keys()
    array = penstock.open(f"s3://penstock/{case}", options=options)
    return lambda out: array.read(..., out=out, threads=2)


def tensorstore_reader(case: str, endpoint: str):
    import tensorstore as ts

    os.environ.update(AWS_ACCESS_KEY_ID="testkey", AWS_SECRET_ACCESS_KEY="testsecret")
    kvstore = {
        "driver": "s3",
        "bucket": "penstock",
        "path": f"{case}/",
        "endpoint": endpoint,
        "aws_region": "us-east-1",
    }
    array = ts.open({"driver": "zarr3", "kvstore": kvstore}).result()
    return lambda _: array.read().result()


def obstore_reader(case: str, endpoint: str):
    import obstore
    from obstore.store import S3Store

    store = S3Store("penstock", client_options={"allow_http": True}, **servers.s3_options(endpoint))
    rows, width = CHUNKS[case], CHUNK_BYTES[case]

    async def objects():
        window = asyncio.Semaphore(64)

        async def one(i: int):
            async with window:
                return await (await obstore.get_async(store, f"{case}/c/{i}/0")).bytes_async()

        return await asyncio.gather(*(one(i) for i in range(rows)))

    def read(_):
        if case == "shard":
            parts = obstore.get_ranges(
                store, f"{case}/c/0/0", starts=[i * width for i in range(rows)], lengths=[width] * rows
            )
        else:
            parts = asyncio.run(objects())
        return np.stack([np.frombuffer(part, "u1") for part in parts]) if os.environ.get("CHECK") else parts

    return read


def zarr_reader(case: str, endpoint: str):
    import zarr
    from obstore.store import S3Store
    from zarr.storage import ObjectStore

    store = S3Store("penstock", prefix=case, client_options={"allow_http": True}, **servers.s3_options(endpoint))
    return lambda _: sorted(
        name
        for name, _ in zarr.open_group(ObjectStore(store, read_only=True), mode="r", use_consolidated=False).members()
    )


READERS = {
    "penstock": penstock_reader,
    "tensorstore": tensorstore_reader,
    "obstore": obstore_reader,
    "zarr-python": zarr_reader,
}


def no_huge_pages() -> None:
    pr_set_thp_disable = 41
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_thp_disable, 1, 0, 0, 0) != 0:
        sys.exit("huge pages cannot be switched off")


def worker(peer: str, case: str, endpoint: str, cores: int) -> None:
    """Prints seconds, CPU seconds and largest memory; with CHECK set compares, too."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    no_huge_pages()
    read = READERS[peer](case, endpoint)
    figures, got = {}, None
    for again in ("", "again_") if case in AGAIN else ("",):
        before = got if peer == "penstock" else None
        if before is not None and os.environ.get("CHECK"):
            before.fill(0)
        got = None
        begin, cpu = time.perf_counter(), time.process_time()
        got = read(before)
        figures[again + "seconds"] = time.perf_counter() - begin
        figures[again + "cpu_seconds"] = time.process_time() - cpu
        check(case, got)
    # Not ru_maxrss, which begins with what the parent had.
    figures["memory_mib"] = int(record.first("/proc/self/status", "VmHWM").split()[0]) / 1024
    print(json.dumps(figures), flush=True)
    os._exit(0)  # not every peer's threads survive the end of the interpreter


def check(case: str, got) -> None:
    if case == "group":
        assert list(got) == [f"a{i:03}" for i in range(MEMBERS)], "other members"
    elif os.environ.get("CHECK"):
        assert np.array_equal(np.asarray(got), values(case)), "other bytes"


def measured(peer: str, case: str, endpoint: str, cores: int, check: bool = False) -> dict[str, float]:
    command = [sys.executable, __file__, "--worker", peer, case, endpoint, str(cores)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **({"CHECK": "1"} if check else {})}
    )
    if done.returncode != 0:
        sys.exit(f"{peer}, {case}: ended with {done.returncode}: {done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def run_case(case: str, repeats: int, cores: int) -> list[dict]:
    late = case in ("late", "group")
    rows = []
    with servers.serving("objects" if late else "versitygw") as endpoint:
        others = sorted(os.sched_getaffinity(0))[cores:]
        if others:
            own = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True, check=True)
            for pid in own.stdout.split():
                subprocess.run(["taskset", "-apc", ",".join(map(str, others)), pid], capture_output=True, check=False)
        objects = servers.ObjectServer(endpoint) if late else None
        write(case, endpoint)
        if objects is not None:
            objects.tell("PUT", "options", {"delay_s": 0.05})
        peers = [peer for peer in PEERS[case] if peer in versions()]
        for peer in peers:
            measured(peer, case, endpoint, cores, check=True)
        seen: dict[str, list] = {peer: [] for peer in peers}
        for _ in range(repeats):
            for peer in peers:
                if objects is not None:
                    objects.rules()
                run = measured(peer, case, endpoint, cores)
                seen[peer].append(run | ({"requests": len(objects.log())} if objects is not None else {}))
        for peer, runs in seen.items():
            row = {"case": case, "reader": peer, **summary(runs)}
            rows.append(row)
            seconds = row["seconds"]
            text = f"{statistics.median(seconds):7.3f} s ({seconds[0]:.3f} to {seconds[-1]:.3f})"
            text += f"  CPU {row['cpu_seconds']:.3f} s, {row['memory_mib']} MiB"
            if "again_seconds" in row:
                text += f"; again {statistics.median(row['again_seconds']):.3f} s, CPU {row['again_cpu_seconds']:.3f} s"
            if "requests" in row:
                text += f", {row['requests']} requests with opening"
            print(f"{case:8} {peer:12} {text}", flush=True)
    return rows


def summary(runs: list[dict]) -> dict:
    """Seconds of all runs, in order; CPU seconds in the middle; the most of the rest."""
    row = {}
    for name in runs[0]:
        values = sorted(run[name] for run in runs)
        if name.endswith("cpu_seconds"):
            row[name] = round(statistics.median(values), 4)
        elif name.endswith("seconds"):
            row[name] = [round(value, 4) for value in values]
        else:
            row[name] = round(values[-1])
    return row


def versions() -> dict[str, str]:
    """Of the readers that are installed."""
    found = {}
    for name in READERS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = f"{name} {importlib.metadata.version(name if name != 'zarr-python' else 'zarr')}"
    found.setdefault("penstock", f"penstock {importlib.import_module('penstock').__version__}")
    return found


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:5], int(sys.argv[5]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(PEERS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    rows = [row for case in args.cases.split(",") for row in run_case(case, args.repeats, args.cores)]
    found = versions()
    missing = {name: "not installed" for name in READERS if name not in found}
    for name in missing:
        print(f"{name}: not installed, left out")
    if args.save or args.json:
        content = {"title": "Reads from S3 on the same machine", "versions": found, "missing": missing, "results": rows}
        content["note"] = f"the machine did other work too: load average {load:.0f} when it began"
        print(record.save("cloud", len(os.sched_getaffinity(0)), content, args.json))
    return 0


if __name__ == "__main__":
    sys.exit(main())
