"""Files as KvikIO offers them, over ``penstock/io.hpp``."""

from __future__ import annotations

import atexit
import io
import math
import operator
import os
from types import TracebackType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core, _memory, defaults
from ._io_future import IOFuture, IOFutureStream

PathOrFile = str | os.PathLike[str] | int | io.IOBase
Engine = Literal["auto", "buffered", "direct"]
_HOST = (np.ndarray, bytes, bytearray, memoryview)


class CuFile:
    """A file whose bytes go to and come from memory of the host or of a CUDA device, with all cores.

    file: a path; or a descriptor, or an object with ``fileno()``, which stays the caller's (``flags`` then says nothing).
    flags: "r", "r+", "w" (made, emptied), "w+", "a" (made; offsets of writes count from the end it had), "a+"; "b" is
        ignored.
    reads, writes: "auto" chooses for each request ("direct" where the file offers it and the request is large and, when
        reading, cold); "buffered" goes through the page cache, "direct" past it (O_DIRECT).
    errors: FileNotFoundError, PermissionError, IsADirectoryError, OSError, ValueError, TypeError.

    Every request moves all of its bytes or raises, also where the file ends before.  Thread-safe.
    """

    _future: type[IOFuture] = IOFuture

    def __init__(
        self, file: PathOrFile, flags: str = "r", *, reads: Engine | None = None, writes: Engine | None = None
    ) -> None:
        reads = reads or ("auto" if defaults.get("auto_direct_io_read") else "buffered")
        writes = writes or ("auto" if defaults.get("auto_direct_io_write") else "buffered")
        if isinstance(file, str | os.PathLike):
            self._set(_core.File.open(os.fspath(file), flags, reads, writes))
            return
        if not isinstance(file, int) and not hasattr(file, "fileno"):
            raise TypeError(f"file is a path, a descriptor or an object with fileno(), not {type(file).__name__}")
        number = file if isinstance(file, int) else file.fileno()
        self._set(_core.File.from_descriptor(number, reads, writes))

    def _set(self, core: _core.File) -> None:
        self._core = core
        self._plain = core.start_plain  # looked up once, not for each of thousands of requests

    def pread(self, buf: Any, size: int | None = None, file_offset: int = 0, task_size: int | None = None) -> IOFuture:
        """Starts to read into ``buf``.

        buf: contiguous (C or Fortran order) and writable: NumPy or anything with Python's buffer protocol,
            ``__cuda_array_interface__`` or DLPack.
        size: bytes; default all of ``buf``.  file_offset: byte of the file.
        task_size: bytes of the pieces that threads take; default ``defaults``.
        returns: a future that holds ``buf`` and the file.
        errors: TypeError, ValueError (read-only, not contiguous, ``size`` past the buffer's end, closed).  Of the
            request: OSError (also: the file ends before), PermissionError, DeviceError, MemoryError.
        stream: device memory is written after the work that is now in the stream that ``buf`` names, else in the
            device's default stream; it is complete when the future is done.
        """
        return self._begin(True, buf, size, file_offset, task_size)

    def pread_many(
        self, buf: Any, sizes: npt.ArrayLike, file_offsets: npt.ArrayLike, buf_offsets: npt.ArrayLike | None = None
    ) -> IOFuture:
        """Starts to read many parts of the file into ``buf``: one request, far quicker than one for each small part.

        sizes: bytes of the parts; a number where all are alike.  file_offsets: bytes of the file at which they begin.
        buf_offsets: bytes of ``buf`` that they go to; default one behind the other.  What parts that overlap leave
            there is unspecified.
        buf, returns, errors, stream: as of ``pread``.
        """
        parts = _parts(sizes, file_offsets, buf_offsets)
        threads, piece = defaults._for_requests()
        device = _device_memory(buf, True, None)
        if device is not None:
            address, nbytes, queue, keep = device
            return self._future(self._core.start_device_many(address, nbytes, parts, threads, piece, queue, keep))
        try:
            return self._future(self._core.start_host_many(_shown(buf), parts, threads, piece))
        except BufferError as error:
            raise ValueError(f"buf, {type(buf).__name__}: {error}") from None

    def pwrite(self, buf: Any, size: int | None = None, file_offset: int = 0, task_size: int | None = None) -> IOFuture:
        """Starts to write ``buf``, which must not change before the future is done; as ``pread``.

        Not forced to the disk: see ``flush``.
        """
        return self._begin(False, buf, size, file_offset, task_size)

    def read(self, buf: Any, size: int | None = None, file_offset: int = 0, task_size: int | None = None) -> int:
        """As ``pread``, complete on return.  returns: bytes read, all of them."""
        return self.pread(buf, size, file_offset, task_size).get()

    def write(self, buf: Any, size: int | None = None, file_offset: int = 0, task_size: int | None = None) -> int:
        """As ``pwrite``, complete on return.  returns: bytes written, all of them."""
        return self.pwrite(buf, size, file_offset, task_size).get()

    def raw_read(self, buf: Any, size: int | None = None, file_offset: int = 0, dev_offset: int = 0) -> int:
        """Reads into CUDA memory only, from byte ``dev_offset`` of ``buf`` on.

        errors: as of ``pread``; ValueError for host memory.
        """
        return self._start(True, buf, size, file_offset, dev_offset, None, device_only=True).get()

    def raw_write(self, buf: Any, size: int | None = None, file_offset: int = 0, dev_offset: int = 0) -> int:
        """Writes CUDA memory only; as ``raw_read``."""
        return self._start(False, buf, size, file_offset, dev_offset, None, device_only=True).get()

    def raw_read_async(
        self, buf: Any, stream: Any, size: int | None = None, file_offset: int = 0, dev_offset: int = 0
    ) -> IOFutureStream:
        """As ``raw_read`` in the order of ``stream`` (a cudaStream_t or an object of CuPy, torch, ...).

        It begins when the work that is in the stream now is done, and later work of the stream finds the bytes.  The
        call waits for neither, only for pinned memory when all of it is in use.  Of a request that fails
        ``check_bytes_done`` tells; the stream goes on.
        """
        return self._in_stream(True, buf, stream, size, file_offset, dev_offset)

    def raw_write_async(
        self, buf: Any, stream: Any, size: int | None = None, file_offset: int = 0, dev_offset: int = 0
    ) -> IOFutureStream:
        """As ``raw_write`` in the order of ``stream``: later work of it may change ``buf``; as ``raw_read_async``."""
        return self._in_stream(False, buf, stream, size, file_offset, dev_offset)

    def _in_stream(
        self, reading: bool, buf: Any, stream: Any, size: int | None, file_offset: int, dev_offset: int
    ) -> IOFutureStream:
        return IOFutureStream(
            self._start(
                reading, buf, size, file_offset, dev_offset, None, device_only=True, stream=stream, in_stream=True
            )
        )

    def _begin(self, reading: bool, buf: Any, size: int | None, file_offset: int, task_size: int | None) -> IOFuture:
        """What thousands of small requests take: everything unusual is left to ``_start``."""
        if task_size is None:
            threads, piece = defaults._for_requests()
            if buf is None:
                raise TypeError("buf is None: memory to read into or to write is needed")
            core = self._plain(reading, buf, size, file_offset, threads, piece)
            if core is not None:
                return self._future(core)
        return self._start(reading, buf, size, file_offset, 0, task_size)

    def _start(
        self,
        reading: bool,
        buf: Any,
        size: int | None,
        file_offset: int,
        begin: int,
        task_size: int | None,
        *,
        device_only: bool = False,
        stream: Any = None,
        in_stream: bool = False,
    ) -> IOFuture:
        size = None if size is None else _whole("size", size)
        file_offset, begin = _whole("file_offset", file_offset), _whole("dev_offset", begin)
        threads, piece = defaults._for_requests()
        if task_size is not None:
            piece = defaults._positive(task_size)
        device = _device_memory(buf, reading, stream)
        if device is not None:
            address, nbytes, queue, keep = device
            core = self._core.start_device(
                reading, address, nbytes, size, file_offset, begin, threads, piece, queue, keep, in_stream
            )
        elif device_only:
            raise ValueError("Non-CUDA buffers not supported: raw_read and raw_write take CUDA memory only")
        else:
            core = self._host(reading, buf, size, file_offset, begin, threads, piece)
        return self._future(core)

    def _host(self, reading: bool, buf: Any, *request: Any) -> _core.IoFuture:
        try:
            return self._core.start_host(reading, _shown(buf), *request)
        except BufferError as error:
            raise ValueError(f"buf, {type(buf).__name__}: {error}") from None

    def flush(self) -> None:
        """Forces what was written to the disk.  errors: OSError."""
        self._core.flush()

    def close(self) -> None:
        """Waits for requests under way, then closes; a second call does nothing.  errors: OSError."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def fileno(self) -> int:
        """The file's descriptor.  errors: ValueError (closed)."""
        return self._open_number(self._core.descriptor())

    def open_flags(self) -> int:
        """As the system has them: ``os.O_RDONLY``, ...  errors: ValueError (closed)."""
        return self._open_number(self._core.open_flags())

    def _open_number(self, number: int) -> int:
        if number < 0:
            raise ValueError(f"{self._core.path}: the file is closed")
        return number

    def is_direct_io_supported(self) -> bool:
        """Whether O_DIRECT is to be had for this file, and ``defaults`` do not switch it off for reads and writes."""
        wanted = defaults.get("auto_direct_io_read") or defaults.get("auto_direct_io_write")
        return wanted and any(serves for name, serves, _ in self._core.engines() if name == "direct")

    def engines(self) -> dict[str, tuple[bool, str]]:
        """What every engine says of this file: whether it serves it, and why or why not."""
        return {name: (serves, why) for name, serves, why in self._core.engines()}

    def __enter__(self) -> CuFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<penstock.CuFile {self._core.path}{', closed' if self.closed else ''}>"


