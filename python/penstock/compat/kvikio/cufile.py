"""As ``kvikio.cufile``."""

from penstock._io_future import IOFutureStream
from penstock.compat._kvikio_file import CuFile, IOFuture, drop_file_page_cache, get_page_cache_info

__all__ = ["CuFile", "IOFuture", "IOFutureStream", "drop_file_page_cache", "get_page_cache_info"]
