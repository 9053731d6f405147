"""What it costs to have written data on the disk: penstock with each `durable`, beside tensorstore with file_io_sync on
(its default) and off.

    durable.py DIR [--rounds N] [--mib N]    times the writing of a new array below DIR; writes bench/results/durable-*.json

All in one run, one after the other in every round; a time is the median of the rounds.
"""

import argparse
import importlib.metadata
import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import record
import tensorstore

import penstock

EDGE = 64
CODECS = {"raw": [], "zstd": [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}]}
LAYOUTS = {"chunks of 512 KiB": (EDGE, EDGE, EDGE), "chunks of 64 KiB": (EDGE // 2,) * 3}


def values(mib: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    planes = mib * 2**20 // (2 * 256 * 256)
    smooth = np.linspace(0, 4000, 256 * 256, dtype="f4").reshape(256, 256)
    return (smooth + rng.normal(100, 20, (planes, 256, 256))).astype("u2")


def with_penstock(durable: str) -> Callable[[str, np.ndarray, tuple[int, ...], list], None]:
    def write(path: str, data: np.ndarray, chunks: tuple[int, ...], codecs: list) -> None:
        array = penstock.create(path, shape=data.shape, dtype="u2", chunks=chunks, codecs=codecs, durable=durable)
        array[...] = data
        array.flush()

    return write


def with_tensorstore(sync: bool) -> Callable[[str, np.ndarray, tuple[int, ...], list], None]:
    def write(path: str, data: np.ndarray, chunks: tuple[int, ...], codecs: list) -> None:
        bytes_codec = {"name": "bytes", "configuration": {"endian": "little"}}
        zstd = [{"name": "zstd", "configuration": {"level": 3}}] if codecs else []
        spec = {
            "driver": "zarr3",
            "kvstore": {"driver": "file", "path": path},
            "context": {"file_io_sync": sync},
            "metadata": {
                "shape": data.shape,
                "data_type": "uint16",
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                "codecs": [bytes_codec, *zstd],
            },
        }
        tensorstore.open(spec, create=True).result().write(data).result()

    return write


WRITERS = {
    "penstock none": with_penstock("none"),
    "penstock metadata": with_penstock("metadata"),
    "penstock all": with_penstock("all"),
    "tensorstore file_io_sync off": with_tensorstore(False),
    "tensorstore": with_tensorstore(True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=64)
    given = parser.parse_args()
    data = values(given.mib)
    rows = []
    for layout, chunks in LAYOUTS.items():
        for codec, codecs in CODECS.items():
            seconds: dict[str, list[float]] = {name: [] for name in WRITERS}
            for _ in range(given.rounds):
                for name, write in WRITERS.items():
                    path = given.dir.resolve() / "penstock-durable.zarr"
                    os.sync()  # what others have written is not waited for
                    start = time.perf_counter()
                    write(str(path), data, chunks, codecs)
                    seconds[name].append(time.perf_counter() - start)
                    shutil.rmtree(path)
            row = {name: statistics.median(times) for name, times in seconds.items()}
            rows.append({"layout": layout, "codec": codec, "seconds": row})
            print(
                f"{layout}, {codec}: " + ", ".join(f"{name} {s * 1000:.0f} ms" for name, s in row.items()), flush=True
            )
    cores = len(os.sched_getaffinity(0))
    content = {
        "mib": given.mib,
        "rounds": given.rounds,
        "tensorstore": importlib.metadata.version("tensorstore"),
        "rows": rows,
    }
    print(record.save("durable", cores, content))


if __name__ == "__main__":
    main()
