#!/usr/bin/env python3
"""Time of `penstock info STORE` as a whole process: start, read the metadata, print, end.

bench/info.py STORE [--program build/release/bin/penstock] [--repeats 30]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import record


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--program", default="build/release/bin/penstock")
    parser.add_argument("--repeats", type=int, default=30)
    args = parser.parse_args()
    seconds = []
    for turn in range(args.repeats + 1):
        start = time.perf_counter()
        run = subprocess.run([args.program, "info", args.store], capture_output=True, text=True, check=False)
        if run.returncode or not run.stdout:
            print(f"{args.program} info {args.store}: exit {run.returncode}\n{run.stderr}", file=sys.stderr)
            return 1
        if turn:
            seconds.append(round(time.perf_counter() - start, 6))
    print(run.stdout)
    row = {"what": "penstock info", "layout": os.path.basename(args.store), "program": "penstock", "seconds": seconds}
    print(f"median {statistics.median(seconds) * 1e3:.1f} ms, {min(seconds) * 1e3:.1f} to {max(seconds) * 1e3:.1f} ms")
    print(record.save("info", len(os.sched_getaffinity(0)), {"versions": {}, "results": [row]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
