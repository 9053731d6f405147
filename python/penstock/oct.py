"""Serial optical coherence tomography: raw tiles to a volume.

Each step of ``penstock oct`` is a function of this module, with ``_`` for ``-`` in its name and its options:

>>> from penstock import oct
>>> oct.simulate("subject", size="smoke", seed=7)
>>> oct.reconstruct("subject/raw", "out", axial_resolution_um=10, slicing_interval_mm=0.24, depth_um=520,
...                 shifts="subject/raw/shifts_xy.csv")
>>> print(oct.score("out", truth="subject/truth.json").text)

``help(oct.reconstruct)`` and ``penstock help oct reconstruct`` tell what a step takes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, TypeAlias

from . import _core
from ._options import Bytes, Deadline
from ._options import options as _options

PathLike: TypeAlias = str | os.PathLike[str]

__all__ = ["Done", "run", "steps"]


class Done:
    """What a step gave.

    text: for people. metrics: value, unit, description and status by name. warnings: what was odd. good: of ``score``,
    whether every mark is reached.
    """

    def __init__(self, result: _core.OctResult) -> None:
        document = json.loads(result.metrics_json)
        self.text: str = result.text
        self.good: bool = result.good
        self.metrics: dict[str, dict[str, Any]] = document["metrics"]
        self.warnings: list[str] = document["warnings"]

    def __getitem__(self, name: str) -> Any:
        """The value of a metric."""
        return self.metrics[name]["value"]

    def __repr__(self) -> str:
        return f"Done({self.text!r})"


def steps() -> list[str]:
    """Names of all steps, in the order in which a reconstruction takes them."""
    return [step.name.replace("-", "_") for step in _core.oct_steps()]


def run(
    step: str,
    *paths: PathLike,
    device: str = "cpu",
    force: bool = False,
    budget: Bytes | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
    **options: float | str | bool | PathLike | None,
) -> Done:
    """Runs a step by its name; ``run("run", "steps.toml")`` runs the steps of a file.

    paths: what it reads and writes, in the order of its arguments. device: where operators run: "cpu", "cuda",
    "cuda:1" or "auto". force: what exists is replaced. options: those of the step; None: the default.

    Raises ValueError (names, values, paths that do not fit), FileNotFoundError, FileExistsError, MetadataError and
    CorruptDataError (a file, which is named), BudgetError, and those of reading and writing.
    """
    texts = {name: _text(value) for name, value in options.items() if value is not None}
    job = _options(budget, threads, deadline=deadline)
    done = _core.run_oct(step.replace("_", "-"), [os.fspath(p) for p in paths], texts, device, force, job)
    return Done(done)


def _text(value: float | str | bool | PathLike) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return os.fspath(value)


def _documented(step: _core.OctStep) -> Callable[..., Done]:
    """A function that runs one step."""
    name = step.name.replace("-", "_")

    def function(*paths: PathLike, **options: Any) -> Done:
        return run(name, *paths, **options)

    lines = [f"{step.summary[0].upper()}{step.summary[1:]}.", "", step.about, ""]
    lines += [f"{a.name.lower()}: {a.help}." for a in step.arguments]
    lines += [
        f"{o.name}: {o.help}{f'; default {o.default}' if o.default else ''}{'; needed' if o.required else ''}."
        for o in step.options
    ]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "\n".join([*lines, "", "And device, force, budget, threads, deadline, as run."])
    return function


def __getattr__(name: str) -> Callable[..., Done]:
    for step in _core.oct_steps():
        if step.name.replace("-", "_") == name:
            function = _documented(step)
            globals()[name] = function
            return function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *steps()})
