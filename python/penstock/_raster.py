"""Rasters: GeoTIFF files as arrays (band, y, x) on the ground."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _core
from ._array import Array
from ._node import _reopen


class Transform(NamedTuple):
    """x = a * column + b * row + c, y = d * column + e * row + f, in the units of the CRS; column 0, row 0 is the outer
    corner of the first pixel.  The order of rasterio: ``affine.Affine(*transform)``."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float


class Bounds(NamedTuple):
    """A rectangle on the ground, in the units of the CRS."""

    left: float
    bottom: float
    right: float
    top: float


class GroundControlPoint(NamedTuple):
    """Where a place of the raster (in pixels; 0 is an outer edge) lies on the ground."""

    row: float
    col: float
    x: float
    y: float
    z: float


class BandInfo(NamedTuple):
    """What the file says of a band; ``tags``: names and texts; ``domains``: those of GDAL's other domains; ``color``: what
    it shows ("gray", "palette", "red", "green", "blue", "alpha", "premultiplied alpha", "undefined", ...; "": not said)."""

    scale: float
    offset: float
    unit: str
    description: str
    tags: dict[str, str]
    domains: dict[str, dict[str, str]]
    color: str


class CRS:
    """A coordinate reference system, as far as the file names it.  ``str`` gives "EPSG:32633"."""

    def __init__(self, core: _core.Crs) -> None:
        self._core = core

    @property
    def epsg(self) -> int | None:
        """EPSG code of the projected or geographic system; None where the file names none."""
        return self._core.epsg

    @property
    def vertical_epsg(self) -> int | None:
        return self._core.vertical_epsg

    @property
    def name(self) -> str:
        """What the file calls it; may be empty."""
        return self._core.name

    @property
    def wkt(self) -> str:
        """Well-known text (WKT2:2019) of all that the file says: codes, or a system that it defines by parameters, and the
        vertical system.  By libproj.

        errors: UnsupportedError (libproj is not found; the system has no more than a name; a method or unit that PROJ does
            not know); MetadataError (parameters that are missing or no numbers); FileNotFoundError (PROJ's database
            does not have a code).  They name the key.
        """
        return self._core.wkt()

    def to_epsg(self) -> int | None:
        """As rasterio's: ``epsg``."""
        return self.epsg

    def to_wkt(self) -> str:
        """As rasterio's: ``wkt``."""
        return self.wkt

    def _identity(self) -> tuple[Any, ...]:
        """What makes two of them the same: a code says all, parameters do where there is none, a name where nothing is known."""
        keys = self._core.keys
        definition = None if keys is None else (tuple(keys[0]), tuple(keys[1]), keys[2])
        return self.epsg, self.vertical_epsg, definition, self.name if self.epsg is None else ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CRS):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __str__(self) -> str:
        return self.name if self.epsg is None else f"EPSG:{self.epsg}"

    def __repr__(self) -> str:
        return f"<penstock.CRS {self}>"


