"""Runs a command on a terminal of some columns and prints what it printed: terminal.py COLUMNS COMMAND..."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

controller, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
process = subprocess.Popen(sys.argv[2:], stdout=terminal, stderr=terminal, env={**os.environ, "NO_COLOR": "1"})
os.close(terminal)
text = b""
while True:
    try:
        part = os.read(controller, 65536)
    except OSError:  # nobody has the terminal open any more
        break
    if not part:
        break
    text += part
print(text.decode().replace("\r\n", "\n"), end="")
sys.exit(process.wait())
