"""Cuts the power after every operation of a copy, and of a write, and looks at what is left.

power_cut.py PENSTOCK RECORDER WRITER: RECORDER is built from recorder.cpp, WRITER from write_once.cpp.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

from disk import Disk, Tree, crashes, played

STORES = pathlib.Path(__file__).parents[1] / "golden/stores"
ARRAY = STORES / "v3.zarr/u16"
GROUP = STORES / "v3.zarr"
V2 = STORES / "v2.zarr/u16"
DOCUMENTS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
BESIDE = ".penstock-new-"  # written beside what it will replace: opened by nobody
MARKERS = (".penstock-copy.json", ".penstock-copies.json")


def contents(root: pathlib.Path) -> Tree:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


Versions = dict[str, set[bytes]]
Check = Callable[[Tree, Tree, Tree, Versions], str | None]


def is_document(path: str) -> bool:
    return path.rsplit("/", 1)[-1] in DOCUMENTS


def below(tree: Tree, node: str) -> Tree:
    return {path: data for path, data in tree.items() if path.startswith(node)}


class Case:
    """A command that changes the directory `root`."""

    def __init__(self, penstock: str, recorder: str, scratch: pathlib.Path) -> None:
        self.recorder, self.penstock = recorder, penstock
        self.root = scratch / "root"
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir()
        self.record = scratch / "record"

    def plain(self, *words: str) -> None:
        self._run([self.penstock, *words], {})

    def run(self, *words: str, check: Check, end: bool) -> list[str]:
        """What was wrong after some power cut.  `check(before, after, left, versions)`; `end`: at the end all must be there."""
        self.record.unlink(missing_ok=True)
        disk, before = Disk(self.root), contents(self.root)
        self._run(list(words), {"LD_PRELOAD": self.recorder, "RECORD": str(self.record)})
        after = contents(self.root)
        versions = played(disk, self.record).versions
        wrong, cuts, last = [], 0, {}
        for where, left in crashes(disk, self.record):
            cuts += 1
            last = left
            if (why := check(before, after, left, versions)) is not None:
                wrong.append(f"{where}: {why}")
        assert cuts > 40, f"{cuts} power cuts only: the recorder sees nothing"
        if end and last != after:
            wrong.append(f"the end: {sorted(set(last.items()) ^ set(after.items()))[:1]} is not on the disk")
        return wrong

    def _run(self, words: list[str], more: dict[str, str]) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}
        done = subprocess.run(words, env=environment | {"PENSTOCK_CONFIG": ""} | more, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()


def old_or_new(before: Tree, after: Tree, left: Tree, versions: Versions) -> str | None:
    for path, data in left.items():
        if data not in versions.get(path, ()):
            return f"{path} {'is empty' if data == b'' else 'is none of what was written'}"
    for path in before.keys() & after.keys():
        if path not in left:
            return f"{path} is gone"
    return None


def finished_is_complete(before: Tree, after: Tree, left: Tree, versions: Versions) -> str | None:
    """No metadata without all that they tell of; old metadata only with what is old."""
    for path, data in left.items():
        if not is_document(path) or path.endswith(".zattrs") or path.startswith(BESIDE):
            continue
        node = path[: path.rfind("/") + 1]
        if data not in versions.get(path, ()):
            return f"{path} is half a document"
        if any(node + marker in left for marker in MARKERS):
            continue  # a copy that is not finished, and says so
        whole = [tree for tree in (before, after) if tree.get(path) == data]
        here = {p: d for p, d in below(left, node).items() if not p.endswith(MARKERS)}
        if here not in [below(tree, node) for tree in whole]:
            return f"{path} stands without all that is below it"
    return None


def all_of(before: Tree, after: Tree, left: Tree, versions: Versions) -> str | None:
    return old_or_new(before, after, left, versions) or finished_is_complete(before, after, left, versions)


def main(penstock: str, recorder: str, writer: str) -> int:
    bad = []

    def expect(name: str, wrong: list[str], good: bool) -> None:
        print(f"{name}: {len(wrong)} power cuts leave something wrong, {'none may' if good else 'some must'}")
        if good == bool(wrong):
            bad.append(name + "".join("\n    " + line for line in wrong[:3]))

    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name).resolve()

        def case() -> Case:
            return Case(penstock, recorder, scratch)

        for durable in ("none", "metadata", "all"):
            some = ["--durable", durable, "--threads", "3"]
            check = {"none": all_of, "metadata": finished_is_complete, "all": all_of}[durable]
            forced = durable != "none"

            c = case()
            copy = [penstock, "copy"]
            wrong = c.run(*copy, str(ARRAY), str(c.root / "deep/er/a.zarr"), *some, check=check, end=forced)
            expect(f"copy of an array, {durable}", wrong, forced)
            c = case()
            wrong = c.run(*copy, str(V2), str(c.root / "a.zarr"), *some, check=check, end=forced)
            expect(f"copy of a v2 array, {durable}", wrong, forced)
            c = case()
            wrong = c.run(*copy, str(GROUP), str(c.root / "g.zarr"), *some, check=check, end=forced)
            expect(f"copy of a group, {durable}", wrong, forced)
            c = case()
            wrong = c.run(*copy, str(ARRAY), str(c.root / "a.zip"), *some, check=all_of, end=forced)
            expect(f"copy to an archive, {durable}", wrong, forced)

            c = case()
            c.plain("copy", str(V2), str(c.root / "a.zarr"), "--zarr-format", "3")
            wrong = c.run(
                *copy, str(ARRAY), str(c.root / "a.zarr"), "--force", *some, check=finished_is_complete, end=forced
            )
            expect(f"copy over another array, {durable}", wrong, forced)

            c = case()
            c.plain("copy", str(ARRAY), str(c.root / "a.zarr"))
            wrong = c.run(writer, str(c.root / "a.zarr"), durable, check=old_or_new, end=durable == "all")
            expect(f"write of a part, {durable}", wrong, durable == "all")
    print("\n".join(bad) or "every power cut left what it must")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
