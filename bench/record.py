"""What a result file says besides the figures: machine, date, commit."""

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


def first(path: str, prefix: str) -> str:
    """What follows the colon of the first line that begins with `prefix`."""
    with open(path) as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith(prefix)), "")


def machine() -> dict:
    return {
        "cpu": first("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(first("/proc/meminfo", "MemTotal").split()[0]) / 2**20),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def commit() -> str:
    """Short hash of the commit, marked when the tree differs from it; PENSTOCK_COMMIT where there is no git."""
    if "PENSTOCK_COMMIT" in os.environ:
        return os.environ["PENSTOCK_COMMIT"]
    run = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return run.stdout.strip() or "unknown"


def save(name: str, cores: int, content: dict, path: Path | None = None) -> Path:
    """Writes bench/results/NAME-CORES-cores.json, over the one of before (git has it), or `path`."""
    now = datetime.datetime.now(datetime.UTC)
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = path or RESULTS / f"{name}-{cores}-cores.json"
    head = {"benchmark": name, "date": f"{now:%Y-%m-%d}", "commit": commit(), "machine": machine(), "cores": cores}
    path.write_text(json.dumps(head | content, indent=1) + "\n")
    return path
