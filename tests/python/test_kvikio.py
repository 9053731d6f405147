"""penstock.compat.kvikio: programs written for KvikIO."""

from __future__ import annotations

import errno
import pathlib
import resource
import subprocess
import sys

import pytest

from penstock.compat import kvikio

PROGRAM = """
import sys
import kvikio, kvikio.defaults
assert kvikio.__version__.endswith("penstock." + __import__("penstock").__version__)
with kvikio.CuFile(sys.argv[1], "w") as f:
    assert f.pwrite(b"hello").get() == 5
buf = bytearray(5)
with kvikio.CuFile(sys.argv[1]) as f:
    assert f.read(buf) == 5
print(buf.decode())
for name in ("kvikio.numpy", "kvikio.cufile_driver"):
    try:
        __import__(name)
    except ImportError as error:
        print(error)
"""


def test_a_program_runs_on_it(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "penstock.compat.kvikio", str(tmp_path / "program.py"), str(tmp_path / "a")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "hello"
    assert "kvikio.numpy yet" in lines[1]
    assert "kvikio.cufile_driver yet" in lines[2]


def test_errors_are_both(tmp_path: pathlib.Path) -> None:
    for kind in (FileNotFoundError, RuntimeError):
        with pytest.raises(kind, match=r"Unable to open file.*No such file or directory"):
            kvikio.CuFile(tmp_path / "absent")
    (tmp_path / "a").write_bytes(b"0123456789")
    with kvikio.CuFile(tmp_path / "a") as f:
        for kind in (PermissionError, RuntimeError):
            with pytest.raises(kind, match="Operation not permitted"):
                f.write(b"x")
        for kind in (OSError, RuntimeError):
            with pytest.raises(kind, match="the file ends at byte"):
                f.pread(bytearray(11)).get()
            with pytest.raises(kind, match="the file ends at byte"):
                f.pread(bytearray(11)).result()
    for kind in (ValueError, RuntimeError):
        with pytest.raises(kind, match="closed"):
            f.read(bytearray(1))
        with pytest.raises(kind, match="Unknown file open flag"):
            kvikio.CuFile(tmp_path / "a", "z")


def test_errors_tell_their_number_once(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with kvikio.CuFile(tmp_path / "a", "r+") as f, pytest.raises(OSError) as large:
            f.write(b"x", file_offset=10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with kvikio.CuFile(tmp_path / "a") as f, pytest.raises(OSError) as past:
        f.read(bytearray(11))
    with kvikio.CuFile(tmp_path / "a") as f, pytest.raises(OSError) as read_only:
        f.write(b"x")
    with pytest.raises(OSError) as absent:
        kvikio.CuFile(tmp_path / "absent")
    numbers = (errno.EFBIG, errno.EIO, errno.EACCES, errno.ENOENT)
    for told, number in zip((large, past, read_only, absent), numbers, strict=True):
        text = str(told.value)
        assert (told.value.errno, text.count(f"rrno {number}"), text.count("rrno")) == (number, 1, 1), text


@pytest.mark.parametrize("name", ["Mmap", "RemoteFile"])
def test_what_is_not_there_is_refused_by_name(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(kvikio, name)


def test_gds_store_passes_zarr_s_tests_of_stores() -> None:
    # In a file of its own: the class below is collected by pytest there.
    program = pathlib.Path(__file__).with_name("gds_store_tests.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", str(program)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:]