def _whole(name: str, given: Any) -> int:
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {type(given).__name__}") from None
    if number < 0:
        raise ValueError(f"{name} is negative: {number}")
    if number >= 1 << 64:
        raise ValueError(f"{name} is {number}: no file and no memory is so large")
    return number


def _parts(sizes: npt.ArrayLike, file_offsets: npt.ArrayLike, buf_offsets: npt.ArrayLike | None) -> Any:
    """Rows of (byte of the file, byte of the buffer, bytes)."""
    offsets = _numbers("file_offsets", file_offsets)
    if offsets.ndim != 1:
        raise ValueError(f"file_offsets have one dimension, not {offsets.ndim}")
    parts = np.empty((offsets.size, 3), np.uint64)
    parts[:, 0] = offsets
    parts[:, 2] = _numbers("sizes", sizes)
    if buf_offsets is not None:
        parts[:, 1] = _numbers("buf_offsets", buf_offsets)
    elif offsets.size:
        parts[0, 1] = 0
        np.cumsum(parts[:-1, 2], out=parts[1:, 1])
    return parts


def _numbers(name: str, given: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    numbers = np.asarray(given)
    if numbers.size == 0:
        return numbers.astype(np.uint64)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} are whole numbers, not {numbers.dtype}")
    if numbers.min() < 0:
        raise ValueError(f"{name} are negative: {numbers.min()}")
    return numbers.astype(np.uint64)


