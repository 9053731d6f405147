"""scipy's own tests of scipy.ndimage, from its wheel, with the functions that penstock.ndimage has put in their place.

    scipy_tests.py [pytest arguments]    prints how many of the tests that call one of these functions pass

Tests that call none of them are left out.  The functions that are replaced keep scipy's names and defaults; a call that
penstock refuses by name (orders above 1) counts as a test that fails.
"""

import importlib
import sys
from typing import Any

import pytest
import scipy.ndimage

import penstock.ndimage as nd

BESIDES = {"percentile", "resize", "statistics", "threshold_otsu", "apply_displacement_field", "LazyArray"}
NAMES = sorted(set(nd.__all__) - BESIDES)


class Counter:
    """Which tests called a replaced function, and what became of them."""

    def __init__(self) -> None:
        self.called = False
        self.outcomes: dict[str, str] = {}

    def replaced(self, name: str) -> Any:
        ours = getattr(nd, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.called = True
            return ours(*args, **kwargs)

        return call

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        self.called = False
        outcome = yield
        if self.called:
            self.outcomes[item.nodeid] = "passed" if outcome.excinfo is None else str(outcome.excinfo[1])[:160]


def main() -> int:
    counter = Counter()
    for name in NAMES:
        setattr(scipy.ndimage, name, counter.replaced(name))
    importlib.import_module("scipy.ndimage.tests")
    tests = ["test_filters", "test_interpolation", "test_measurements"]
    given = sys.argv[1:] or ["-q", "--no-header", "--tb=no", "-p", "no:xdist", "-p", "no:cacheprovider"]
    pytest.main([*given, "--pyargs", *[f"scipy.ndimage.tests.{name}" for name in tests]], plugins=[counter])
    passed = sum(outcome == "passed" for outcome in counter.outcomes.values())
    why: dict[str, int] = {}
    for outcome in counter.outcomes.values():
        if outcome != "passed":
            why[outcome.splitlines()[0] if outcome else "?"] = (
                why.get(outcome.splitlines()[0] if outcome else "?", 0) + 1
            )
    for reason, count in sorted(why.items(), key=lambda item: -item[1])[:40]:
        print(f"{count:5} {reason}")
    print(f"{passed} of {len(counter.outcomes)} tests that call penstock pass")
    return 0


if __name__ == "__main__":
    sys.exit(main())
