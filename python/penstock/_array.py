"""Arrays in stores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core, _dtype, _read, _selection
from ._future import Future, submit
from ._node import Node
from ._options import Bytes, Deadline, Decode, Encode, OnError, Progress, options
from ._selection import Region, Selection
from ._write import Casting, Write


class Dimension(NamedTuple):
    """A dimension of an array: element i of it lies at offset + i * scale, in the unit."""

    name: str | None = None
    unit: str = ""
    """"micrometer", "second", ...; empty where it is not said."""
    scale: float | None = None
    offset: float | None = None


class Array(Node[_core.Array]):
    """An array in a store.  Threads may use it together.

    ``a[...]`` reads with NumPy's basic indexing and gives a NumPy array; ``a[...] = v`` writes.  ``read`` and ``write``
    are the same with all choices; ``read_async`` and ``write_async`` return at once.
    """

    def __init__(self, core: _core.Array) -> None:
        super().__init__(core)
        self._last_report: _core.Report | None = None
        self._refresh()

    @classmethod
    def _open(cls, store: _core.Store, path: str) -> Array:
        return Array(_core.Array.open(store, path))

    def _refresh(self) -> None:
        dataset = self._core.dataset
        self._dataset = dataset
        self._vlen = dataset.dtype.is_vlen
        self.dtype: np.dtype[Any] = _dtype.to_numpy(dataset.dtype)
        """Of elements in memory: native byte order; object for variable-length text and bytes."""
        self.shape: tuple[int, ...] = tuple(dataset.shape)
        self.chunks: tuple[int, ...] = tuple(dataset.inner_chunk_shape)
        """Shape of the smallest unit that can be read alone."""

    # What the metadata says.

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, decoded (16 an element for variable length)."""
        return self.size * self._dataset.dtype.size_bytes

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of a shard; None when each chunk is an object of its own."""
        outer = tuple(self._dataset.chunk_shape)
        return outer if self._dataset.is_sharded else None

    @property
    def data_type(self) -> str:
        """Name in zarr v3 ("uint16", "bfloat16", "string"), else a readable one ("S10")."""
        return self._dataset.dtype.name

    @property
    def fill_value(self) -> Any:
        """What absent chunks read as; None where a v2 array has none (they read as zeros)."""
        return _dtype.element_value(self._dataset.fill, self._dataset.dtype)

    @property
    def codecs(self) -> list[dict[str, Any]]:
        """Codecs in encoding order, as zarr v3 spells them."""
        return [{"name": name, "configuration": json.loads(text)} for name, text in self._dataset.codecs]

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        return tuple(self._dataset.dimension_names) or None

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """Name, unit, scale and offset of each dimension, as far as they are known.

        A level of an OME-NGFF image has those of the image; the group above is read for it.
        """
        return tuple(Dimension(*dim) for dim in self._core.dimensions()) or (Dimension(),) * self.ndim

    @property
    def nodata(self) -> Any:
        """The value of elements that were not measured; None where there is none."""
        nodata = self._dataset.nodata
        return None if nodata is None else _dtype.element_value(nodata, self._dataset.dtype)

    @property
    def zarr_format(self) -> int | None:
        """Version of zarr; None for an array of another format (NIfTI)."""
        return self._dataset.zarr_format

    @property
    def last_report(self) -> _core.Report | None:
        """What the last finished operation on this object did: str() is a table, ``.json`` the same for programs."""
        return self._last_report

    def __repr__(self) -> str:
        return f"<penstock.Array {self.url} {self.shape} {self.data_type}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    # Reading.

    def __getitem__(self, selection: Selection) -> Any:
        """NumPy's basic indexing: integers drop their dimension, slices take any step, ``...``.

        shape: that of ``numpy_array[selection]``; one element: a NumPy scalar.
        errors: IndexError; those of ``read``.
        memory: the result, and the working memory of ``read``.
        """
        return self.read(selection)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """All of the array in host memory.  errors: ValueError for copy=False; those of ``read``."""
        if copy is False:
            raise ValueError("an array in a store cannot become a NumPy array without a copy")
        whole: npt.NDArray[Any] = self.read(...)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def read(
        self,
        selection: Selection = ...,
        *,
        out: Any = None,
        device: str | None = None,
        stream: Any = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        on_error: OnError = "fail",
        progress: Progress | None = None,
        decode: Decode | None = None,
        deadline: Deadline | None = None,
        memory: Any = None,
    ) -> Any:
        """Reads a selection.

        selection: as ``__getitem__``; shape of the result: that of ``numpy_array[selection]``.
        out: memory for the result, of exactly its shape and dtype, any strides: a NumPy array, a buffer, or anything
            with ``__dlpack__`` or ``__cuda_array_interface__``.  None: new memory.
        device: "cpu" (default), "cuda", "cuda:1", "auto" (CUDA if there is one).
        stream: CUDA only.  The caller's stream: the result is complete in its order.  None: complete on return.  Given
            as an address (int), it must live as long as the result; a stream object is kept alive.
        budget: working memory beyond the result, bytes or "2GiB"; None: PENSTOCK_BUDGET, else a quarter of free memory.
        threads: None: PENSTOCK_THREADS, else the CPUs that this process may use.
        on_error: "fail", or "fill": a chunk that cannot be decoded reads as the fill value and is listed in
            ``last_report.problems``.
        decode: who decodes, on the way to a device that could: "cpu", "device", "nvcomp", or "auto", what is quicker;
            None: PENSTOCK_DECODE, else "auto".
        deadline: seconds from now, or a timedelta; None: none.
        memory: an allocator for the result and for working memory on its device: a CuPy pool or allocator function,
            ``torch.cuda``, or a penstock.Allocator.  None: penstock's own pools.
        returns: ``out``; else a NumPy array (a scalar for one element), or a DeviceArray on a CUDA device.
        errors: IndexError, FileNotFoundError, OSError, CorruptDataError (key and byte), BudgetError (how much is
            needed), DeviceError, CancelledError, TimeoutError (the deadline); TypeError or ValueError when ``out`` does not fit.
        The result and at most ``budget`` are held.  The GIL is released; Ctrl-C stops the read.
        """
        read = _read.Read(self, _selection.parse(selection, self.shape), out, device, stream, memory)
        return _read.run(
            read,
            options(
                budget,
                threads,
                on_error,
                progress,
                watch=self._is_long(read.region),
                decode=decode,
                deadline=deadline,
                memory=read.memory,
            ),
        )

    def read_async(
        self,
        selection: Selection = ...,
        *,
        out: Any = None,
        device: str | None = None,
        stream: Any = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        on_error: OnError = "fail",
        progress: Progress | None = None,
        decode: Decode | None = None,
        deadline: Deadline | None = None,
        memory: Any = None,
    ) -> Future[Any]:
        """As ``read``, in the background: ``await`` the result, or use it as a ``concurrent.futures.Future``.

        ``asyncio.create_task`` and ``TaskGroup`` take coroutines only: ``asyncio.ensure_future(a.read_async(...))``
        is the task's form, as the read has begun already.
        errors: of the arguments at once, of the read from the future.
        memory: ``out`` is kept alive, and in use, until the future is done.
        """
        read = _read.Read(self, _selection.parse(selection, self.shape), out, device, stream, memory)
        token = _core.CancelToken()
        opts = options(
            budget,
            threads,
            on_error,
            progress,
            token,
            watch=False,
            decode=decode,
            deadline=deadline,
            memory=read.memory,
        )
        return submit(lambda: _read.run(read, opts), token)

    def _is_long(self, region: Region) -> bool:
        touched = _selection.touched_bytes(region.ranges, self.chunks, self._dataset.dtype.size_bytes)
        return touched >= _selection.LONG_BYTES

    # Writing.

    def __setitem__(self, selection: Selection, value: Any) -> None:
        """As ``write``."""
        self.write(selection, value)

    def write(
        self,
        selection: Selection,
        value: Any,
        *,
        casting: Casting = "unsafe",
        stream: Any = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        encode: Encode | None = None,
        deadline: Deadline | None = None,
        memory: Any = None,
    ) -> None:
        """Writes a selection.

        value: broadcast to the selection's shape and cast to the array's dtype, as NumPy's assignment does; CUDA memory
            (``__dlpack__``, ``__cuda_array_interface__``) must have exactly that shape and dtype.
        casting: of values in host memory.  "unsafe", as NumPy's assignment: 300 becomes 44 in uint8; "same_kind" and
            the other rules of ``numpy.can_cast`` raise TypeError instead.
        stream: CUDA only: the stream that makes ``value``.
        encode: who encodes what comes from a device that could: "cpu", "device", or "auto", what is quicker without
            making more bytes; None: PENSTOCK_ENCODE, else "auto".
        deadline: as ``read``; the objects that are written by then stay.  memory: as ``read``, for working memory on
            the value's device.
        errors: those of ``read``; PermissionError when the array was opened read-only.
        At most ``budget`` is held.  Chunks covered in part are read, changed and written; every object is replaced as a
            whole, and a stopped write leaves old or new objects, never half of one.
        """
        write = Write(self, _selection.parse(selection, self.shape), value, stream, casting, memory)
        write.run(
            options(
                budget,
                threads,
                "fail",
                progress,
                watch=self._is_long(write.region),
                encode=encode,
                deadline=deadline,
                memory=write.memory,
            )
        )

    def write_async(
        self,
        selection: Selection,
        value: Any,
        *,
        casting: Casting = "unsafe",
        stream: Any = None,
        budget: Bytes | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        encode: Encode | None = None,
        deadline: Deadline | None = None,
        memory: Any = None,
    ) -> Future[None]:
        """As ``write``, in the background.  ``value`` is kept alive, and must not change, until the future is done."""
        write = Write(self, _selection.parse(selection, self.shape), value, stream, casting, memory)
        token = _core.CancelToken()
        opts = options(
            budget,
            threads,
            "fail",
            progress,
            token,
            watch=False,
            encode=encode,
            deadline=deadline,
            memory=write.memory,
        )
        return submit(lambda: write.run(opts), token)

    # The rest.

    def plan(
        self,
        selection: Selection = ...,
        *,
        device: str | None = None,
        budget: Bytes | None = None,
        threads: int | None = None,
    ) -> _core.Plan:
        """What ``read`` would do, without reading chunks: str() is a table, ``.json`` the same for programs."""
        region = _selection.parse(selection, self.shape)
        is_cuda, index = _core.parse_device(device or "cpu")
        return self._core.plan(region.ranges, is_cuda, index, options(budget, threads))

    def verify(
        self,
        *,
        budget: Bytes | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        deadline: Deadline | None = None,
    ) -> _core.Report:
        """Decodes every chunk; ``problems`` of the report lists those that are wrong.  errors: TimeoutError."""
        report = self._core.verify(options(budget, threads, progress=progress, deadline=deadline))
        self._last_report = report
        return report

    def resize(self, shape: Sequence[int]) -> None:
        """Changes the shape; chunks outside are removed."""
        self._core.resize(list(shape))
        self._refresh()

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        super().set_attributes(attributes)
        self._refresh()
