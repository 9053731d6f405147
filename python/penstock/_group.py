"""Groups, OME-NGFF images, and opening whatever is at a URL."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from . import _core
from ._array import Array
from ._create import ArraySpec
from ._errors import UnsupportedError
from ._node import Node, attributes_json
from ._options import Durable, Links
from ._raster import Raster
from ._url import Mode, checked_mode, checked_options, location


def open(
    url: str | os.PathLike[str] | Any,
    mode: Mode = "r",
    *,
    durable: Durable | None = None,
    links: Links | None = None,
    options: Mapping[str, str] | None = None,
) -> Array | Group | Image:
    """Opens an array, an OME-NGFF image or a group.

    url: a path ("vol.zarr", "vol.zarr/0", "vol.zip"), "file://...", "memory://name"; or a zarr.Array, zarr.Group,
        LocalStore or ZipStore of zarr-python: what is at its path.
    mode: "r" reads only, "r+" also writes, and so does "a"; ``create`` makes what is new.
    durable: what is safe from a power cut when a write returns: "none", "metadata" (documents, and what was written
        before them) or "all"; None: the setting.
    links: "follow" follows every symbolic link of a directory, "inside" refuses one that leads out of the store
        (PermissionError); None: the setting.
    options: what the kind of store is told beyond the URL, by name; those built in so far have none.  No message holds
        a value of them, nor a password or a signature of the URL.
    returns: an Array (a Raster when it is a GeoTIFF); an Image when the group's metadata describes exactly one multiscale image; else a Group.
    errors: FileNotFoundError, PermissionError, MetadataError (names file and member), UnsupportedError (names the
        extension), ValueError (an option that the store does not have).
    """
    told = checked_options(options)
    return wrap(_core.open(location(url), "r" if checked_mode(mode) == "r" else "r+", durable, links, told))


def wrap(node: _core.Array | _core.Group) -> Array | Group | Image:
    if isinstance(node, _core.Array):
        return Raster(node) if _core.is_raster(node) else Array(node)
    try:
        images = node.multiscales()
    except UnsupportedError:  # images of a later OME-NGFF; ``Group.images`` says so
        return Group(node)
    return Image(node, images[0]) if len(images) == 1 else Group(node)


class Group(Node[_core.Group]):
    """A group in a store: a mapping of names to its direct members, and of paths ("a/b") to those below."""

    def __init__(self, core: _core.Group) -> None:
        super().__init__(core)
        self._last_report: _core.Report | None = None

    @property
    def last_report(self) -> _core.Report | None:
        """What the copy that made this group did."""
        return self._last_report

    @classmethod
    def _open(cls, store: _core.Store, path: str) -> Array | Group | Image:
        return wrap(_core.Group.open(store, path))

    def __getitem__(self, path: str) -> Array | Group | Image:
        """The member at a path relative to this group.  errors: KeyError; those of ``open``."""
        try:
            return wrap(_core.open_node(self._core.store, self._join(path)))
        except FileNotFoundError:
            raise KeyError(path) from None

    def _join(self, path: str) -> str:
        if not isinstance(path, str):
            raise TypeError(f"a member of a group is named by text, not {type(path).__name__}")
        path = path.strip("/")
        if not path:
            raise KeyError(path)
        return f"{self._core.path}/{path}" if self._core.path else path

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError("a group is not an array; name a member: group['name']")

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        try:
            self[path]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._core.members())

    def keys(self) -> list[str]:
        """Names of the direct members, sorted."""
        return [name for name, _ in self._core.members()]

    def items(self) -> list[tuple[str, Array | Group | Image]]:
        """Names and members, sorted; where the store is far away, all are asked for together.  errors: of ``open``."""
        return [(name, wrap(node)) for name, node in self._core.open_members()]

    def values(self) -> list[Array | Group | Image]:
        """The members of ``items``."""
        return [member for _, member in self.items()]

    def _open_together(self, paths: Sequence[str]) -> list[Array | Group | Image]:
        """The members at these paths.  errors: as of ``self[path]``."""
        try:
            nodes = _core.open_nodes(self._core.store, [self._join(path) for path in paths])
        except FileNotFoundError as error:
            raise KeyError(str(error)) from None
        return [wrap(node) for node in nodes]

    @property
    def zarr_format(self) -> int:
        return self._core.zarr_format

    @property
    def images(self) -> list[Image]:
        """The OME-NGFF multiscale images that this group's metadata describes."""
        return [Image(self._core, image) for image in self._core.multiscales()]

    def consolidate(self) -> None:
        """Writes the metadata of all that is below once more into this group's, for programs that open it with one
        read.  Every change by penstock makes them anew.  errors: PermissionError when it was opened read-only."""
        self._core.consolidate()

    def create_array(self, path: str, **spec: Any) -> Array:
        """Makes an array below this group; arguments as ``penstock.create``, of this group's zarr format."""
        overwrite = bool(spec.pop("overwrite", False))
        made = ArraySpec(**{"zarr_format": self.zarr_format, **spec})
        return Array(_core.Array.create(self._core.store, self._join(path), made.dataset(), overwrite))

    def create_group(self, path: str, *, attributes: Mapping[str, Any] | None = None, overwrite: bool = False) -> Group:
        """Makes a group below this one.  errors: FileExistsError."""
        text = attributes_json(attributes)
        return Group(_core.Group.create(self._core.store, self._join(path), self.zarr_format, text, overwrite))

    def __repr__(self) -> str:
        return f"<penstock.Group {self.url}>"


