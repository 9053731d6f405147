"""python -m penstock.compat.kvikio PROGRAM [ARGUMENT...], or -m MODULE [ARGUMENT...]"""

from __future__ import annotations

import pathlib
import runpy
import sys

from penstock.compat.kvikio import install


def main() -> None:
    arguments = sys.argv[1:]
    is_module = arguments[:1] == ["-m"]
    if is_module:
        arguments = arguments[1:]
    if not arguments:
        sys.exit("usage: python -m penstock.compat.kvikio PROGRAM [ARGUMENT...] | -m MODULE [ARGUMENT...]")
    install()
    sys.argv = arguments
    if is_module:
        sys.path[0] = ""
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(pathlib.Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
