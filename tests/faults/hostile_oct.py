"""Gives each step of `penstock oct` input that lies: images, tiles, transforms, shifts and metrics that are cut off, of impossible
sizes or no numbers.  A step ends with success or with an error that names the file, soon, within its memory, and what it
has not made does not open.

hostile_oct.py PENSTOCK [STEP]
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

SECONDS = 20
MOST_BYTES = 1 << 30
BUDGET = 71
OPTIONS = ("depth_um", "slicing_interval_mm")
KNOWN = {0, 64, 65, 66, 69, 71, 73, 74}  # of error_codes.def, without "internal error"
AXIAL = ["--axial-resolution-um", "10"]

STEPS: dict[str, list[str]] = {
    "mosaic": ["IN/raw", "OUT/mosaic_grid_z00.ome.zarr", *AXIAL, "--resolution-um", "30"],
    "resample-mosaic": ["IN/mosaic.ome.zarr", "OUT/a.ome.zarr", "--resolution-um", "40"],
    "fix-focal-curvature": ["IN/mosaic.ome.zarr", "OUT/a.ome.zarr"],
    "fix-illumination": ["IN/mosaic.ome.zarr", "OUT/a.ome.zarr"],
    "aip": ["IN/mosaic.ome.zarr", "OUT/a.ome.zarr"],
    "aip-png": ["IN/mosaic.ome.zarr", "OUT/a.png"],
    "estimate-transform": ["IN/aip.ome.zarr", "OUT/a.npy"],
    "stitch": ["IN/mosaic.ome.zarr", "OUT/a.ome.zarr", "--transform", "IN/transform.npy"],
    "tissue-interface": ["IN/slices/slice_z00_crop.ome.zarr", "OUT/a.npy"],
    "crop-below-interface": ["IN/slices/slice_z00_crop.ome.zarr", "OUT/a.ome.zarr"],
    "normalize": ["IN/slices/slice_z00_crop.ome.zarr", "OUT/a.ome.zarr"],
    "common-space": ["IN/slices", "OUT/moved", "--shifts", "IN/shifts.csv"],
    "find-z-overlap": ["IN/moved/slice_z00_common.ome.zarr", "IN/moved/slice_z01_common.ome.zarr"],
    "stack": ["IN/moved", "OUT/a.ome.zarr", "--slicing-interval-mm", "0.28"],
    "pyramid": ["IN/slices/slice_z00_crop.ome.zarr", "OUT/a.ome.zarr", "--n-levels", "2"],
    "report": ["IN/run", "--output", "OUT/a.html", "--slicing-interval-mm", "0.28"],
    "run": ["IN/steps.toml"],
    "explain": ["IN/steps.toml"],
}


def run(penstock: str, *words: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([penstock, "oct", *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done


def make_input(penstock: str, folder: pathlib.Path) -> None:
    """Small images, of which each step makes something."""
    run(penstock, "simulate", folder / "subject", "--seed", 3)
    for tile in sorted((folder / "subject/raw").rglob("tile_x0[01]_y0[01]_z00")):
        shutil.copytree(tile, folder / "raw" / tile.name)
    mosaic = folder / "mosaic.ome.zarr"
    run(penstock, "mosaic", folder / "raw", mosaic, "--slice", 0, *AXIAL, "--resolution-um", 30)
    run(penstock, "aip", mosaic, folder / "aip.ome.zarr")
    run(penstock, "estimate-transform", folder / "aip.ome.zarr", folder / "transform.npy")
    for k in range(2):
        run(penstock, "stitch", mosaic, folder / f"slices/slice_z0{k}_crop.ome.zarr", "--transform",
            folder / "transform.npy")  # fmt: skip
    SOUND_STEPS(folder / "steps.toml")
    (folder / "shifts.csv").write_text("fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,1,0.1,0.1\n")
    run(penstock, "common-space", folder / "slices", folder / "moved", "--shifts", folder / "shifts.csv")
    at = folder / "run"
    shutil.copytree(folder / "moved", at)
    shutil.copytree(folder / "aip.ome.zarr", at / "mosaic_grid_z00_aip.ome.zarr")
    shutil.copy(folder / "transform.npy", at / "mosaic_grid_z00_transform.npy")
    shutil.copytree(folder / "slices/slice_z00_crop.ome.zarr", at / "slice_z00_stitch.ome.zarr")
    run(penstock, "crop-below-interface", at / "slice_z00_stitch.ome.zarr", at / "slice_z00_crop.ome.zarr")
    run(penstock, "stack", at, at / "3d_volume.ome.zarr", "--slicing-interval-mm", 0.28)
    (at / "reconstruct.json").write_text('{"slicing_interval_mm": 0.28}')
    shutil.rmtree(folder / "subject")


Change = Callable[[pathlib.Path], None]


def edited(**values: Any) -> Change:
    """A JSON document with other values; None: without."""

    def change(path: pathlib.Path) -> None:
        document = json.loads(path.read_text())
        for name, value in values.items():
            document.pop(name, None) if value is None else document.__setitem__(name, value)
        path.write_text(json.dumps(document))

    return change


def rescaled(edit: Callable[[dict[str, Any]], Any]) -> Change:
    """The first multiscale of an image, edited."""

    def change(path: pathlib.Path) -> None:
        document = json.loads(path.read_text())
        edit(document["attributes"]["ome"]["multiscales"][0])
        path.write_text(json.dumps(document))

    return change


def scales(value: Any) -> Change:
    def edit(image: dict[str, Any]) -> None:
        for level in image["datasets"]:
            for transform in level["coordinateTransformations"]:
                if transform["type"] == "scale":
                    transform["scale"] = [value] * len(transform["scale"])

    return rescaled(edit)


def shape(extents: Callable[[list[int]], list[int]], chunks: Callable[[list[int]], list[int]] | None = None) -> Change:
    def change(path: pathlib.Path) -> None:
        document = json.loads(path.read_text())
        old = document["shape"]
        document["shape"] = extents(old)
        grid = document["chunk_grid"]["configuration"]
        if chunks:
            grid["chunk_shape"] = chunks(grid["chunk_shape"])
        document.pop("dimension_names", None)
        path.write_text(json.dumps(document))

    return change


def content(data: bytes) -> Change:
    return lambda path: path.write_bytes(data)


def cut(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


IMAGE: dict[str, Change] = {
    "no JSON": content(b"{"),
    "empty": content(b""),
    "null": content(b"null"),
    "a list": content(b"[" * 5000),
    "binary": content(bytes(range(256))),
    "no attributes": edited(attributes=None),
    "no multiscales": edited(attributes={"ome": {"version": "0.5", "multiscales": []}}),
    "multiscales of text": edited(attributes={"ome": {"version": "0.5", "multiscales": "x"}}),
    "an array": edited(node_type="array"),
    "scale 0": scales(0),
    "scale -1": scales(-1),
    "scale 1e308": scales(1e308),
    "scale 1e-320": scales(1e-320),
    "scale of text": scales("1"),
    "scale null": scales(None),
    "no datasets": rescaled(lambda image: image.update(datasets=[])),
    "no transformations": rescaled(lambda image: image["datasets"][0].pop("coordinateTransformations")),
    "a dataset elsewhere": rescaled(lambda image: image["datasets"][0].update(path="../../../etc")),
    "axes of text": rescaled(lambda image: image.update(axes="zyx")),
    "too many axes": rescaled(lambda image: image.update(axes=image["axes"] * 3)),
    "another unit": rescaled(lambda image: [axis.update(unit="furlong") for axis in image["axes"]]),
    "metres": rescaled(lambda image: [axis.update(unit="meter") for axis in image["axes"]]),
}
ARRAY: dict[str, Change] = {
    "no JSON": content(b'{"zarr_format": 3'),
    "a group": edited(node_type="group"),
    "2^31 rows": shape(lambda s: [*s[:-2], 1 << 31, s[-1]]),
    "2^31 x 2^31 pixels": shape(lambda s: [*s[:-2], 1 << 31, 1 << 31]),
    "2^62 columns": shape(lambda s: [*s[:-1], 1 << 62]),
    "2^64 columns": shape(lambda s: [*s[:-1], 1 << 64]),
    "-1 columns": shape(lambda s: [*s[:-1], -1]),
    "1.5 columns": shape(lambda s: [*s[:-1], 1.5]),  # type: ignore[list-item]
    "0 columns": shape(lambda s: [*s[:-1], 0]),
    "0 in all": shape(lambda s: [0] * len(s)),
    "one element": shape(lambda s: [1] * len(s)),
    "one dimension": shape(lambda s: s[:1], lambda c: c[:1]),
    "five dimensions": shape(lambda s: [1, 1, 1, 1, *s][:5], lambda c: [1, 1, 1, 1, *c][:5]),
    "chunks of 0": shape(lambda s: s, lambda c: [0] * len(c)),
    "chunks of 1, 2^20 squared": shape(lambda s: [*s[:-2], 1 << 20, 1 << 20], lambda c: [*c[:-2], 1, 1]),
    "chunks of 1, 2^31 squared": shape(lambda s: [*s[:-2], 1 << 31, 1 << 31], lambda c: [*c[:-2], 1, 1]),
    "chunks of 2^40": shape(lambda s: s, lambda c: [1 << 40] * len(c)),
    "one plane a chunk": shape(lambda s: s, lambda c: [1, *c[1:]]),
    "int16": edited(data_type="int16"),
    "no type": edited(data_type="float33"),
    "no codecs": edited(codecs=[]),
    "an unknown codec": edited(codecs=[{"name": "bytes"}, {"name": "nonsense"}]),
    "a grid of another kind": edited(chunk_grid={"name": "hexagons"}),
    "fill of text": edited(fill_value="x"),
    "fill infinite": edited(fill_value="Infinity"),
}
CHUNK: dict[str, Change] = {
    "cut off": cut,
    "empty": content(b""),
    "binary": content(bytes(range(256)) * 40),
    "missing": pathlib.Path.unlink,
    "a folder": lambda path: (path.unlink(), path.mkdir())[1],  # type: ignore[func-returns-value]
}


def npy(values: bytes, head: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values


def matrix(*values: float) -> Change:
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n"
    return content(npy(struct.pack("<4d", *values), head))


NPY: dict[str, Change] = {
    "empty": content(b""),
    "cut off": cut,
    "no .npy": content(b"PK\x03\x04" * 100),
    "a head of 4 GiB": content(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b"x" * 100),
    "2^40 x 2^40": content(npy(bytes(32), "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }")),
    "2^64": content(npy(bytes(32), "{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551616,), }")),
    "objects": content(npy(bytes(32), "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }")),
    "one number": content(npy(bytes(8), "{'descr': '<f8', 'fortran_order': False, 'shape': (), }")),
    "NaN": matrix(float("nan"), 0, 0, 1),
    "infinite": matrix(1, 0, 0, float("inf")),
    "1e300": matrix(1e300, 0, 0, 1e300),
    "-1e300": matrix(-1e300, 0, 0, -1e300),
    "zeros": matrix(0, 0, 0, 0),
    "backwards": matrix(-20, 3, 3, -20),
}  # fmt: skip


def info(**values: str | None) -> Change:
    def change(path: pathlib.Path) -> None:
        lines = dict(line.split(": ", 1) for line in path.read_text().splitlines() if ": " in line)
        for name, value in values.items():
            lines.pop(name, None) if value is None else lines.__setitem__(name, value)
        path.write_text("".join(f"{name}: {value}\n" for name, value in lines.items()))

    return change


KEYS = ("nx", "ny", "n_extra", "top_z", "bottom_z", "width", "height")
INFO: dict[str, Change] = {
    **{f"{key} {value}": info(**{key: value}) for key in KEYS
       for value in ("nan", "1000000000000", "-1", "0", "inf", "1e-300", "x", "")},
    **{f"no {key}": info(**{key: None}) for key in KEYS},
    **{f"nx {value}": info(nx=value) for value in ("0x40", "64.5", "1e308", "\u0666\u0664", "64 64", "6" * 5000)},
    "nx twice": lambda path: path.write_text(path.read_text() + "nx: 8\n") and None,
    "marked, of Windows": lambda path: path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n")) and None,
    "as much of all as may be": info(nx="1048576", ny="1048576", n_extra="0", top_z="0", bottom_z="1048575"),
    "all lines are the way back": info(nx="1", n_extra="71"),
    "empty": content(b""),
    "binary": content(bytes(range(256)) * 100),
    "one line of 10 MB": content(b"nx" * 5_000_000),
}  # fmt: skip
BIN: dict[str, Change] = {"cut off": cut, **{k: CHUNK[k] for k in ("empty", "binary", "missing", "a folder")}}
HEAD = "fixed_id,moving_id,x_shift_mm,y_shift_mm"
SHIFTS: dict[str, Change] = {
    "marked, of Windows": content(f"\ufeff{HEAD}\r\n0,1,0.1,0.1\r\n".encode()),
    "semicolons": content(f"{HEAD}\n0,1,0.1,0.1\n".replace(",", ";").encode()),
    "commas in numbers": content(f"{HEAD}\n0,1,0,1,0,1\n".encode()),
    "UTF-16": content(f"{HEAD}\n0,1,0.1,0.1\n".encode("utf-16")),
    "a shift twice": content(f"{HEAD}\n0,1,0.1,0.1\n0,1,0.1,0.1\n".encode()),
    "a column twice": content(f"{HEAD},x_shift_mm\n0,1,0.1,0.1,7\n".encode()),
    "no shift to slice 1": content(f"{HEAD}\n".encode()),
    "text": content(f"{HEAD}\nfirst,second,left,right\n".encode()),
    "a row that ends early": content(f"{HEAD}\n0,1,0.1\n".encode()),
    "zero bytes": content(f"{HEAD}\n0,1,0.1,0.1\n".encode() + bytes(1000)),
    "a million rows": content(f"{HEAD}\n".encode() + b"".join(b"%d,%d,0,0\n" % (k, k + 1) for k in range(1_000_000))),
    "empty": content(b""),
    "binary": content(bytes(range(256))),
    "one line of 10 MB": content(b"," * 10_000_000),
    **{f"a shift of {v}": content(f"fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,1,{v},0.1\n".encode())
       for v in ("nan", "inf", "1e300", "1e15", "-1e7", "")},
    **{f"slices {a} and {b}": content(f"fixed_id,moving_id,x_shift_mm,y_shift_mm\n{a},{b},0,0\n".encode())
       for a, b in (("0", "0"), ("1", "0"), ("0", "1e300"), ("0", "-1"), ("0", "2"), ("0.5", "1"))},
}  # fmt: skip
METRICS: dict[str, Change] = {
    **{k: IMAGE[k] for k in ("no JSON", "empty", "null", "a list", "binary")},
    "no metrics": content(b"{}"),
    "metrics of text": content(b'{"metrics": "x", "warnings": "y"}'),
    "huge numbers": content(
        b'{"metrics": {"interface_depth": {"value": 1e308}, "interface_plane": {"value": -1e308}, "planes": {"value": 1e308},'
        b'"row": {"value": {"0": 1e308, "99999999999999999999": 1, "x": 2, "1": "y"}}, "column": {"value": []}},'
        b'"warnings": [1, {}, "<script>alert(1)</script>"]}'
    ),
}
SETTINGS = {**METRICS, "interval 0": content(b'{"slicing_interval_mm": 0}'),
            "interval -1": content(b'{"slicing_interval_mm": -1}'), "interval 1e300": content(b'{"slicing_interval_mm": 1e300}'),
            "interval of text": content(b'{"slicing_interval_mm": "x"}')}  # fmt: skip


def steps_file(*lines: str, output: str = "OUT/a.ome.zarr") -> Change:
    """A file of steps; IN and OUT are the folders of input and output."""

    def change(path: pathlib.Path) -> None:
        text = "\n".join(['input = "IN/mosaic.ome.zarr"', f'output = "{output}"', *lines])
        path.write_text(text.replace("IN/", f"{path.parent}/").replace("OUT/", f"{path.parent.parent}/out/"))

    return change


def a_step(name: str, *lines: str) -> str:
    return "\n".join(["[[step]]", f'name = "{name}"', *lines])


SOUND_STEPS = steps_file(a_step("fix-illumination"), a_step("fix-focal-curvature"))
TO_B = 'output = "OUT/b.ome.zarr"'
STEPS_FILE: dict[str, Change] = {
    "empty": content(b""),
    "binary": content(bytes(range(256))),
    "UTF-16": content('input = "a"'.encode("utf-16")),
    "an array 10^5 deep": steps_file("x = " + "[" * 100_000 + "]" * 100_000),
    "a table 10^5 deep": steps_file("x = " + "{a = " * 100_000 + "1" + "}" * 100_000),
    "a key 10^5 deep": steps_file(".".join("a" * 100_000) + " = 1"),
    "a head 10^5 deep": steps_file("[" + ".".join("a" * 100_000) + "]"),
    "a head of steps 10^5 deep": steps_file("[[" + ".".join("a" * 100_000) + "]]"),
    "an option 10^5 deep": steps_file(a_step("aip", ".".join("a" * 100_000) + " = 1")),
    "an unknown key": steps_file("outptu = 1", a_step("aip")),
    "an unknown option": steps_file(a_step("aip", "levels = 1")),
    "a step of numbers": steps_file("step = [1, 2]"),
    "200,000 steps": steps_file(*[a_step("fix-illumination")] * 200_000),
    "the input as output": steps_file(a_step("aip"), output="IN/mosaic.ome.zarr"),
    "the input as output, in other words": steps_file(a_step("aip"), output="IN/./mosaic.ome.zarr/"),
    "within the input": steps_file(a_step("aip"), output="IN/mosaic.ome.zarr/0.zarr"),
    "to and fro": steps_file(a_step("fix-illumination", TO_B), a_step("aip"), output="IN/mosaic.ome.zarr"),
    "the same output twice": steps_file(a_step("fix-illumination", TO_B), a_step("aip"), output="OUT/b.ome.zarr"),
    "the first takes what the last makes": steps_file(
        a_step("fix-illumination", 'input = "OUT/a.ome.zarr"', TO_B), a_step("fix-focal-curvature")),
    "a step that runs files of steps": steps_file(a_step("run")),
    **{f"resolution {value}": steps_file(a_step("resample-mosaic", f"resolution_um = {value}"))
       for value in ("nan", "inf", "-inf", "-1", "0", "1e-300", "1e300", "9223372036854775807", "2026-01-01", "true")},
    **{f"{value} levels": steps_file(a_step("aip", f"n_levels = {value}")) for value in ("-1", "1.5", '"x"', "[[[]]]")},
}  # fmt: skip


def first(folder: pathlib.Path, pattern: str) -> pathlib.Path:
    return sorted(p for p in folder.rglob(pattern) if p.is_file())[0]


def images(step: str) -> list[str]:
    """Images that a step reads, within IN."""
    return {
        "mosaic": [],
        "run": ["mosaic.ome.zarr"],
        "explain": ["mosaic.ome.zarr"],
        "estimate-transform": ["aip.ome.zarr"],
        "common-space": ["slices/slice_z01_crop.ome.zarr"],
        "find-z-overlap": ["moved/slice_z01_common.ome.zarr"],
        "stack": ["moved/slice_z01_common.ome.zarr"],
        "report": [
            "run/3d_volume.ome.zarr",
            "run/slice_z00_stitch.ome.zarr",
            "run/slice_z01_common.ome.zarr",
            "run/mosaic_grid_z00_aip.ome.zarr",
        ],
    }.get(step, [STEPS[step][0].removeprefix("IN/")])


def cases(step: str) -> Iterator[tuple[str, str, Change]]:
    """(file within IN, or folder and pattern; what is wrong with it; how it gets so) of one step."""
    for image in images(step):
        for name, change in IMAGE.items():
            yield f"{image}/zarr.json", name, change
        for name, change in ARRAY.items():
            yield f"{image}/0/zarr.json", name, change
        for name, change in CHUNK.items():
            yield f"{image}/0/c", name, change
    if step == "mosaic":
        for name, change in INFO.items():
            yield "raw/tile_x00_y00_z00/info.txt", name, change
            yield "raw/*/info.txt", name, change
        for name, change in BIN.items():
            yield "raw/tile_x01_y01_z00/*.bin", name, change
        far = "tile_x99999_y99999_z00"
        yield "raw/tile_x01_y01_z00", "far away", lambda tile: (tile.rename(tile.with_name(far)), None)[1]
    if step in ("stitch", "report"):
        for name, change in NPY.items():
            yield "transform.npy" if step == "stitch" else "run/mosaic_grid_z00_transform.npy", name, change
    if step == "common-space":
        for name, change in SHIFTS.items():
            yield "shifts.csv", name, change
    if step in ("run", "explain"):
        for name, change in STEPS_FILE.items():
            yield "steps.toml", name, change
    if step == "report":
        for file in ("slice_z00_crop_crop_below_interface_metrics.json", "common_space_metrics.json"):
            for name, change in METRICS.items():
                yield f"run/{file}", name, change
        for name, change in SETTINGS.items():
            yield "run/reconstruct.json", name, change


def touched(at: pathlib.Path, file: str) -> list[pathlib.Path]:
    if file.endswith("/c"):
        return [first(at / file, "*")]
    return sorted(at.glob(file))


def stamps(folder: pathlib.Path) -> dict[str, tuple[int, int]]:
    """Size and time of each file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


