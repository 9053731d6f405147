"""What arrays and groups have in common: a place in a store, attributes, and a store to flush."""

from __future__ import annotations

import abc
import atexit
import json
from collections.abc import Iterator, Mapping, MutableMapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import numpy as np

from . import _core

# A zip archive is whole only when it was flushed.
atexit.register(_core.save_open_stores)

Core = TypeVar("Core", _core.Array, _core.Group)


def attributes_json(attributes: Mapping[str, Any] | None) -> str:
    """Attributes as JSON text; NumPy scalars and arrays become numbers and lists."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise TypeError(f"attribute of type {type(value).__name__} has no form in JSON")

    return json.dumps(dict(attributes or {}), default=plain)


class Attributes(MutableMapping[str, Any]):
    """The attributes of an array or a group.  Every change is written at once; ``update`` is one write.

    Values are copies: to change what is inside one (``attrs["list"].append(1)`` is forgotten), assign it anew.
    errors: PermissionError when the node was opened read-only; TypeError for what JSON does not have.
    """

    def __init__(self, node: Node[Any]) -> None:
        self._node = node

    def _all(self) -> dict[str, Any]:
        attributes: dict[str, Any] = json.loads(self._node._core.attributes)
        return attributes

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        attributes = self._all()
        del attributes[name]
        self._node.set_attributes(attributes)

    def update(self, *others: Any, **named: Any) -> None:
        self._node.set_attributes({**self._all(), **dict(*others, **named)})

    def clear(self) -> None:
        self._node.set_attributes({})

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


class Node(abc.ABC, Generic[Core]):
    """An array or a group."""

    def __init__(self, core: Core) -> None:
        self._core: Core = core

    @classmethod
    @abc.abstractmethod
    def _open(cls, store: _core.Store, path: str) -> Any:
        """The node at a path of a store."""

    @property
    def attrs(self) -> Attributes:
        """The attributes: what is set or deleted here is written at once."""
        return Attributes(self)

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Replaces all attributes.  Errors: TypeError for what JSON does not have."""
        self._core.set_attributes(attributes_json(attributes))

    @property
    def url(self) -> str:
        return self._core.url

    @property
    def path(self) -> str:
        """Path in its store; "" is the root."""
        return self._core.path

    def flush(self) -> None:
        """Makes what was written complete, and durable unless the store was opened with durable="none".

        A zip archive gets its directory here.  Without it the archive is saved with the last object that uses it, or at
        the end of the process, with a ResourceWarning.
        """
        self._core.store.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Flushes, unless an exception is on its way: then a zip archive stays as it was."""
        if not self._core.store.writable:
            return
        if kind is None:
            self.flush()
        else:
            self._core.store.abandon()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as where it is, and is opened again there (in another process, not for memory://)."""
        store = self._core.store
        return _reopen, (type(self), store.url, self.path, "r+" if store.writable else "r", store.options)


def _reopen(
    kind: type[Node[Any]],
    url: str,
    path: str,
    mode: str,
    options: tuple[str | None, str | None, dict[str, str]] = (None, None, {}),
) -> Any:
    return kind._open(_core.Store.open(url, mode, *options), path)
