"""Two `penstock oct reconstruct` into one folder at once: one works, the other ends at once and says so; a run that was killed
hinders none.

together_oct.py PENSTOCK
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import time

from killed_oct import results


def main(penstock: str) -> int:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        raw = scratch / "subject/raw"
        subject = ["simulate", scratch / "subject", "--traps", "one-row", "--seed", "3", "--quiet"]
        subprocess.run([penstock, "oct", *subject], check=True)

        def begun(out: pathlib.Path, *more: str) -> subprocess.Popen[str]:
            words = [penstock, "oct", "reconstruct", raw, out, "--shifts", raw / "shifts_xy.csv", "--quiet", *more]
            words += ["--axial-resolution-um", "10", "--slicing-interval-mm", "0.24", "--threads", "1"]
            return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)

        def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
            _, errors = run.communicate(timeout=300)
            return run.returncode, errors

        def under_way(out: pathlib.Path, run: subprocess.Popen[str]) -> None:
            while not list(out.glob("*.ome.zarr")):
                assert run.poll() is None, run.communicate()
                time.sleep(0.01)

        assert ended(begun(scratch / "alone")) == (0, "")
        expected = results(scratch / "alone")
        assert len(expected) > 50
        for more in ("--force", "--resume"):
            out = scratch / ("out" + more)
            first = begun(out)
            under_way(out, first)
            code, errors = ended(begun(out, more))
            assert code == 73 and f"{out}: another reconstruction is under way in it" in errors, (code, errors)
            assert first.poll() is None, "the first had ended: this shows nothing"
            assert ended(first) == (0, "")
            assert results(out) == expected, f"{more}: other bytes"
            assert not (out / "reconstruct.lock").exists()
        out = scratch / "killed"
        first = begun(out)
        under_way(out, first)
        first.kill()
        first.communicate()
        assert ended(begun(out, "--resume")) == (0, "")
        assert results(out) == expected, "other bytes after a run that was killed"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
