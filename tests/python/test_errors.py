"""Every error of the table is a real exception, and real failures raise the right one."""

from __future__ import annotations

import builtins
import errno
import pathlib
import re
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import _core

from support import metadata, same

TABLE = _core.error_table()


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_every_row_of_the_table(row: tuple[str, str, str, int]) -> None:
    name, _, python, _ = row
    wanted = getattr(penstock, python.removeprefix("penstock.")) if "." in python else getattr(builtins, python)
    with pytest.raises(wanted) as caught:
        _core.raise_error(name, "the message", "do this", 0, "some/file")
    error = caught.value
    assert error.code == name  # type: ignore[attr-defined]
    assert "the message" in str(error)
    assert error.__notes__ == ["do this"]
    if isinstance(error, OSError):
        assert error.filename == "some/file" and error.errno


def test_errno_of_the_system_is_kept() -> None:
    with pytest.raises(OSError) as caught:
        _core.raise_error("io_error", "m", "", errno.ESTALE, "f")
    assert caught.value.errno == errno.ESTALE and not hasattr(caught.value, "__notes__")


def test_own_exceptions_are_also_builtin_kinds() -> None:
    assert issubclass(penstock.CorruptDataError, ValueError)
    assert issubclass(penstock.BudgetError, MemoryError)
    assert issubclass(penstock.UnsupportedError, NotImplementedError)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    a = penstock.create(tmp_path / "a", shape=(8, 8), dtype="u2", chunks=(4, 4), fill_value=77)
    a[...] = np.arange(64).reshape(8, 8)
    return tmp_path / "a"


def test_nothing_there(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        penstock.open(tmp_path / "none.zarr")
    assert caught.value.errno == errno.ENOENT and "none.zarr" in str(caught.value.filename)


def test_an_unknown_scheme() -> None:
    with pytest.raises(penstock.UnsupportedError, match="gopher"):
        penstock.open("gopher://x/y")


@pytest.mark.parametrize("mode", ["w", "", "rw"])
def test_an_unknown_mode(path: pathlib.Path, mode: Any) -> None:
    with pytest.raises(ValueError, match="mode"):
        penstock.open(path, mode)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda t: t[:-3], penstock.MetadataError),
        (lambda t: re.sub(r'"shape":\s*\[[^]]*\],', "", t), penstock.MetadataError),
        (lambda t: t.replace('"uint16"', '"uint17"'), penstock.UnsupportedError),
        (lambda t: t.replace("77", '"x"'), penstock.MetadataError),
    ],
    ids=["cut", "no shape", "data type", "fill value"],
)
def test_wrong_metadata_names_the_file(path: pathlib.Path, change: Any, error: type[Exception]) -> None:
    text = (path / "zarr.json").read_text()
    assert change(text) != text
    (path / "zarr.json").write_text(change(text))
    with pytest.raises(error, match="zarr.json"):
        penstock.open(path)


def test_an_unknown_codec_is_named(path: pathlib.Path) -> None:
    text = (path / "zarr.json").read_text()
    (path / "zarr.json").write_text(text.replace('"zstd"', '"zstdd"'))
    with pytest.raises(penstock.UnsupportedError, match="zstdd.*zstd"):
        penstock.open(path)


def test_a_corrupt_chunk_is_named(path: pathlib.Path) -> None:
    (path / "c/0/1").write_bytes(b"not zstd at all")
    a = penstock.open(path)
    assert isinstance(a, penstock.Array)
    with pytest.raises(penstock.CorruptDataError, match="c/0/1"):
        a[...]
    assert same(a[4:], np.arange(64, dtype="u2").reshape(8, 8)[4:])


def test_on_error_fill(path: pathlib.Path) -> None:
    (path / "c/0/1").write_bytes(b"")
    a = penstock.open(path)
    assert isinstance(a, penstock.Array)
    want = np.arange(64, dtype="u2").reshape(8, 8)
    want[:4, 4:] = 77
    assert same(a.read(on_error="fill"), want)
    assert a.last_report is not None
    assert [problem.key for problem in a.last_report.problems] == ["c/0/1"]
    report = a.verify()
    assert len(report.problems) == 1 and "c/0/1" in str(report)
    with pytest.raises(ValueError, match="on_error"):
        a.read(on_error="ignore")  # type: ignore[arg-type]


def test_a_directory_in_place_of_a_chunk(path: pathlib.Path) -> None:
    (path / "c/1/1").unlink()
    (path / "c/1/1").mkdir()
    with pytest.raises(IsADirectoryError, match="c/1/1"):
        penstock.open(path)[...]


def test_a_budget_too_small_says_what_is_needed(tmp_path: pathlib.Path) -> None:
    a = penstock.create(tmp_path / "big", shape=(1024, 1024), dtype="u2", chunks=(1024, 1024))
    a[...] = 1
    with pytest.raises(penstock.BudgetError, match="(?i)MiB"):
        a.read(np.s_[:10], budget=1000)
    assert a.read(np.s_[0, 0], budget="256MiB") == 1


@pytest.mark.parametrize("budget", ["4M", "-1GiB", 0, -5, "", "1 GiB"])
def test_budgets_that_are_no_sizes(path: pathlib.Path, budget: Any) -> None:
    with pytest.raises(ValueError):
        penstock.open(path).read(budget=budget)  # type: ignore[union-attr]


def test_threads(path: pathlib.Path) -> None:
    a = penstock.open(path)
    assert isinstance(a, penstock.Array)
    a.read(threads=1)
    assert a.last_report is not None and a.last_report.threads == 1
    with pytest.raises(ValueError, match="threads"):
        a.read(threads=0)


def test_reports(path: pathlib.Path) -> None:
    import json

    a = penstock.open(path)
    assert isinstance(a, penstock.Array) and a.last_report is None
    a[...]
    report = a.last_report
    assert report is not None and report.operation == "read" and report.chunks == 4 and report.decoded_bytes == 128
    assert json.loads(report.json)["operation"] == "read"
    assert {"fetch", "decode"} <= {stage.stage for stage in report.stages}
    assert "fetch" in str(report) and all(stage.reason for stage in report.stages)
    assert report.stages[0].counts == {"requests": report.requests}
    assert f"requests: {report.requests}" in str(report)
    plan = a.plan(np.s_[:4, :4])
    assert plan.chunks == 1 and json.loads(plan.json) and str(plan)


def test_progress(path: pathlib.Path) -> None:
    a = penstock.open(path)
    assert isinstance(a, penstock.Array)
    seen: list[tuple[str, int, int]] = []
    a.read(progress=lambda what, done, total: seen.append((what, done, total)))
    assert seen[-1] == ("read", 128, 128)


def test_an_exception_in_progress_stops_the_read(path: pathlib.Path) -> None:
    def fail(what: str, done: int, total: int) -> None:
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        penstock.open(path).read(progress=fail)  # type: ignore[union-attr]


def test_the_metadata_of_the_fixture(path: pathlib.Path) -> None:
    assert metadata(path)["fill_value"] == 77