class Image(Group):
    """An OME-NGFF multiscale image: ``image[0]`` is its finest level, an Array.  Also the group that holds it."""

    def __init__(self, core: _core.Group, image: _core.Multiscale) -> None:
        super().__init__(core)
        self._image = image

    def __getitem__(self, level: int | str) -> Any:
        """A level by number (negative: from the coarsest), or a member of the group by path."""
        if isinstance(level, str):
            return super().__getitem__(level)
        try:
            level = operator.index(level)
        except TypeError:
            raise TypeError("an image is indexed by level: image[0][...]") from None
        count = len(self._image.levels)
        if not -count <= level < count:
            raise IndexError(f"level {level}: the image has {count}")
        return super().__getitem__(self._image.levels[level].path)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError("an image is not an array; name a level: image[0]")

    @property
    def levels(self) -> list[Array]:
        """All levels, finest first."""
        return self._open_together([level.path for level in self._image.levels])  # type: ignore[return-value]

    @property
    def axes(self) -> list[_core.Axis]:
        """Name, type and unit of each dimension."""
        return list(self._image.axes)

    @property
    def scales(self) -> list[tuple[float, ...]]:
        """For every level, the size of an element along each axis, in the axis' unit."""
        return [tuple(level.scale) for level in self._image.levels]

    @property
    def scale(self) -> tuple[float, ...]:
        """That of the finest level."""
        return self.scales[0]

    @property
    def translations(self) -> list[tuple[float, ...]]:
        """For every level, the position of its first element, in the axes' units."""
        return [tuple(level.translation) for level in self._image.levels]

    @property
    def name(self) -> str:
        return self._image.name

    @property
    def version(self) -> str:
        """Of OME-NGFF: "0.4", "0.5"."""
        return self._image.version

    @property
    def labels(self) -> dict[str, Image]:
        """Label images of this image, by name."""
        try:
            group = _core.Group.open(self._core.store, self._join("labels"))
        except FileNotFoundError:
            return {}
        attributes = json.loads(group.attributes)
        names: Sequence[str] = attributes.get("ome", attributes).get("labels", [])
        nodes = Group(group)._open_together(names)
        return {name: node for name, node in zip(names, nodes, strict=True) if isinstance(node, Image)}

    def __repr__(self) -> str:
        axes = "".join(axis.name for axis in self._image.axes)
        return f"<penstock.Image {self.url} {axes}, {len(self._image.levels)} levels>"
