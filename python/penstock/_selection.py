"""NumPy basic indexing as start, count and step of every dimension."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

LONG_BYTES = 4 << 20
"""Below this many decoded bytes a call takes milliseconds: it runs in the caller's thread and is not interrupted."""

Index: TypeAlias = SupportsIndex | slice | EllipsisType
Selection: TypeAlias = Index | tuple[Index, ...]
"""What an array can be indexed with: integers, slices with any step, ``...``, and tuples of them."""


class Region(NamedTuple):
    """A selection applied to a shape."""

    ranges: list[tuple[int, int, int]]
    """(start, count, step) of every dimension of the array."""
    shape: tuple[int, ...]
    """Shape of the result: integers have dropped their dimension."""
    dropped: tuple[bool, ...]
    """For every dimension of the array, whether an integer dropped it."""
    scalar: bool
    """The result is one element, not an array (integers only, no ``...``)."""

    def strides(self, of_result: Sequence[int]) -> list[int]:
        """Strides for every dimension of the array, from those of the result."""
        if True not in self.dropped:
            return list(of_result)
        given = iter(of_result)
        return [0 if dropped else next(given) for dropped in self.dropped]


def parse(selection: Selection, shape: Sequence[int]) -> Region:
    """Applies a selection to an array of that shape.

    Errors: IndexError (an integer outside, too many indices, and what basic indexing does not have: None, arrays,
    lists, booleans); ValueError (a step of zero).
    """
    items: tuple[Any, ...] = selection if type(selection) is tuple else (selection,)
    rank = len(shape)
    ellipses = 0
    for item in items:  # not items.count(): arrays compare elementwise
        if item is ...:
            ellipses += 1
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    given = len(items) - ellipses
    if given > rank:
        raise IndexError(f"too many indices: the array has {rank} dimensions, {given} were given")
    if ellipses:
        at = next(i for i, item in enumerate(items) if item is ...)
        items = (*items[:at], *[slice(None)] * (rank - given), *items[at + 1 :])
    elif given < rank:
        items = (*items, *[slice(None)] * (rank - given))

    ranges: list[tuple[int, int, int]] = []
    result: list[int] = []
    dropped: list[bool] = []
    for item, extent in zip(items, shape, strict=True):
        if type(item) is slice:
            start, stop, step = item.indices(extent)
            count = len(range(start, stop, step))
            ranges.append((start, count, step) if count else (0, 0, 1))
            result.append(count)
            dropped.append(False)
        else:
            ranges.append((_integer(item, len(ranges), extent), 1, 1))
            dropped.append(True)
    return Region(ranges, tuple(result), tuple(dropped), not ellipses and not result)


def _integer(item: Any, dimension: int, extent: int) -> int:
    if isinstance(item, str):
        raise IndexError(f"dimension {dimension}: cannot index with str {item!r}: {_instead_of_text(item)}")
    refused = "None (np.newaxis)" if item is None else "a boolean" if type(item).__name__ in ("bool", "bool_") else ""
    if not refused:
        try:
            index = operator.index(item)
        except TypeError:
            refused = type(item).__name__
            if isinstance(item, Sequence) or hasattr(item, "__array__"):
                refused += " (array or list indexing)"
    if refused:
        error = IndexError(f"dimension {dimension}: cannot index with {refused}: only integers, slices and '...'")
        error.add_note("Read the region around it and index the NumPy result, or give several regions to read_many.")
        raise error
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {dimension} with size {extent}")
    return index + extent if index < 0 else index


def _instead_of_text(text: str) -> str:
    if not re.fullmatch(r"(-?\d+)?(:(-?\d+)?){1,2}", text):
        return "only integers, slices and '...'"
    return f"write slice({', '.join(part or 'None' for part in text.split(':'))})"


def touched_bytes(ranges: Sequence[tuple[int, int, int]], chunk_shape: Sequence[int], item_bytes: int) -> int:
    """Decoded bytes of the chunks that the ranges may touch (an upper bound)."""
    total = item_bytes
    for (start, count, step), chunk in zip(ranges, chunk_shape, strict=True):
        if count == 0:
            return 0
        last = start + (count - 1) * step
        low, high = (start, last) if last >= start else (last, start)
        total *= (high // chunk - low // chunk + 1) * chunk
    return total
