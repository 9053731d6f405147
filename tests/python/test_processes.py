"""Ctrl-C, fork, and the end of the interpreter: each in a process of its own, with a limit on its time."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from support import slow_array

HERE = str(pathlib.Path(__file__).parent)


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    # A process that a shell put into the background ignores Ctrl-C, and its children with it: tests run there too.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.path.insert(0, sys.argv[1]); import penstock, numpy as np\n" + textwrap.dedent(code)
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, HERE, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], limit: float = 60) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"still running after {limit} s\n{out}\n{err}")
    return process.returncode, out, err


def run(code: str, *arguments: object) -> str:
    status, out, err = finish(start(code, *arguments))
    assert status == 0, f"exit status {status}\n{out}\n{err}"
    return out


INTERRUPTED = {
    "read": "a.read(np.s_[::64])",
    "getitem": "a[::64]",
    "verify": "a.verify()",
    "read_many": "penstock.read_many([(a, np.s_[::64]), (a, np.s_[::128])])",
    "copy": "penstock.copy(a, sys.argv[2] + '-copy', codecs=[])",
    "write": "b = penstock.create(sys.argv[2] + '-w', shape=(600, 1024, 1024), dtype='u1', chunks=(1, 1024, 1024),"
    " codecs=a.codecs[1:]); b[...] = np.random.default_rng(0).integers(0, 256, (1024, 1024), 'u1')",
    "await": "import asyncio; asyncio.run(main())",
}


@pytest.mark.parametrize("what", INTERRUPTED)
def test_ctrl_c_stops_it(tmp_path: pathlib.Path, what: str) -> None:
    slow_array(tmp_path / "slow", seconds=60)
    code = f"""
        import time
        a = penstock.open(sys.argv[2])
        async def main():
            await a.read_async(np.s_[::64])
        print("go", flush=True)
        try:
            {INTERRUPTED[what]}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(int(a[0, 0]), "still works")
    """
    process = start(code, tmp_path / "slow")
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    status, out, err = finish(process)
    assert status == 0 and out.startswith("interrupted") and "still works" in out, f"{status}\n{out}\n{err}"
    assert time.monotonic() - began < 5


def test_a_signal_handler_that_reads(tmp_path: pathlib.Path) -> None:
    slow_array(tmp_path / "slow", seconds=2)
    out = run(
        """
        import signal
        a = penstock.open(sys.argv[2])
        signal.signal(signal.SIGALRM, lambda *_: print("read", a[:2000, ::64].shape))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        print(a[::64].shape)
        """,
        tmp_path / "slow",
    )
    assert out == "read (2000, 16)\n(320, 1024)\n"


def test_fork_before_the_first_read(tmp_path: pathlib.Path) -> None:
    slow_array(tmp_path / "slow", seconds=0.2)
    out = run(
        """
        import multiprocessing
        def work(i):
            return a[i::64].shape, a.read_async(0).result(30).shape
        a = penstock.open(sys.argv[2])
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(work, range(4))[3])
            print(a[::64].shape)
        """,
        tmp_path / "slow",
    )
    assert out == "((32, 1024), (1024,))\n(32, 1024)\n"


@pytest.mark.parametrize("call", ["a[0]", "a.read_async(0)", "penstock.open(sys.argv[2])", "a.verify()", "a[::64]"])
def test_fork_after_a_read_is_refused_at_once(tmp_path: pathlib.Path, call: str) -> None:
    slow_array(tmp_path / "slow", seconds=0.2)
    out = run(
        f"""
        import os
        a = penstock.open(sys.argv[2])
        a[::64]
        child = os.fork()
        if child == 0:
            try:
                {call}
            except RuntimeError as error:
                print("forked" in str(error), "spawn" in error.__notes__[0], a.shape, flush=True)
            sys.exit(3)  # the interpreter ends in the usual way
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), a[0].shape, flush=True)
        """,
        tmp_path / "slow",
    )
    assert out == "True True (2048, 1024)\n3 (1024,)\n"


def test_fork_while_another_thread_reads(tmp_path: pathlib.Path) -> None:
    slow_array(tmp_path / "slow", seconds=2)
    out = run(
        """
        import os
        a = penstock.open(sys.argv[2])
        future = a.read_async(np.s_[::64])
        while not future.running():
            pass
        child = os.fork()
        if child == 0:
            try:
                a[0]
            except RuntimeError as error:
                print("forked" in str(error), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(future.result().shape, flush=True)
        """,
        tmp_path / "slow",
    )
    assert out == "True\n(320, 1024)\n"


def test_spawned_processes_read(tmp_path: pathlib.Path) -> None:
    slow_array(tmp_path / "slow", seconds=0.2)
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, sys, penstock\n"
        "def work(path):\n    return penstock.open(path)[::64].shape\n"
        "if __name__ == '__main__':\n"
        "    penstock.open(sys.argv[1])[::64]\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [sys.argv[1]]))\n"
    )
    out = subprocess.run(
        [sys.executable, script, tmp_path / "slow"], capture_output=True, text=True, timeout=60, check=True
    )
    assert out.stdout == "[(32, 1024)]\n"


def test_the_interpreter_ends_with_work_under_way(tmp_path: pathlib.Path) -> None:
    slow_array(tmp_path / "slow", seconds=1)
    out = run(
        """
        a = penstock.open(sys.argv[2])
        a.read_async(np.s_[::64]).add_done_callback(lambda f: print(f.result().shape, flush=True))
        """,
        tmp_path / "slow",
    )
    assert out == "(160, 1024)\n"


def test_import_starts_nothing() -> None:
    code = "import os, sys, numpy; n = len(os.listdir('/proc/self/task')); import penstock;"
    code += " print(len(os.listdir('/proc/self/task')) - n)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0\n"


def test_processes_leave_no_children() -> None:
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
