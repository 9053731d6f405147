#!/usr/bin/env python3
"""Runs scipy's own tests of scipy.ndimage, which are in its wheel, with penstock.ndimage in its place.

    tools/scipy_own_tests.py [--device cpu|cuda] [--precision float32|float64] [--table FILE] [PYTEST-ARGUMENT...]

The Python that runs it has penstock, scipy, pytest and hypothesis installed, for --device cuda also CuPy.  Of scipy.ndimage
the names that penstock has are replaced by penstock's (zoom with compat="scipy"); the tests stay as they are.  Counted
are the tests that call one of them; what penstock hands to scipy is not counted as penstock's.  The table says how many
pass, and why each of the others does not; exit 1 where a miss has no reason below, or fewer than 98 % (cuda: 97 %) pass.
With --precision float64 float32 is computed in double, as scipy does.
"""

from __future__ import annotations

import argparse
import collections
import functools
import inspect
import os
import re
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.ndimage

import penstock.ndimage
from penstock.ndimage import _handed

# What penstock does otherwise on purpose, by what the failure says.  One row each: pattern of "test id: last line".
REASONS: list[tuple[str, str]] = [
    (
        r"test_(prewitt|sobel)0\d.*uint64",
        "sums of 2^64 and more, of numbers below 0 that have wrapped, as uint64: C leaves open what comes out",
    ),
    (r"test_(gaussian_laplace0\d|gauss03)", "float32 is computed in float32, scipy computes in double"),
    (r"test_(minimum|maximum)_filter0\d.*DID NOT RAISE", "a mode for each axis is taken with every footprint"),
    (r"test_rank\d+.*DID NOT RAISE", "a mode for each axis is taken with every footprint"),
]


REDUCTIONS = ("sum", "sum_labels", "mean", "minimum", "maximum", "variance", "standard_deviation")
"""What gives a number, as NumPy's."""


def to_device(value: Any) -> Any:
    """Elements of the host in the memory of the GPU, with the strides that they have; what CuPy has no type for as it is."""
    import cupy

    array = np.asarray(value)
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16:
        return value
    native = array.dtype.newbyteorder("=")
    return cupy.asarray(array.astype(native, copy=False), order="K")


def to_host(value: Any) -> Any:
    return value.get() if hasattr(value, "get") else value


