"""`python -m penstock`: the command of the package."""

import os
import sys

program = os.path.join(os.path.dirname(__file__), "bin", "penstock")
os.execv(program, ["penstock", *sys.argv[1:]])
