"""As ``kvikio.zarr``.  errors: ImportError (no zarr-python, or one before 3)."""

try:
    import zarr as _zarr
except ImportError as error:
    raise ImportError("kvikio.zarr needs the package 'zarr', version 3 or later") from error
if int(_zarr.__version__.split(".")[0]) < 3:
    raise ImportError(f"kvikio.zarr needs zarr >= 3, and {_zarr.__version__} is installed")

from penstock._gds_store import GDSStore

__all__ = ["GDSStore"]