class Plugin:
    def __init__(self, device: str, precision: str) -> None:
        self.device = device
        self.precision = precision
        self.called: set[str] = set()
        self.handed: set[str] = set()
        self.used: dict[str, set[str]] = {}
        self.outcomes: dict[str, tuple[str, str]] = {}
        self.elsewhere: set[str] = set()
        plain = _handed.hand

        def hand(name: str, why: str, *arguments: Any, **named: Any) -> Any:
            self.handed.add(name)
            with warnings.catch_warnings():  # tests that count warnings count scipy's
                warnings.filterwarnings("ignore", message=f"{name}: ")
                return plain(name, why, *arguments, **named)

        _handed.hand = hand
        self.originals = {name: getattr(scipy.ndimage, name) for name in names()}

    def pytest_sessionstart(self) -> None:
        # penstock must find scipy's own functions when it hands something to it.
        originals = type("scipy_ndimage", (), {name: staticmethod(f) for name, f in self.originals.items()})
        for name in scipy.ndimage.__all__:
            if not hasattr(originals, name):
                setattr(originals, name, staticmethod(getattr(scipy.ndimage, name)))
        originals.__all__ = list(scipy.ndimage.__all__)  # type: ignore[attr-defined]
        _handed._scipy = lambda: originals
        known = _capabilities()
        for name, original in self.originals.items():
            made = self.through(name, original)
            setattr(scipy.ndimage, name, made)
            if original in known:
                known[made] = known[original]

    def through(self, name: str, original: Any) -> Any:
        ours = getattr(penstock.ndimage, name)
        takes_precision = "precision" in inspect.signature(ours).parameters

        @functools.wraps(original)
        def call(*arguments: Any, **named: Any) -> Any:
            self.called.add(name)
            if name == "zoom":
                named["compat"] = "scipy"
            if takes_precision:
                named["precision"] = self.precision
            return self.on_device(ours, arguments, named) if self.device == "cuda" else ours(*arguments, **named)

        return call

    def on_device(self, ours: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """With the elements, the coordinates and the memory for the output on the GPU; what comes out is NumPy's again."""
        given = inspect.signature(ours).bind(*arguments, **named).arguments
        given |= given.pop("how", {})  # sum_labels takes what sum takes
        on_host = {name: given[name] for name in ("input", "coordinates", "output") if name in given}
        there: dict[int, Any] = {}  # what is given twice stays one
        for name, value in on_host.items():
            if name == "output" and not isinstance(value, np.ndarray):
                continue  # None, or a data type
            if id(value) not in there:
                there[id(value)] = to_device(value)
            given[name] = there[id(value)]
        made = ours(**given)
        output = on_host.get("output")
        if isinstance(output, np.ndarray):
            output[...] = to_host(given["output"])
            return output
        made = to_host(made)
        return made[()] if np.ndim(made) == 0 and ours.__name__ in REDUCTIONS else made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        self.called.clear()
        self.handed.clear()
        try:
            return (yield)
        finally:
            self.used[item.nodeid] = set(self.called)
            if self.handed:
                self.elsewhere.add(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome == "failed":
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message.strip() if crash else str(report.longrepr or "")
            self.outcomes[report.nodeid] = (report.outcome, " ".join(text.split())[:300])


def _capabilities() -> Any:
    """scipy's table of what its functions can do, where its tests look them up; empty where it has none."""
    try:
        from scipy._lib._array_api import xp_capabilities_table
    except ImportError:
        return {}
    return xp_capabilities_table


def names() -> list[str]:
    return sorted(set(scipy.ndimage.__all__) & set(penstock.ndimage.__all__))


def reason_of(test: str, text: str) -> str | None:
    return next((why for pattern, why in REASONS if re.search(pattern, f"{test}: {text}", re.S)), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--precision", default="float32", choices=["float32", "float64"])
    parser.add_argument("--table", help="file for the table; default standard output")
    args, rest = parser.parse_known_args()
    plugin = Plugin(args.device, args.precision)
    pytest.main(
        [
            "-c",
            os.devnull,
            "--pyargs",
            "scipy.ndimage.tests",
            "-q",
            "-p",
            "no:cacheprovider",
            "--tb=line",
            "-r",
            "N",
            *rest,
        ],
        plugins=[plugin],
    )
    counted = {test: plugin.outcomes[test] for test, used in plugin.used.items() if used and test in plugin.outcomes}
    own = {test: outcome for test, outcome in counted.items() if test not in plugin.elsewhere}
    passed = [test for test, (outcome, _) in own.items() if outcome == "passed"]
    missed = {test: text for test, (outcome, text) in own.items() if outcome == "failed"}
    ran = len(passed) + len(missed)
    share = len(passed) / ran if ran else 0.0
    lines = [
        f"scipy {scipy.__version__}, {args.device}, {args.precision}: {len(passed)} of {ran} tests ({share:.2%}) of the names that penstock has",
        f"pass; {len(plugin.elsewhere & counted.keys())} more are handed to scipy in part and not counted.",
        "",
        "| tests | why they do not pass | for example |",
        "|---|---|---|",
    ]
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for test, text in missed.items():
        groups[reason_of(test, text) or f"no reason is known: {text[:160]}"].append(test)
    for why, tests in sorted(groups.items(), key=lambda group: -len(group[1])):
        lines.append(f"| {len(tests)} | {why.replace('|', '/')} | {tests[0].rpartition('/')[2].replace('|', '/')} |")
    table = "\n".join(lines) + "\n"
    if args.table:
        with open(args.table, "w") as file:
            file.write(table)
    print(table)
    unknown = sum(reason_of(test, text) is None for test, text in missed.items())
    least = 0.97 if args.device == "cuda" else 0.98
    return int(unknown > 0 or share < least)


if __name__ == "__main__":
    sys.exit(main())
