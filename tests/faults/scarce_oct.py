"""Runs the steps of the OCT reconstruction where memory runs out: an error that says so, and nothing that opens.

scarce_oct.py PENSTOCK LIBRARY [EVERY [STEP]]: LIBRARY is built from scarce.cpp.  Every allocation of each step fails in turn,
or every EVERY-th; with STEP only those of that step: the command ends with success or as out of memory.  What does not
is told after each step: an hour may lie before the end.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import scarce


def oct_step(penstock: str, *words: object) -> None:
    done = subprocess.run([penstock, "oct", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words}: {done.stderr}")


def make_small(penstock: str, folder: pathlib.Path) -> None:
    """One raw tile; a mosaic of 3 x 3 tiles of 9 x 9 pixels, and what steps make of it."""
    oct_step(penstock, "simulate", folder / "subject", "--seed", "3")
    tile = next((folder / "subject/raw").rglob("tile_x00_y00_z00"))
    shutil.copytree(tile, folder / "raw" / tile.name)
    mosaic = folder / "mosaic_z00.ome.zarr"
    oct_step(penstock, "resample-mosaic", folder / "subject/truth/mosaic_grid_z00.ome.zarr", mosaic,
             "--resolution-um", 70)  # fmt: skip
    oct_step(penstock, "aip", mosaic, folder / "aip.ome.zarr", "--n-levels", 1)
    oct_step(penstock, "estimate-transform", folder / "aip.ome.zarr", folder / "transform.npy")
    for k in range(2):
        oct_step(penstock, "stitch", mosaic, folder / f"slices/slice_z0{k}_crop.ome.zarr",
                 "--transform", folder / "transform.npy")  # fmt: skip
    (folder / "shifts.csv").write_text(
        "fixed_id,moving_id,x_shift,y_shift,x_shift_mm,y_shift_mm,reliable\n0,1,1,1,0.1,0.1,1\n"
    )
    oct_step(penstock, "common-space", folder / "slices", folder / "moved", "--shifts", folder / "shifts.csv")
    shutil.rmtree(folder / "subject")


def steps(folder: pathlib.Path, out: pathlib.Path) -> list[list[str]]:
    """What is run; each writes below `out`."""
    mosaic, piece = folder / "mosaic_z00.ome.zarr", folder / "slices/slice_z00_crop.ome.zarr"
    (folder / "steps.toml").write_text(
        f'input = "{mosaic}"\noutput = "{out}/run.ome.zarr"\n[[step]]\nname = "fix-focal-curvature"\n[[step]]\n'
        'name = "fix-illumination"\n[[step]]\nname = "crop-below-interface"\ntiles = true\n[[step]]\n'
        'name = "normalize"\ntiles = true\n'
    )
    made = [
        ["mosaic", folder / "raw", out / "mosaic_z00.ome.zarr", "--axial-resolution-um", 10, "--resolution-um", 70],
        ["resample-mosaic", mosaic, out / "resampled.ome.zarr", "--resolution-um", 90],
        ["fix-focal-curvature", mosaic, out / "focal.ome.zarr"],
        ["fix-illumination", mosaic, out / "overlap.ome.zarr"],
        ["fix-illumination", mosaic, out / "basic.ome.zarr", "--method", "basic", "--fit", "slice",
         "--max-samples", 9, "--max-iterations", 3],
        ["aip", mosaic, out / "aip.ome.zarr"],
        ["aip-png", mosaic, out / "aip.png"],
        ["estimate-transform", folder / "aip.ome.zarr", out / "transform.npy"],
        ["stitch", mosaic, out / "stitched.ome.zarr", "--transform", folder / "transform.npy"],
        ["tissue-interface", piece, out / "map.npy", "--sigma-xy", 3],
        ["crop-below-interface", piece, out / "cropped.ome.zarr", "--percentile-max", 99],
        ["normalize", piece, out / "normal.ome.zarr"],
        ["common-space", folder / "slices", out / "moved", "--shifts", folder / "shifts.csv"],
        ["find-z-overlap", folder / "moved/slice_z00_common.ome.zarr", folder / "moved/slice_z01_common.ome.zarr",
         "--slicing-interval-mm", 0.28],
        ["stack", folder / "moved", out / "volume.ome.zarr", "--slicing-interval-mm", 0.28],
        ["pyramid", piece, out / "levels.ome.zarr", "--n-levels", 2],
        ["run", folder / "steps.toml"],
    ]  # fmt: skip
    return [[str(word) for word in words] for words in made]


def main(penstock: str, library: str, every: str = "1", only: str = "") -> int:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        folder, out = scratch / "in", scratch / "out"
        folder.mkdir()
        make_small(penstock, folder)
        each = scarce.Each(library, scratch, step=int(every))
        for words in steps(folder, out):
            if only not in ("", words[0]):
                continue
            told = len(each.bad)
            # Each failure leaves what the next one finds: a step that has succeeded is told to replace its output.
            command = [penstock, "oct", *words, "--threads", "2", "--force"]
            tried = each.run(command, "allocation", "oct " + words[0])
            if tried * int(every) < 1000:
                each.bad.append(f"oct {words[0]}: only {tried} allocations: this test shows nothing")
            print("\n".join(each.bad[told:]), flush=True)
            shutil.rmtree(out, ignore_errors=True)
    return each.tell("allocations")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