def _shown(buf: Any) -> Any:
    """What shows `buf` by the buffer protocol, which some data types of NumPy and tensors of torch do not have."""
    if isinstance(buf, np.ndarray):
        if buf.dtype.hasobject:
            raise TypeError(f"buf holds {buf.dtype}: Python objects are no bytes")
        if buf.dtype.kind not in "mMV":
            return buf
        layout = buf if buf.flags.c_contiguous else buf.T
        if not layout.flags.c_contiguous:
            raise ValueError("buf is not contiguous")
        return layout.reshape(-1).view(np.uint8)
    if hasattr(buf, "__dlpack__") and not hasattr(buf, "__array_interface__"):
        return np.from_dlpack(buf)
    return buf


def _device_memory(buf: Any, writable: bool, stream: Any) -> tuple[int, int, _core.Stream, Any] | None:
    """Address and bytes of contiguous CUDA memory, the stream to come after, what keeps it; None: host memory."""
    if isinstance(buf, _HOST):
        return None
    interface = getattr(buf, "__cuda_array_interface__", None)
    if interface is None:
        index = _memory.cuda_index(buf)
        if index is None:
            return None
        queue = _memory.own_stream(index) if stream is None else _memory.callers_stream(stream, index)
        tensor = _memory.take_dlpack(buf, "buf", queue)
        if writable and tensor.read_only:
            raise ValueError("buf is read-only")
        if not tensor.contiguous:
            raise ValueError("buf is not contiguous")
        return tensor.address, math.prod(tensor.shape) * tensor.dtype.size_bytes, queue, tensor
    address, read_only = interface["data"]
    if writable and read_only:
        raise ValueError("buf is read-only")
    item_bytes = np.dtype(interface["typestr"]).itemsize
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is not None and not _is_contiguous(shape, tuple(strides), item_bytes):
        raise ValueError("buf is not contiguous")
    index = _core.device_of(address) if address else 0
    named = interface.get("stream") if stream is None else stream
    queue = _memory.callers_stream(0 if named in (None, 1) else named, index)
    return address, math.prod(shape) * item_bytes, queue, (buf, interface)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], item_bytes: int) -> bool:
    """In C or Fortran order; dimensions of one element may lie anyhow."""
    if 0 in shape:
        return True
    for order in (reversed(range(len(shape))), range(len(shape))):
        step = item_bytes
        for d in order:
            if shape[d] != 1 and strides[d] != step:
                break
            step *= shape[d]
        else:
            return True
    return False


def get_page_cache_info(file: PathOrFile, offset: int = 0, length: int = 0) -> tuple[int, int]:
    """Pages of ``length`` bytes (0: all the rest) from ``offset`` on.

    returns: (how many of them are in the page cache, how many there are); (0, 0) past the end.
    errors: OSError, ValueError.
    """
    with CuFile(file) as opened:
        return opened._core.page_cache(offset, length)


def drop_file_page_cache(file: PathOrFile, offset: int = 0, length: int = 0, sync_first: bool = True) -> None:
    """Asks the system to drop those pages; what was written goes to the disk first, with ``sync_first`` or without.

    errors: OSError, ValueError.
    """
    with CuFile(file) as opened:
        opened._core.drop_page_cache(offset, length)


def stream_register(stream: int, flags: int = 0) -> None:
    """Does nothing: penstock needs to know nothing of a stream beforehand."""
    if not isinstance(stream, int) or not 0 <= flags <= 15:
        raise ValueError("stream is a cudaStream_t as an int, flags are from 0 to 15")


def stream_deregister(stream: int) -> None:
    """Does nothing, as ``stream_register``."""
    if not isinstance(stream, int):
        raise ValueError("stream is a cudaStream_t as an int")


def bounce_buffer_free() -> int:
    """returns: 0.  20 ms after the last request no thread has memory of its own; pinned memory belongs to the ring that
    all of penstock shares (setting ``pinned``)."""
    _core.wait_for_io()
    return 0


atexit.register(_core.wait_for_io)  # what was asked to be written is written