class Hostile:
    def __init__(self, penstock: str, good: pathlib.Path, scratch: pathlib.Path) -> None:
        self.penstock, self.good, self.scratch = penstock, good, scratch
        self.tried, self.refused, self.wrong = 0, 0, []  # type: ignore[var-annotated]

    def attempt(self, step: str, at: pathlib.Path, out: pathlib.Path) -> tuple[int | None, str, float, int]:
        words = [w.replace("IN/", f"{at}/").replace("OUT/", f"{out}/") for w in STEPS[step]]
        command = [self.penstock, "oct", step, *words, "--threads", "2", "--budget", "256MiB", "--force"]
        errors = self.scratch / "errors"
        begun = time.monotonic()
        with open(errors, "wb") as file:
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file,
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS)))  # fmt: skip
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid or time.monotonic() - begun > SECONDS:
                    break
                time.sleep(0.002)
            if not pid:
                child.kill()
                child.wait()
                return None, "", SECONDS, 0
            child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode, errors.read_text(errors="replace"), time.monotonic() - begun, usage.ru_maxrss * 1024

    def judge(
        self, step: str, file: str, name: str, out: pathlib.Path, ending: tuple[int | None, str, float, int]
    ) -> None:
        code, errors, _, held = ending
        where = f"oct {step}, {file}: {name}"
        self.tried += 1
        if code is None:
            self.wrong.append(f"{where}: it has not ended after {SECONDS} s")
            return
        if code not in KNOWN:
            self.wrong.append(f"{where}: exit code {code}: {errors.strip()}")
        if held > MOST_BYTES:
            self.wrong.append(f"{where}: held {held >> 20} MiB of a budget of 256")
        if code == 0:
            return
        self.refused += 1
        # An option that does not fit the image is named instead.
        named = f"{self.scratch}/at/" in errors or any(f"oct {step}: {option}" in errors for option in OPTIONS)
        if not named and code != BUDGET:
            self.wrong.append(f"{where}: the error names no file: {errors.strip()}")
        for image in out.rglob("*.ome.zarr"):
            # Of slices that are moved each is whole, and a mark says that not all are there.
            some = (image.parent / "common_space.unfinished").exists()
            if (image / "zarr.json").exists() and not some:
                self.wrong.append(f"{where}: {image.name} opens after: {errors.strip()}")
        for single in ("a.npy", "a.png", "a.html"):
            if (out / single).exists():
                self.wrong.append(f"{where}: {single} is there after: {errors.strip()}")

    def copy_good(self, at: pathlib.Path) -> None:
        shutil.copytree(self.good, at)
        SOUND_STEPS(at / "steps.toml")  # which names where it lies

    def step(self, step: str) -> None:
        at, out = self.scratch / "at", self.scratch / "out"
        self.copy_good(at)
        for file, name, change in cases(step):
            saved = {}
            for path in touched(at, file):
                saved[path] = None if path.is_dir() else path.read_bytes()
                change(path)
            assert saved, f"{step}: no {file}"
            out.mkdir()
            before = stamps(at)
            self.judge(step, file, name, out, self.attempt(step, at, out))
            if stamps(at) != before:
                self.wrong.append(f"oct {step}, {file}: {name}: the input is not what it was")
            shutil.rmtree(out)
            for path, data in saved.items():
                if data is None or path.is_dir():
                    shutil.rmtree(at)
                    self.copy_good(at)
                    break
                path.write_bytes(data)
        shutil.rmtree(at)


def main(penstock: str, only: str = "") -> int:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        make_input(penstock, scratch / "good")
        hostile = Hostile(penstock, scratch / "good", scratch)
        for step in STEPS:
            if only not in ("", step):
                continue
            before = hostile.refused
            out = scratch / "out"
            out.mkdir()
            code, errors, _, _ = hostile.attempt(step, scratch / "good", out)
            assert code == 0, f"{step} of sound input: {errors}"
            shutil.rmtree(out)
            hostile.step(step)
            assert hostile.refused > before + 5, f"{step}: this shows nothing"
    print("\n".join(hostile.wrong))
    print(f"{hostile.tried} inputs that lie, {hostile.refused} refused, {len(hostile.wrong)} not as they must be")
    return 1 if hostile.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
