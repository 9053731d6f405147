"""Streamlines in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from . import _core


class Streamlines(Sequence[np.ndarray]):
    """A sequence of streamlines, each float32 of shape (points, 3), millimetres of the world; views, not copies.

    N streamlines, P points.

    points: (P, 3) float32.
    offsets: (N + 1) uint64: where each begins, then P.
    seeds: (N, 3) float32, mm; seed_index: (N) uint64; length_mm: (N) float32.
    reason: (N, 2) uint8: why the backward and the forward half ended: 0 outside the volume, 1 the stop map, 2 no
        direction within the angle, 3 the greatest length.
    shape, affine: of the image: three extents, and (4, 4) float64, voxel to mm.
    summary: what tracking gave; None of a part or a chunk.
    """

    def __init__(
        self,
        points: np.ndarray,
        offsets: np.ndarray,
        seeds: np.ndarray,
        seed_index: np.ndarray,
        length_mm: np.ndarray,
        reason: np.ndarray,
        dims: Sequence[int],
        world_from_voxel: Sequence[float],
    ) -> None:
        self.points, self.offsets = points, offsets
        self.seeds, self.seed_index, self.length_mm, self.reason = seeds, seed_index, length_mm, reason
        self.shape = tuple(dims)
        self.affine = np.vstack([np.reshape(world_from_voxel, (3, 4)), [0, 0, 0, 1]])
        self.summary: _core.TrackSummary | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | np.ndarray) -> Streamlines: ...
    def __getitem__(self, index: Any) -> np.ndarray | Streamlines:
        """One streamline, or some of them (a slice, numbers or a mask) as new ones."""
        if isinstance(index, int | np.integer):
            number = int(index) + (len(self) if index < 0 else 0)
            if not 0 <= number < len(self):
                raise IndexError(f"streamline {index} of {len(self)}")
            return self.points[self.offsets[number] : self.offsets[number + 1]]
        chosen = np.arange(len(self))[index]
        counts = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts, dtype=np.uint64)])
        points = np.concatenate([self[int(i)] for i in chosen]) if len(chosen) else self.points[:0]
        return Streamlines(
            points,
            offsets,
            self.seeds[chosen],
            self.seed_index[chosen],
            self.length_mm[chosen],
            self.reason[chosen],
            self.shape,
            self.affine[:3].ravel().tolist(),
        )

    def __iter__(self) -> Iterator[np.ndarray]:
        for i in range(len(self)):
            yield self[i]

    def __repr__(self) -> str:
        return f"<penstock.Streamlines: {len(self)} with {len(self.points)} points>"

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes a .trx, .trk or .tck file, as ``track`` would have.  Raises FileExistsError unless force."""
        _core.save_streamlines(
            os.fspath(path),
            np.ascontiguousarray(self.points),
            np.ascontiguousarray(self.offsets),
            np.ascontiguousarray(self.seeds),
            np.ascontiguousarray(self.seed_index),
            np.ascontiguousarray(self.length_mm),
            np.ascontiguousarray(self.reason),
            list(self.shape),
            self.affine[:3].ravel().tolist(),
            force,
        )
