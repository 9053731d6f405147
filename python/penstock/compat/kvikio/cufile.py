"""As ``kvikio.cufile``."""

from penstock._cufile import drop_file_page_cache, get_page_cache_info
from penstock._io_future import IOFutureStream
from penstock.compat._kvikio_file import CuFile, IOFuture

__all__ = ["CuFile", "IOFuture", "IOFutureStream", "drop_file_page_cache", "get_page_cache_info"]
