#!/usr/bin/env python3
"""Runs the fuzz targets of a build for long, on all cores, and says in one JSON file what ran.

run_long.py build/fuzz/fuzz --out fuzz-out --seconds 3600             all targets, an hour
run_long.py build/fuzz/fuzz --out fuzz-out --runs 10000000 zstd lz4   these, until each has so many inputs
    --before fuzz.json                                                and those of an earlier run count

Each target gets the cores that it needs to keep up with the others, so that all get there at the same time.  Inputs of
the corpus, with which each process begins, do not count.  Inputs that reach something new are kept in
OUT/corpus/TARGET, with which the next run begins; --merge keeps as few of them as reach the same, in OUT/corpus.tar.xz.
Inputs that fail are OUT/crashes/TARGET-*; a program of any build runs them again: fuzz_TARGET FILE.
Ctrl-C ends it early: what ran until then is written.  Exit status: 1 when something failed.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MAX_LEN = 2048  # bytes of an input; where a few bytes choose much:
MAX_LENS = {
    "cog": 64,
    "lzw_made": 512,
    "zstd_frames": 512,
    "lz_made": 512,
    "deflate_made": 512,
    "blosc_made": 512,
    "filters": 512,
}
# Inputs for each one of a decoder: of what is slower, or has no reference and is simpler.
SHARES = {
    "cog": 0.01,
    "lz4_encode": 0.3,
    "zstd_encode": 0.1,
    "codec": 0.5,
    "zarr2": 0.3,
    "zarr3": 0.3,
    "zip": 0.3,
    "shard_index": 0.3,
}
MOST_CRASHES = 10  # then a target is left alone
# A smaller quarantine, as each input frees what it takes, and no stacks of allocations: an input that fails is run again.
ASAN = "quarantine_size_mb=16:malloc_context_size=1:allocator_may_return_null=1"


class Target:
    def __init__(self, program, out, seeds, earlier):
        self.name = program.name.removeprefix("fuzz_")
        self.program = program
        self.corpus = out / "corpus" / self.name
        self.seeds = seeds / self.name
        self.corpus.mkdir(parents=True, exist_ok=True)
        self.corpus_before = len(os.listdir(self.corpus))
        rows = [row for result in earlier for row in result["results"] if row["target"] == self.name]
        self.inputs_before = sum(row["inputs"] for row in rows)
        self.inputs = 0
        self.reloaded = 0  # of the corpus: not in `inputs`
        self.core_seconds = 0.0
        self.seconds_running = 0  # that processes under way will have taken
        self.guess = rows[-1]["inputs_per_core_second"] if rows and rows[-1]["inputs"] else 2000.0
        self.crashes = []

    def rate(self):
        """Inputs a second on a core, measured or guessed."""
        return self.inputs / self.core_seconds if self.core_seconds > 0 and self.inputs > 0 else self.guess

    def forecast(self):
        """Inputs once what runs has ended, in those of a decoder."""
        inputs = self.inputs_before + self.inputs + self.seconds_running * self.rate()
        return inputs / SHARES.get(self.name, 1)

    def seconds_to(self, runs):
        """Core seconds that it needs for so many inputs of a decoder, besides what runs."""
        return (runs - self.forecast()) * SHARES.get(self.name, 1) / self.rate()

    def dirs(self):
        return [str(d) for d in (self.corpus, self.seeds) if d.is_dir()]


class Slice:
    """One process: a target for some seconds."""

    def __init__(self, target, seconds, number, args, env):
        self.target = target
        self.seconds = seconds
        self.begin = time.monotonic()
        self.log = args.out / "logs" / f"{target.name}-{number}.log"
        command = [
            str(target.program),
            f"-max_total_time={seconds}",
            f"-max_len={MAX_LENS.get(target.name, MAX_LEN)}",
            f"-seed={args.seed + number}",
            "-entropic_scale_per_exec_time=1",  # else the largest inputs take most of the time
            "-timeout=20",
            "-rss_limit_mb=4096",
            "-print_final_stats=1",
            "-verbosity=1",
            f"-artifact_prefix={args.out}/crashes/{target.name}-",
            *target.dirs(),
        ]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        target.seconds_running += seconds

    def end(self):
        """Counts what the process did."""
        target = self.target
        target.seconds_running -= self.seconds
        target.core_seconds += time.monotonic() - self.begin
        text = self.log.read_text(errors="replace")
        executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
        reloaded = re.search(r"^#(\d+)\s+INITED", text, re.MULTILINE)
        if executed and reloaded:
            target.inputs += int(executed.group(1)) - int(reloaded.group(1))
            target.reloaded += int(reloaded.group(1))
        if self.process.returncode in (0, 72, -signal.SIGINT):  # done; interrupted
            self.log.unlink()
            return
        name = re.search(rf"Test unit written to .*?({target.name}-\S+)", text)
        target.crashes.append(name.group(1) if name else f"exit status {self.process.returncode}, {self.log.name}")


def machine():
    cpu = ""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_gib": memory, "kernel": platform.release()}


def commit_of(args):
    if args.commit:
        return args.commit
    done = subprocess.run(["git", "-C", HERE, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def fuzz(targets, args, env, stop):
    """Keeps all cores busy until the time is over or all have their runs."""
    deadline = time.monotonic() + args.seconds
    slices = []
    number = 0

    def behind():
        """The target that will be the furthest behind once what runs has ended."""
        open_targets = [t for t in targets if len(t.crashes) < MOST_CRASHES]
        if args.runs:
            open_targets = [t for t in open_targets if t.forecast() < args.runs]
        return min(open_targets, key=Target.forecast, default=None)

    while True:
        for s in [s for s in slices if s.process.poll() is not None]:
            slices.remove(s)
            s.end()
        left = int(deadline - time.monotonic())
        while not stop and left > 1 and len(slices) < args.jobs and (target := behind()) is not None:
            # The first ones end one after the other, so that later they do not all end at once.
            seconds = args.slice if number >= args.jobs else 3 + number * args.slice // args.jobs
            if args.runs:
                seconds = min(seconds, 3 + int(target.seconds_to(args.runs)))
            slices.append(Slice(target, min(seconds, left), number, args, env))
            number += 1
        if not slices:
            return
        if stop or left < -30:
            for s in slices:
                s.process.send_signal(signal.SIGINT if left > -30 else signal.SIGKILL)
            for s in slices:
                try:
                    s.process.wait(10)
                except subprocess.TimeoutExpired:
                    s.process.kill()
                    s.process.wait()
        time.sleep(0.05)


def merge(targets, args, env):
    """As few inputs as reach the same, in an archive."""
    merged = args.out / "merged"
    processes = []
    for t in targets:
        (merged / t.name).mkdir(parents=True, exist_ok=True)
        with (args.out / "logs" / f"{t.name}-merge.log").open("w") as log:
            command = [str(t.program), "-merge=1", f"-max_len={MAX_LENS.get(t.name, MAX_LEN)}", str(merged / t.name)]
            processes.append(subprocess.Popen(command + t.dirs(), stdout=log, stderr=log, env=env))
    deadline = time.monotonic() + args.merge_seconds
    for process in processes:
        try:
            process.wait(max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    with tarfile.open(args.out / "corpus.tar.xz", "w:xz") as archive:
        archive.add(merged, arcname="corpus")


def report(targets, args, begin, clock):
    rows = []
    for t in targets:
        rows.append(
            {
                "target": t.name,
                "inputs": t.inputs,
                "inputs_before": t.inputs_before,
                "corpus_reloaded": t.reloaded,
                "core_seconds": round(t.core_seconds, 1),
                "inputs_per_core_second": round(t.rate()) if t.inputs else 0,
                "corpus_new": len(os.listdir(t.corpus)) - t.corpus_before,
                "crashes": sorted(t.crashes),
            }
        )
        print(f"{t.name:16} {t.inputs_before:12,} + {t.inputs:12,} inputs", end="  ")
        print(f"{rows[-1]['inputs_per_core_second']:7,}/s a core", end="  ")
        print(f"{rows[-1]['corpus_new']:6} kept  {len(t.crashes)} crashes")
    result = {
        "benchmark": "fuzz",
        "date": begin,
        "commit": commit_of(args),
        "machine": machine(),
        "cores": args.jobs,
        "seconds": round(time.monotonic() - clock, 1),
        "versions": {},
        "note": "libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer; every input through every executor of a target",
        "results": rows,
    }
    (args.out / "fuzz.json").write_text(json.dumps(result, indent=1) + "\n")
    return any(row["crashes"] for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="folder of the programs fuzz_*")
    parser.add_argument("targets", nargs="*", help="names without fuzz_ (default: all)")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=pathlib.Path, default=HERE / "seeds")
    parser.add_argument("--seconds", type=int, default=60, help="of all together")
    parser.add_argument(
        "--runs",
        type=int,
        default=0,
        help="inputs of a decoder after which it is done; others have shares of it (default: no limit)",
    )
    parser.add_argument(
        "--before",
        type=pathlib.Path,
        action="append",
        default=[],
        metavar="JSON",
        help="result of an earlier run, whose inputs count towards --runs; may be given several times",
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--slice", type=int, default=25, help="seconds of one process")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--merge-seconds", type=int, default=120)
    parser.add_argument("--commit", default="", help="for the JSON (default: asks git)")
    args = parser.parse_intermixed_args()  # targets may stand behind options

    args.out = args.out.resolve()
    for folder in ("corpus", "crashes", "logs"):
        (args.out / folder).mkdir(parents=True, exist_ok=True)
    programs = sorted(p for p in args.programs.resolve().glob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))
    earlier = [json.loads(path.read_text()) for path in args.before]
    programs = [p for p in programs if not args.targets or p.name[5:] in args.targets]
    targets = [Target(p, args.out, args.seeds, earlier) for p in programs]
    if not targets:
        parser.error(f"no such programs in {args.programs}")
    env = {**os.environ, "ASAN_OPTIONS": ASAN, "UBSAN_OPTIONS": "print_stacktrace=1"}
    stop = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.append(True))
    begin = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")
    clock = time.monotonic()
    fuzz(targets, args, env, stop)
    failed = report(targets, args, begin, clock)
    if args.merge and not stop:
        merge(targets, args, env)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