class Raster(Array):
    """A raster file (TIFF, GeoTIFF, COG) as an array (band, y, x), whatever the file's own order is, read as any Array.

    Names are those of rasterio where it has one.  Elements are as stored: nothing masks or scales them.  What lies
    beside the elements is read when it is first asked for.
    """

    def __init__(self, core: _core.Array, raster: _core.Raster | None = None, level: int = 0) -> None:
        super().__init__(core)
        self._raster_core = raster
        self._level = level

    @classmethod
    def _open(cls, store: _core.Store, path: str) -> Raster:
        return Raster(_core.Array.open(store, path))

    @property
    def _raster(self) -> _core.Raster:
        if self._raster_core is None:
            self._raster_core = _core.Raster.open(self._core.store, self._core.path)
        return self._raster_core

    @property
    def level(self) -> int:
        """0 of the image itself, 1 and above of its overviews."""
        return self._level

    @property
    def levels(self) -> tuple[Raster, ...]:
        """The image and its overviews, finest first; ``levels[0]`` is the image.  errors: UnsupportedError (an overview
        that cannot be read)."""
        return tuple(self._at(k) for k in range(self._raster.level_count))

    def _at(self, level: int) -> Raster:
        return Raster(self._raster.level(level), self._raster, level)

    def level_for(self, resolution: float) -> Raster:
        """The coarsest level whose pixels are no larger than ``resolution``, in the units of the CRS (of pixels of the
        image where there is no transform); the image where even its pixels are larger.  errors: ValueError."""
        return self._at(self._raster.level_for(resolution))

    @property
    def mask(self) -> Array | None:
        """The mask that the file holds for this level: (1, y, x), uint8, 0 where there is nothing to see, else 255.
        None where it holds none; nodata is not looked at."""
        mask = self._raster.mask(self._level)
        return None if mask is None else Array(mask)

    @property
    def transform(self) -> Transform | None:
        """Ground from (column, row) of this level; None where the file does not say, or only by ``gcps``."""
        transform = self._raster.transform(self._level)
        return None if transform is None else Transform(*transform)

    @property
    def bounds(self) -> Bounds | None:
        """What the corners enclose; None without a transform."""
        bounds = self._raster.bounds()
        return None if bounds is None else Bounds(*bounds)

    @property
    def crs(self) -> CRS | None:
        """None where the file does not say."""
        crs = self._raster.info.crs
        return None if crs is None else CRS(crs)

    @property
    def gcps(self) -> tuple[GroundControlPoint, ...]:
        """Ground control points, in pixels of the image."""
        return tuple(GroundControlPoint(p.row, p.column, p.x, p.y, p.z) for p in self._raster.info.gcps)

    @property
    def bands(self) -> tuple[BandInfo, ...]:
        return tuple(
            BandInfo(b.scale, b.offset, b.unit, b.description, dict(b.tags), _domains(b.domains), b.color)
            for b in self._raster.info.bands
        )

    @property
    def scales(self) -> tuple[float, ...]:
        """One a band: a value is scale * element + offset."""
        return tuple(band.scale for band in self._raster.info.bands)

    @property
    def offsets(self) -> tuple[float, ...]:
        """One a band."""
        return tuple(band.offset for band in self._raster.info.bands)

    @property
    def units(self) -> tuple[str, ...]:
        """Of the values, one a band; "" where the file does not say."""
        return tuple(band.unit for band in self._raster.info.bands)

    @property
    def descriptions(self) -> tuple[str, ...]:
        """One a band; "" where the file does not say."""
        return tuple(band.description for band in self._raster.info.bands)

    @property
    def colorinterp(self) -> tuple[str, ...]:
        """What each band shows: "gray", "palette", "red", "green", "blue", "alpha", "premultiplied alpha", "cyan",
        "magenta", "yellow", "black", "undefined"; "" where the file does not say."""
        return tuple(band.color for band in self._raster.info.bands)

    @property
    def colormap(self) -> dict[int, tuple[int, int, int]] | None:
        """Red, green and blue (0 to 255) of each value of a band of color "palette"; None: there is no such band.  Nothing
        is looked up by reading."""
        colors = self._raster.info.colormap
        deep = any(value > 255 for color in colors for value in color)  # some writers put 8 bits into the 16
        by = 257 if deep else 1
        return {i: (r // by, g // by, b // by) for i, (r, g, b) in enumerate(colors)} if colors else None

    @property
    def rpc(self) -> tuple[float, ...] | None:
        """Rational polynomial coefficients: the 92 numbers of the TIFF field 50844, in its order; None: there are none."""
        return tuple(self._raster.info.rpc) or None

    @property
    def domains(self) -> dict[str, dict[str, str]]:
        """GDAL's metadata of other domains than the default one.  (rasterio: ``dataset.tags(ns=...)``)"""
        return _domains(self._raster.info.domains)

    @property
    def tags(self) -> dict[str, str]:
        """Texts of the file and GDAL's metadata of the default domain.  (rasterio: ``dataset.tags()``)"""
        return dict(self._raster.info.tags)

    @property
    def other_images(self) -> tuple[str, ...]:
        """Images of the file that are neither a level nor a mask, and are not read: "IFD at byte 4711: 3 x 100 x 200"."""
        return tuple(self._raster.info.other_images)

    @property
    def other_fields(self) -> tuple[str, ...]:
        """Fields of the image that are not read, and that no copy keeps: "EXIF (field 34665)"."""
        return tuple(self._raster.info.other_fields)

    @property
    def sidecars(self) -> tuple[str, ...]:
        """Files beside it that GDAL reads with it (overviews, masks, metadata), and that are not read: "dem.tif.ovr"."""
        return tuple(self._raster.info.sidecars)

    def window(self, left: float, bottom: float, right: float, top: float) -> tuple[slice, slice, slice]:
        """The selection (band, y, x) of all pixels of this level that touch a rectangle on the ground:
        ``raster[raster.window(*bounds)]``.  What lies outside is cut off.
        errors: ValueError (nothing of it lies inside, or there is no transform)."""
        bands, rows, columns = self._raster.window(left, bottom, right, top, self._level)
        return slice(*bands), slice(*rows), slice(*columns)

    def __reduce__(self) -> tuple[Any, ...]:
        reopen, arguments = super().__reduce__()
        return (reopen, arguments) if self._level == 0 else (_level_of, (arguments, self._level))

    def __repr__(self) -> str:
        level = f" level {self._level}" if self._level else ""
        return f"<penstock.Raster {self.url}{level} {self.shape} {self.data_type}>"


def _domains(domains: Any) -> dict[str, dict[str, str]]:
    return {name: dict(tags) for name, tags in domains}


def _level_of(arguments: tuple[Any, ...], level: int) -> Any:
    raster: Raster = _reopen(*arguments)
    return raster._at(level)
