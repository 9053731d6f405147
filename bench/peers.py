#!/usr/bin/env python3
"""penstock and its peers side by side on this machine: reading, writing, random regions, small chunks, memory.

    bench/peers.py [--dir D] [--cores N] [--repeats R] [--planes Z] [--only read,memory,boxes,small,write]
                   [--layouts raw,zstd,...]

Each program runs in a process of its own, bound to the same cores.  Repeats are interleaved (every program once, then
all again), every result is compared with the data, and the page cache is warm.  `ceiling` reads the files into fresh
memory and decodes with the codec's library on all cores: no planning, no placement.  Result: bench/results/*.json.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import layouts
import record
from contenders import CONTENDERS
from worker import settle_memory

HERE = Path(__file__).resolve().parent
READ = ["raw", "zstd", "sharded-zstd", "blosc-lz4"]


class Worker:
    """A contender's process."""

    def __init__(self, name: str, cores: int):
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), name, str(cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.missing = self._reply().get("unsupported")
        self.version = "" if self.missing else self.ask(op="version")["version"]

    def _reply(self) -> dict:
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}

    def ask(self, **request) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._reply()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def ceiling(program: str, path: Path, layout: str, cores: int, nbytes: int) -> dict:
    """One run of bench/ceiling.cpp, which makes nbytes."""
    settle_memory(nbytes)
    run = subprocess.run(
        [program, str(path), layout, str(cores)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores]),
    )
    return json.loads(run.stdout) if run.returncode == 0 else {"error": run.stderr.strip()}


def measure(what: str, layout: str, runs: dict, repeats: int, results: list) -> None:
    """Runs every callable of `runs` `repeats` times, interleaved, after one warm-up; appends a row for each."""
    rows = {name: {"what": what, "layout": layout, "program": name, "seconds": []} for name in runs}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            row = rows[name]
            if "error" in row or "unsupported" in row:
                continue
            reply = run()
            if "seconds" not in reply:
                row |= reply
                print(f"  {what} {layout} {name}: {reply}", file=sys.stderr)
            elif turn > 0:
                row["seconds"].append(round(reply["seconds"], 5))
                row["bytes"] = reply["bytes"]
    for row in rows.values():
        if row["seconds"]:
            median = statistics.median(row["seconds"])
            row["gb_per_s"] = round(row["bytes"] / median / 1e9, 3)
            spread = f"{min(row['seconds']):.2f} to {max(row['seconds']):.2f} s"
            print(f"  {what:16s} {layout:20s} {row['program']:20s} {row['gb_per_s']:8.2f} GB/s   {spread}", flush=True)
        results.append(row)


def whole_reads(workers: list, path: Path, reference: str) -> dict:
    """For measure(): the whole array by each program."""
    return {
        worker.name: lambda worker=worker: worker.ask(op="read", path=str(path), reference=reference)
        for worker in workers
    }


def bench_read(args, workers, shape, results) -> None:
    data = layouts.reference(args.dir, shape)
    reference, nbytes = str(args.dir / data.filename), data.nbytes
    for layout in args.layouts or READ:
        path = layouts.make(args.dir, layout, shape)
        layouts.warm(path)
        runs = whole_reads(workers, path, reference)
        runs["ceiling"] = lambda path=path, layout=layout: ceiling(args.ceiling, path, layout, args.cores, nbytes)
        measure("read", layout, runs, args.repeats, results)


def bench_memory(args, workers, shape, results) -> None:
    """Each read once in a process of its own: no memory of an earlier read hides what this one takes."""
    reference = str(args.dir / layouts.reference(args.dir, shape).filename)
    programs = [(worker.name, {}) for worker in workers]
    if any(name == "penstock" for name, _ in programs):
        programs.append(("penstock", {"budget": "64MiB"}))
    for layout in args.layouts or READ:
        path = str(layouts.make(args.dir, layout, shape))
        for name, options in programs:
            worker = Worker(name, args.cores)
            reply = worker.ask(op="memory", path=path, reference=reference, options=options)
            worker.close()
            label = name + "".join(f", {key} {value}" for key, value in options.items())
            results.append({"what": "memory", "layout": layout, "program": label, **reply})
            print(f"  memory           {layout:20s} {label:24s} {reply}", flush=True)


def empty_files(directory: Path) -> None:
    """Gives back what the files hold and leaves them there.

    After files are deleted ext4 looks for minutes at each of their inodes before it takes one for a new file: a sixth of
    a raw write's time where it was measured, and of no program's making.
    """
    for path in directory.rglob("*"):
        if path.is_file():
            os.truncate(path, 0)


