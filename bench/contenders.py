"""The programs that are compared.  Each is used as its documentation says, told how many cores it has."""

import abc
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

Box = tuple[slice, ...]


class Contender(abc.ABC):
    """One program.  `open` is part of what is timed."""

    def __init__(self, cores: int):
        self.cores = cores

    @abc.abstractmethod
    def version(self) -> str:
        """Name and version."""

    @abc.abstractmethod
    def open(self, path: str):
        """The array at `path`, to be indexed."""

    def read(self, path: str) -> np.ndarray:
        """The whole array in new memory."""
        return self.open(path)[...]

    def read_boxes(self, array, boxes: Sequence[Box]) -> list[np.ndarray]:
        """Each box by itself, one after another, of an array that is open."""
        return [array[box] for box in boxes]

    def read_boxes_together(self, array, boxes: Sequence[Box]) -> list[np.ndarray] | None:
        """All boxes in one request; None where the program has no such call."""
        return None

    @abc.abstractmethod
    def write(self, path: str, metadata: dict, volume: np.ndarray) -> None:
        """A new array at `path`."""


class Penstock(Contender):
    def __init__(self, cores: int):
        super().__init__(cores)
        import penstock

        self.module = penstock

    def version(self) -> str:
        return f"penstock {self.module.__version__}"

    def open(self, path: str):
        return self.module.open(path)

    def read(self, path, **options):
        return self.module.open(path).read(**options) if options else super().read(path)

    def read_boxes_together(self, array, boxes):
        return self.module.read_many([(array, box) for box in boxes])

    def write(self, path, metadata, volume):
        codecs = metadata["codecs"]
        chunks, shards, inner = metadata["chunk_grid"]["configuration"]["chunk_shape"], None, codecs
        if codecs[0]["name"] == "sharding_indexed":
            shards = chunks
            chunks, inner = codecs[0]["configuration"]["chunk_shape"], codecs[0]["configuration"]["codecs"]
        array = self.module.create(
            path,
            shape=volume.shape,
            dtype=volume.dtype,
            chunks=tuple(chunks),
            shards=shards and tuple(shards),
            codecs=[codec for codec in inner if codec["name"] != "bytes"],
        )
        array[...] = volume


class TensorStore(Contender):
    def __init__(self, cores: int):
        super().__init__(cores)
        import tensorstore

        self.module = tensorstore
        self.limits = {"data_copy_concurrency": {"limit": cores}, "file_io_concurrency": {"limit": max(cores, 4)}}

    def version(self) -> str:
        from importlib.metadata import version

        return f"tensorstore {version('tensorstore')}"

    def _open(self, path: str, context: dict, **kwargs):
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}
        spec |= kwargs.pop("spec", {})
        return self.module.open(spec, context=self.module.Context(context), **kwargs).result()

    def open(self, path: str):
        # A cache, so that a shard's index is read once; too small to keep a benchmark's data.
        return self._open(path, self.limits | {"cache_pool": {"total_bytes_limit": 64 << 20}}, read=True)

    def read(self, path: str) -> np.ndarray:
        return self._open(path, self.limits, read=True).read().result()

    def read_boxes(self, array, boxes):
        return [array[box].read().result() for box in boxes]

    def read_boxes_together(self, array, boxes):
        with self.module.Batch() as batch:
            futures = [array[box].read(batch=batch) for box in boxes]
        return [future.result() for future in futures]

    def write(self, path, metadata, volume):
        members = {k: v for k, v in metadata.items() if k not in ("zarr_format", "node_type")}
        self._open(path, self.limits, spec={"metadata": members}, create=True).write(volume).result()


class ZarrPython(Contender):
    pipeline = "zarr.core.codec_pipeline.BatchedCodecPipeline"

    def __init__(self, cores: int):
        super().__init__(cores)
        import zarr

        self.module = zarr
        zarr.config.set({"codec_pipeline.path": self.pipeline, "threading.max_workers": cores})

    def version(self) -> str:
        return f"zarr-python {self.module.__version__}"

    def open(self, path: str):
        return self.module.open_array(path, mode="r")

    def write(self, path, metadata, volume):
        import json

        Path(path).mkdir(parents=True)
        (Path(path) / "zarr.json").write_text(json.dumps(metadata))
        self.module.open_array(path, mode="r+")[...] = volume


class ZarrFused(ZarrPython):
    pipeline = "zarr.core.codec_pipeline.FusedCodecPipeline"

    def __init__(self, cores: int):
        super().__init__(cores)
        from zarr.core.codec_pipeline import FusedCodecPipeline  # noqa: F401  zarr 3.4 and later

    def version(self) -> str:
        return super().version() + ", FusedCodecPipeline"


class ZarrsPython(ZarrPython):
    pipeline = "zarrs.ZarrsCodecPipeline"

    def __init__(self, cores: int):
        os.environ["RAYON_NUM_THREADS"] = str(cores)
        super().__init__(cores)
        import zarrs  # noqa: F401  registers the pipeline

    def version(self) -> str:
        from importlib.metadata import version

        return f"zarrs-python {version('zarrs')} in " + super().version()


class ZarrPenstock(ZarrPython):
    pipeline = "penstock.zarr.CodecPipeline"

    def __init__(self, cores: int):
        super().__init__(cores)
        import penstock.zarr  # noqa: F401  registers it

        self.module.config.set({"codec_pipeline.strict": True})

    def version(self) -> str:
        return super().version() + ", penstock.zarr.CodecPipeline"


CONTENDERS = {
    "penstock": Penstock,
    "tensorstore": TensorStore,
    "zarrs-python": ZarrsPython,
    "zarr-python": ZarrPython,
    "zarr-python-fused": ZarrFused,
    "zarr-python-penstock": ZarrPenstock,
}
