"""A disk that loses what was not forced to it: plays back what recorder.cpp wrote.

Files are numbers with bytes; directories are entries by name.  Everything has a form that the programs see and one that
is on the disk.  After a crash any of the changes that were not forced may be there too: each directory keeps, of its
changes in their order, some; each file the bytes that were forced, or the ones that the programs saw.
"""

import copy
import json
import os
import pathlib
import random
from collections.abc import Iterator

Tree = dict[str, bytes]  # relative path -> bytes


class Directory:
    def __init__(self) -> None:
        self.seen: dict[str, object] = {}  # name -> number of a file, or Directory
        self.kept: dict[str, object] = {}
        self.pending: list[dict[str, object]] = []  # names that change at once: what they lead to now, None: nothing

    def change(self, name: str, to: object) -> None:
        if to is None:
            self.seen.pop(name, None)
        else:
            self.seen[name] = to
        self.pending.append({name: to})

    def exchange(self, a: str, b: str) -> None:
        self.seen[a], self.seen[b] = self.seen[b], self.seen[a]
        self.pending.append({a: self.seen[a], b: self.seen[b]})

    def force(self) -> None:
        self.kept = dict(self.seen)
        self.pending.clear()

    def after_crash(self, keep: random.Random, share: float) -> dict[str, object]:
        entries = dict(self.kept)
        for change in self.pending:
            if keep.random() >= share:
                continue
            for name, to in change.items():
                if to is None:
                    entries.pop(name, None)
                else:
                    entries[name] = to
        return entries


class Disk:
    """The directory `root`, with what stands there now forced."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = str(root)
        self.seen: list[bytearray] = []
        self.kept: list[bytes] = []
        self.file_of: dict[int, int] = {}  # inode -> number: the system uses the inodes of what is gone again
        self.versions: dict[str, set[bytes]] = {}  # relative path -> all that had this name
        self.top = self._load(root)

    def _load(self, path: pathlib.Path) -> Directory:
        made = Directory()
        for entry in path.iterdir():
            if entry.is_dir():
                made.seen[entry.name] = self._load(entry)
            else:
                made.seen[entry.name] = self._new_file(entry.stat().st_ino, entry.read_bytes())
                self._note(str(entry), made.seen[entry.name])
        made.force()
        return made

    def _new_file(self, inode: int, data: bytes) -> int:
        self.seen.append(bytearray(data))
        self.kept.append(data)
        self.file_of[inode] = len(self.seen) - 1
        return self.file_of[inode]

    def _note(self, path: str, number: int) -> None:
        parts = self._parts(path)
        if parts:
            self.versions.setdefault("/".join(parts), set()).add(bytes(self.seen[number]))

    def _note_below(self, path: str) -> None:
        directory = self._directory(self._parts(path))
        for name, to in directory.seen.items():
            if isinstance(to, Directory):
                self._note_below(f"{path}/{name}")
            else:
                self._note(f"{path}/{name}", to)

    def _parts(self, path: str) -> list[str] | None:
        path = os.path.normpath(path)
        if path == self.root:
            return []
        return path[len(self.root) + 1 :].split("/") if path.startswith(self.root + "/") else None

    def _directory(self, parts: list[str]) -> Directory | None:
        at: object = self.top
        for part in parts:
            at = at.seen.get(part) if isinstance(at, Directory) else None
        return at if isinstance(at, Directory) else None

    def _change(self, path: str, to: object) -> None:
        parts = self._parts(path)
        if parts:
            directory = self._directory(parts[:-1])
            assert directory is not None, path
            directory.change(parts[-1], to)

    def _force_all(self, at: Directory) -> None:
        at.force()
        for below in at.seen.values():
            if isinstance(below, Directory):
                self._force_all(below)

    def play(self, operation: list) -> None:
        what, *rest = operation
        if what == "create":
            path, inode = rest
            parts = self._parts(path)
            directory = self._directory(parts[:-1]) if parts else None
            if directory is not None and directory.seen.get(parts[-1]) != self.file_of.get(inode, -1):
                directory.change(parts[-1], self._new_file(inode, b""))
        elif what in ("write", "truncate", "force") and isinstance(rest[0], int):
            number = self.file_of.get(rest[0])
            if number is None:
                return  # outside of the root
            held = self.seen[number]
            if what == "write":
                offset, data = rest[1], bytes.fromhex(rest[2])
                held.extend(bytes(max(0, offset - len(held))))
                held[offset : offset + len(data)] = data
            elif what == "truncate":
                del held[rest[1] :]
            else:
                self.kept[number] = bytes(held)
        elif what == "force":
            parts = self._parts(rest[0])
            directory = None if parts is None else self._directory(parts)
            if directory is not None:
                directory.force()
        elif what == "force all":
            self.kept = [bytes(held) for held in self.seen]
            self._force_all(self.top)
        elif what == "rename":
            parts = self._parts(rest[0])
            if parts:
                here = self._directory(parts[:-1])
                same = os.path.dirname(rest[0]) == os.path.dirname(rest[1])
                assert here is not None and same, rest
                number = here.seen[parts[-1]]
                # One change: the old name goes with the new one's coming, so that no subset loses the file.
                self._change(rest[1], number)
                self._note(rest[1], number)
                here.seen.pop(parts[-1])
                here.pending.append({parts[-1]: None})
        elif what == "exchange":
            a, b = self._parts(rest[0]), self._parts(rest[1])
            here = self._directory(a[:-1]) if a and b and a[:-1] == b[:-1] else None
            assert here is not None, rest
            here.exchange(a[-1], b[-1])
            for path in rest:
                self._note_below(path)
        elif what == "unlink":
            self._change(rest[0], None)
        elif what == "mkdir":
            self._change(rest[0], Directory())

    def after_crash(self, keep: random.Random, entries: float, data: float) -> Tree:
        """What stands when the power is cut now; `entries`, `data`: the share of what was not forced that is there."""
        tree: Tree = {}

        def walk(directory: Directory, path: str) -> None:
            for name, to in directory.after_crash(keep, entries).items():
                if isinstance(to, Directory):
                    walk(to, f"{path}{name}/")
                elif not name.endswith(".tmp"):
                    tree[path + name] = bytes(self.seen[to]) if keep.random() < data else self.kept[to]

        walk(self.top, "")
        return tree


def played(before: Disk, record: pathlib.Path) -> Disk:
    disk = copy.deepcopy(before)
    for line in record.read_text().splitlines():
        disk.play(json.loads(line))
    return disk


def crashes(before: Disk, record: pathlib.Path) -> Iterator[tuple[str, Tree]]:
    """(the operation before it, what stands) for a power cut after each operation, in four ways."""
    disk = copy.deepcopy(before)
    keep = random.Random(20261124)
    lines = record.read_text().splitlines()
    for number, line in enumerate(lines):
        disk.play(json.loads(line))
        for entries, data in ((0, 0), (1, 0), (0.5, 0), (0.5, 0.5)):
            yield f"operation {number} of {len(lines)}: {line[:120]}", disk.after_crash(keep, entries, data)
    yield "the end", disk.after_crash(keep, 0, 0)
