#!/usr/bin/env python3
"""How much memory of a GPU each process of the workflow takes: the numbers of gpu_task_mib in nextflow.config.

    gpu_memory.py PENSTOCK [--sizes small,medium] [--budgets 512,1024,2048] [--slices 2] [--folder DIR] [--out FILE]

makes a subject of each size, and runs the command of each process by itself with --device cuda and each budget (MiB).
"task" is what the GPU holds more than before, asked of NVML every half millisecond: blocks of the step, and what CUDA
takes for a process, its code and its pools.  "blocks" is peak_memory_bytes of the step's metrics.  Nobody else may use
the GPU meanwhile.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

MIB = 2**20
DEPTH = ["--depth-um", "520"]
INTERVAL = ["--slicing-interval-mm", "0.24"]
AXIAL = ["--axial-resolution-um", "10", "--resolution-um", "10"]


class Gpu:
    """What is held of GPU 0."""

    class Memory(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

    def __init__(self) -> None:
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.handle = ctypes.c_void_p()
        if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle)):
            raise SystemExit("gpu_memory.py: NVML does not answer")

    def used(self) -> int:
        memory = self.Memory()
        if self.nvml.nvmlDeviceGetMemoryInfo(self.handle, ctypes.byref(memory)):
            raise SystemExit("gpu_memory.py: NVML does not answer")
        return int(memory.used)

    def name(self) -> str:
        text = ctypes.create_string_buffer(96)
        self.nvml.nvmlDeviceGetName(self.handle, text, 96)
        return text.value.decode()


class Watch:
    """The most that a GPU holds while this is open, beyond what it held before."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.before, self.most, self.open = gpu, gpu.used(), 0, True
        self.thread = threading.Thread(target=self.look)

    def look(self) -> None:
        while self.open:
            self.most = max(self.most, self.gpu.used())
            time.sleep(0.0005)

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.open = False
        self.thread.join()

    @property
    def taken(self) -> int:
        return max(0, self.most - self.before)


def processes(raw: pathlib.Path, out: pathlib.Path, slices: int) -> list[tuple[str, list[str]]]:
    """The commands of the workflow in the order in which each finds what it takes."""
    made = []
    for k in range(slices):
        z = f"z{k:02}"
        grid, fixed, aip = (out / f"mosaic_grid_{z}{end}.ome.zarr" for end in ("", "_illum", "_aip"))
        place, slab = out / f"mosaic_grid_{z}_transform.npy", out / f"slice_{z}_stitch.ome.zarr"
        made += [
            ("mosaic", ["mosaic", raw, grid, "--slice", k, *AXIAL]),
            ("fix_illumination", ["fix-illumination", grid, fixed]),
            ("aip", ["aip", fixed, aip]),
            ("estimate_transform", ["estimate-transform", aip, place]),
            ("stitch", ["stitch", fixed, slab, "--transform", place]),
            ("crop_below_interface", ["crop-below-interface", slab, out / f"slice_{z}_crop.ome.zarr", *DEPTH]),
        ]
    made += [
        ("common_space", ["common-space", out, out, "--shifts", raw / "shifts_xy.csv"]),
        ("stack", ["stack", out, out / "3d_volume.ome.zarr", *INTERVAL]),
        ("report", ["report", out, *INTERVAL]),
    ]
    return [(name, [str(word) for word in words]) for name, words in made]


def measure(gpu: Gpu, penstock: str, name: str, words: list[str], budget: int) -> dict[str, object]:
    begun = time.monotonic()
    with Watch(gpu) as watch:
        command = [penstock, "oct", *words, "--device", "cuda", "--budget", f"{budget}MiB", "--json", "--force"]
        done = subprocess.run(command, capture_output=True, text=True)
    row: dict[str, object] = {"process": name, "budget_mib": budget, "seconds": round(time.monotonic() - begun, 2)}
    if done.returncode != 0:
        return row | {"error": done.stderr.strip()[-300:]}
    blocks = json.loads(done.stdout)["metrics"]["peak_memory_bytes"]["value"]
    return row | {"task_mib": round(watch.taken / MIB), "blocks_mib": round(blocks / MIB)}


def keep_slices(raw: pathlib.Path, slices: int) -> None:
    """Takes the later slices of a subject away."""
    for tile in sorted(raw.rglob("tile_x*_y*_z*")):
        if int(tile.name.rpartition("_z")[2]) >= slices:
            shutil.rmtree(tile)
    shifts = raw / "shifts_xy.csv"
    head, *rows = shifts.read_text().splitlines()
    rows = [row for row in rows if float(row.split(",")[1]) < slices]
    shifts.write_text("\n".join([head, *rows]) + "\n")


def worst(rows: list[dict]) -> dict[tuple, dict]:
    """Of each process, size and budget the run that took most."""
    found: dict[tuple, dict] = {}
    for row in rows:
        key = (row["process"], row["size"], row["budget_mib"])
        if key not in found or row.get("task_mib", 1 << 40) > found[key].get("task_mib", 1 << 40):
            found[key] = row
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("penstock")
    parser.add_argument("--sizes", default="small,medium")
    parser.add_argument("--budgets", default="512,1024,2048")
    parser.add_argument("--slices", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    asked = parser.parse_args()
    gpu = Gpu()
    rows: list[dict] = []
    print(f"{gpu.name()}; {'process':<22}{'size':<8}{'budget':>8}{'task':>8}{'blocks':>8} MiB  seconds")
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
        for size in asked.sizes.split(","):
            subject, out = pathlib.Path(scratch) / "subject", pathlib.Path(scratch) / "out"
            subprocess.run(
                [asked.penstock, "oct", "simulate", subject, "--size", size, "--seed", "7", "--quiet"], check=True
            )
            keep_slices(subject / "raw", asked.slices)
            for budget in map(int, asked.budgets.split(",")):
                for name, words in processes(subject / "raw", out, asked.slices):
                    rows.append(measure(gpu, asked.penstock, name, words, budget) | {"size": size})
                    if asked.out:
                        asked.out.write_text(json.dumps({"gpu": gpu.name(), "rows": rows}, indent=1) + "\n")
                for row in worst([row for row in rows if (row["size"], row["budget_mib"]) == (size, budget)]).values():
                    took = f"{row.get('task_mib', '-'):>8}{row.get('blocks_mib', '-'):>8}"
                    print(
                        f"{row['process']:<22}{size:<8}{budget:>8}{took}  {row['seconds']:>8}  {row.get('error', '')}",
                        flush=True,
                    )
            shutil.rmtree(subject), shutil.rmtree(out)
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
