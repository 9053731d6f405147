"""Chunked scientific arrays, from storage to the processor and back.

>>> import penstock as ps
>>> a = ps.open("vol.zarr")            # Array, Group or Image
>>> x = a[100:200, ::2, -1]            # NumPy
>>> g = a.read(device="cuda")          # DLPack, __cuda_array_interface__
>>> print(a.last_report)
"""

from . import _core, defaults
from ._allocator import Allocator
from ._api import consolidate, copy, create, create_group, validate_ngff, write_label, write_pyramid
from ._array import Array, Dimension
from ._cog import write_cog
from ._core import (
    Axis,
    ChunkProblem,
    DeviceInfo,
    Plan,
    Report,
    StageReport,
    Stream,
    TrackSummary,
    cuda_unavailable_reason,
    devices,
)
from ._cufile import CuFile
from ._errors import (
    BudgetError,
    CancelledError,
    ChangedError,
    CorruptDataError,
    DeviceError,
    MetadataError,
    PenstockError,
    UnsupportedError,
)
from ._future import Future
from ._group import Group, Image, open
from ._io_future import IOFuture, IOFutureStream
from ._raster import CRS, BandInfo, Bounds, GroundControlPoint, Raster, Transform
from ._read import read_many
from ._streamlines import Streamlines
from ._tensor import DeviceArray, Tensor, asarray
from ._track import TrackHow, fit_dwi, from_dipy, sphere_directions, track, track_chunks

__version__ = _core.version()

__all__ = [
    "Allocator",
    "Array",
    "Axis",
    "BandInfo",
    "Bounds",
    "BudgetError",
    "CRS",
    "CancelledError",
    "ChangedError",
    "ChunkProblem",
    "CorruptDataError",
    "CuFile",
    "DeviceArray",
    "DeviceError",
    "DeviceInfo",
    "Dimension",
    "Future",
    "GroundControlPoint",
    "Group",
    "IOFuture",
    "IOFutureStream",
    "Image",
    "MetadataError",
    "PenstockError",
    "Plan",
    "Raster",
    "Report",
    "StageReport",
    "Stream",
    "Streamlines",
    "Tensor",
    "TrackHow",
    "TrackSummary",
    "Transform",
    "UnsupportedError",
    "__version__",
    "asarray",
    "consolidate",
    "copy",
    "create",
    "create_group",
    "cuda_unavailable_reason",
    "defaults",
    "devices",
    "fit_dwi",
    "from_dipy",
    "open",
    "read_many",
    "sphere_directions",
    "track",
    "track_chunks",
    "validate_ngff",
    "write_cog",
    "write_label",
    "write_pyramid",
]