def bench_write(args, workers, shape, results) -> None:
    reference = str(args.dir / layouts.reference(args.dir, shape).filename)
    targets = args.dir / "written"
    shutil.rmtree(targets, ignore_errors=True)  # of a run that was interrupted
    numbers = itertools.count()
    for layout in args.layouts or READ:
        trips: dict[str, list[float]] = {worker.name: [] for worker in workers}

        def write(worker, layout=layout, trips=trips):
            target = targets / str(next(numbers))
            os.sync()  # else the disk is still busy with what the program before this one wrote
            reply = worker.ask(
                op="write", path=str(target), reference=reference, metadata=layouts.metadata(layout, shape)
            )
            if "seconds" not in reply:
                return reply
            back = worker.ask(op="read", path=str(target), reference=reference)  # compares the bytes
            empty_files(target)
            if "seconds" not in back:
                return back
            trips[worker.name].append(reply["seconds"] + back["seconds"])
            return reply

        runs = {worker.name: lambda worker=worker, write=write: write(worker) for worker in workers}
        measure("write", layout, runs, args.repeats, results)
        nbytes = layouts.reference(args.dir, shape).nbytes
        for name, seconds in trips.items():
            if len(seconds) > 1:
                kept = [round(s, 5) for s in seconds[1:]]
                rate = round(nbytes / statistics.median(kept) / 1e9, 3)
                results.append(
                    {
                        "what": "write and read",
                        "layout": layout,
                        "program": name,
                        "seconds": kept,
                        "bytes": nbytes,
                        "gb_per_s": rate,
                    }
                )
    shutil.rmtree(targets)


def bench_small(args, workers, shape, results) -> None:
    """100,000 chunks of 128 bytes: the time of a chunk, not of a byte."""
    shape = (200, 200, 160)
    reference = str(args.dir / layouts.reference(args.dir, shape).filename)
    path = layouts.make(args.dir, "tiny", shape)
    layouts.warm(path)
    runs = whole_reads(workers, path, reference)
    measure("100,000 chunks", "128 bytes, raw", runs, args.repeats, results)


def bench_boxes(args, workers, shape, results) -> None:
    shape = (512, 512, 512)
    reference = str(args.dir / layouts.reference(args.dir, shape).filename)
    path = layouts.make(args.dir, "small-sharded-zstd", shape)
    layouts.warm(path)
    for together in (False, True):
        runs = {
            worker.name: lambda worker=worker, together=together: worker.ask(
                op="boxes",
                path=str(path),
                reference=reference,
                count=args.boxes,
                edge=16,
                seed=3,
                together=together,
            )
            for worker in workers
        }
        what = "regions at once" if together else "regions in turn"
        measure(what, "small-sharded-zstd", runs, args.repeats, results)


PARTS = {"read": bench_read, "memory": bench_memory, "boxes": bench_boxes, "small": bench_small, "write": bench_write}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, default=Path("build/bench-data"), help="where the data is made and kept")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--planes", type=int, default=1024, help="planes of 1024 x 1024; 1024 are 2 GiB")
    parser.add_argument("--boxes", type=int, default=10_000, help="number of random 16^3 regions")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--layouts", type=lambda text: text.split(","), default=None)
    parser.add_argument("--programs", type=lambda text: text.split(","), default=list(CONTENDERS))
    parser.add_argument("--ceiling", default="build/release/bench/penstock_ceiling")
    args = parser.parse_args()
    if args.planes % layouts.SHARD[0]:
        parser.error(f"--planes: a multiple of {layouts.SHARD[0]}, so that all chunks are whole")
    if unknown := set(args.only) - set(PARTS):
        parser.error(f"--only {','.join(unknown)}: each one of {', '.join(PARTS)}")
    args.dir = args.dir.resolve()
    shape = (args.planes, 1024, 1024)
    workers = [Worker(name, args.cores) for name in args.programs]
    for worker in workers:
        print(f"{worker.name}: {worker.missing or worker.version}", flush=True)
    missing = {worker.name: worker.missing for worker in workers if worker.missing}
    versions = {worker.name: worker.version for worker in workers if not worker.missing}
    workers = [worker for worker in workers if not worker.missing]
    results: list[dict] = []
    for what in args.only:
        PARTS[what](args, workers, shape, results)
    for worker in workers:
        worker.close()
    content = {"shape": shape, "dtype": "uint16", "versions": versions, "missing": missing, "results": results}
    print(record.save("peers", args.cores, content))
    return 1 if any("error" in row for row in results) else 0


if __name__ == "__main__":
    sys.exit(main())
