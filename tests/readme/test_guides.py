"""The guides can be followed: their programs and commands run, one after another, in an empty folder."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize(("guide", "blocks"), [("geotiff", 5), ("kvikio", 1), ("ndimage", 3), ("zarr-python", 1)])
def test_a_guide_can_be_followed(tmp_path: Path, guide: str, blocks: int) -> None:
    """The others have tests of their own: they need a server, or take long."""
    if guide == "zarr-python":  # it begins with an image that its reader has
        shutil.copytree(ROOT / "tests/golden/stores/image.ome.zarr", tmp_path / "image.ome.zarr")
    made = subprocess.run(
        [sys.executable, ROOT / "tests/readme/run_guide.py", ROOT / f"docs/guides/{guide}.md"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.splitlines()[-1].startswith(f"{blocks} blocks of ")
