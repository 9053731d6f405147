"""The installed wheel: complete, typed, and needing nothing but Python, NumPy and the system's C and C++ libraries."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import sysconfig
import textwrap

import pytest

import penstock

PACKAGE = pathlib.Path(penstock.__file__).parent
PROGRAM = PACKAGE / "bin" / "penstock"
SYSTEM = (
    "libc.so",
    "libm.so",
    "libdl.so",
    "librt.so",
    "libpthread.so",
    "libgcc_s.so",
    "libstdc++.so",
    "ld-linux",
    "libresolv",
)


def dynamic(library: pathlib.Path) -> str:
    return subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout


def test_every_library_is_beside_the_module() -> None:
    libraries = sorted(p for p in PACKAGE.iterdir() if ".so" in p.name)
    assert len(libraries) > 3
    here = {p.name for p in libraries}
    for library in [*libraries, PROGRAM]:
        for line in dynamic(library).splitlines():
            if "(NEEDED)" in line:
                needed = line.split("[")[1].rstrip("]")
                assert needed in here or needed.startswith(SYSTEM), f"{library.name} needs {needed}"


def test_each_of_them_comes_with_its_licence() -> None:
    foreign = [
        p.name for p in PACKAGE.iterdir() if ".so" in p.name and "penstock" not in p.name and "_core" not in p.name
    ]
    assert len(foreign) > 2
    for name in foreign:
        assert "icense" in (PACKAGE / "licenses" / f"{name}.txt").read_text(errors="replace"), name


def test_the_path_to_them_is_inherited() -> None:
    for library in [*PACKAGE.glob("_core*.so"), *PACKAGE.glob("libpenstock.so*")]:
        text = dynamic(library)
        assert "(RPATH)" in text and "[$ORIGIN]" in text and "RUNPATH" not in text, library
    text = dynamic(PROGRAM)
    assert "(RPATH)" in text and "[$ORIGIN/..]" in text and "RUNPATH" not in text


COMMANDS = {
    "script": [str(pathlib.Path(sysconfig.get_path("scripts")) / "penstock")],
    "module": [sys.executable, "-m", "penstock"],
}


@pytest.mark.parametrize("way", COMMANDS)
def test_the_command(tmp_path: pathlib.Path, way: str) -> None:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*COMMANDS[way], *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path)

    version = run("--version")
    assert version.returncode == 0 and version.stdout.startswith(f"penstock {penstock.__version__} "), version
    a = penstock.create(tmp_path / "a", shape=(3,), dtype="u2")
    a[...] = [4, 5, 6]
    assert run("cat", "a").stdout == "4 5 6\n"
    # Arguments, exit status and standard error are the program's own.
    missing = run("info", "no such file")
    assert missing.returncode == 66 and missing.stderr.startswith("penstock info: ") and missing.stdout == ""


def test_the_command_does_not_import_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *COMMANDS["script"], "--version"], capture_output=True, text=True
    )
    assert done.stdout.startswith("penstock ")
    assert "numpy" not in done.stderr and "penstock" not in done.stderr


def test_stable_abi_where_python_has_it() -> None:
    (module,) = PACKAGE.glob("_core*.so")
    assert module.name.endswith(".abi3.so") == (sys.version_info >= (3, 12))


def test_import_is_quick_and_light() -> None:
    heavy = {"zarr", "ml_dtypes", "torch", "dask"}
    code = f"import sys, penstock; print(sorted({{m.partition('.')[0] for m in sys.modules}} & {heavy}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"


@pytest.mark.parametrize("name", ("zarr", "codecs"))
def test_without_zarr_python_the_error_says_what_to_install(name: str) -> None:
    code = f"import sys; sys.modules['zarr'] = None; import penstock.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-2:]
    assert last[0].startswith("ModuleNotFoundError: ")
    assert last[1] == f"penstock.{name} works with zarr-python 3.1 or later: python -m pip install 'zarr>=3.1'"


def mypy(*arguments: object, cwd: pathlib.Path) -> str:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-incremental",
        "--cache-dir=/dev/null",
        *map(str, arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    return done.stdout + done.stderr if done.returncode else ""


def test_the_package_is_typed(tmp_path: pathlib.Path) -> None:
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_core.pyi").exists()
    assert mypy("-p", "penstock", cwd=tmp_path) == ""


USER = """
import asyncio
import numpy as np
import penstock as ps
from typing import assert_type

def main(path: str) -> None:
    node = ps.open(path)
    if isinstance(node, ps.Image):
        node = node.levels[0]
    assert isinstance(node, ps.Array)
    assert_type(node.shape, tuple[int, ...])
    x = node[1, ::-1, ...]
    node.read((slice(3), ...), out=np.empty(3), budget="2GiB", on_error="fill")
    report = node.last_report
    if report is not None:
        assert_type(report.wall_seconds, float)
        for stage in report.stages:
            assert_type(stage.path, str)
    made = ps.create("x", shape=(3, 4), dtype="u2", codecs=["zstd", {"name": "crc32c"}])
    made[...] = x
    assert isinstance(ps.read_many([(made, 1), (made, slice(2))]), list)

async def wait(a: ps.Array) -> None:
    future = a.write_async(..., 3)
    assert_type(future, ps.Future[None])
    await future
"""


def test_a_users_program_is_checked(tmp_path: pathlib.Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    assert mypy("user.py", cwd=tmp_path) == ""


@pytest.mark.parametrize(
    "line",
    [
        "a[None]",
        "a['x']",
        "a.read(on_error='ignore')",
        "a.read(budget=1.5)",
        "ps.open('x', 'w')",
        "ps.create('x', shape=(1,))",
        "a.shape.x",
    ],
)
def test_a_users_mistake_is_found(tmp_path: pathlib.Path, line: str) -> None:
    (tmp_path / "user.py").write_text(
        textwrap.dedent(f"""
        import penstock as ps

        def main(a: ps.Array) -> None:
            {line}
        """)
    )
    assert "error:" in mypy("user.py", cwd=tmp_path)
