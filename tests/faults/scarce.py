"""Runs the command, and work of the library, where memory or threads run out: never an end by a signal, nor a hang.

scarce.py allocations|threads PENSTOCK WORK LIBRARY: LIBRARY is built from scarce.cpp, WORK from scarce_work.cpp.
`allocations` fails every allocation in turn, `threads` every creation of a thread, and all beyond a limit.
"""

import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable

OUT_OF_MEMORY = 71
NEVER = 1 << 40
SOURCE = pathlib.Path(__file__).parents[1] / "golden/stores/v3.zarr/u16"
FORTRAN = pathlib.Path(__file__).parents[1] / "golden/stores/v2.zarr/fortran"
PHANTOM = pathlib.Path(__file__).parents[1] / "cli/phantom.py"
WORKS = (
    "read",
    "read-in-waves",
    "verify",
    "write",
    "write-raw",
    "write-from-device",
    "write-raw-from-device",
    "copy",
    "pyramid",
    "project",
    "resize",
    "attributes",
    "group-attributes",
)

# Where the end of the process is a library's and cannot be mended here: what stands in the call stack, and whose it is.
ENDS_IN_A_LIBRARY = {
    # The destructor of a JSON value takes memory to walk what is below it, and may not throw.
    "json_value::destroy": "nlohmann::json",
    # Its steps through a directory are noexcept, and make a path; those of remove_all() below it too.
    "std::filesystem::__cxx11::directory_iterator": "libstdc++",
    "std::filesystem::__cxx11::recursive_directory_iterator": "libstdc++",
    # The C library ends the process where it cannot note that a thread's variable is to be destroyed.
    "__cxa_thread_atexit_impl": "glibc",
}
# Libraries whose own calls of malloc and pthread_create may end the process.
ENDS_BY_ITSELF = {
    # A thread of TBB's that cannot make the next ends the process; usable_threads() asks before, so that this takes a limit
    # that is reached in between.
    "libtbb": "TBB",
    # What PROJ makes while it is loaded has nobody who catches, nor has the destructor of its JSON values.
    "libproj": "PROJ",
}

# Libraries that do not always tell who called them that memory ran out.
SAYS_NOTHING = {"libproj": "another error than that memory ran out, or another way, by PROJ"}


class Unsaid(str):
    """What is wrong with a run, unless a library did not say what befell it."""


def library_of(stack: pathlib.Path) -> str:
    """Whose call of malloc or pthread_create it was: functions of C++ itself may stand in any module."""
    of_cpp = ("(_ZNSt", "(_ZNKSt", "(_ZSt")
    lines = [line for line in stack.read_text().splitlines() if not any(begin in line for begin in of_cpp)]
    modules = [pathlib.Path(line.split("(")[0]).name for line in lines]
    passed = ("libscarce", "libc.so", "libstdc++")
    return next((m.split(".so")[0] for m in modules if not m.startswith(passed)), "")


def names(stack: pathlib.Path) -> str:
    """The functions of a call stack, inlined ones too; "" where nothing failed."""
    if not stack.exists():
        return ""
    frames = re.findall(r"^([^(\n]+)\(([^)]*)\)", stack.read_text(), re.M)
    out = []
    for module, place in frames:
        if place.startswith("+"):
            words = ["addr2line", "-Cfie", module, place[1:]]
            out.append(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        else:
            out.append(subprocess.run(["c++filt", place.split("+")[0]], capture_output=True, text=True).stdout)
    return "\n".join(out)


def ours(functions: str) -> str:
    """The innermost functions of penstock, a line each."""
    return "".join(["\n    " + line for line in functions.splitlines() if "penstock::" in line][:6])


def environment(library: str, **scarce: object) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}
    settings = {"SCARCE_" + name.upper(): str(value) for name, value in scarce.items()}
    return clean | {"LD_PRELOAD": library, "PENSTOCK_CONFIG": ""} | settings


def ending(status: int) -> str:
    if os.WIFEXITED(status):
        return f"exit code {os.WEXITSTATUS(status)}"
    number = os.WTERMSIG(status)
    return "it hangs" if number == signal.SIGALRM else signal.Signals(number).name


class Asked:
    """A program that runs once for each allocation that it is told to let fail."""

    def __init__(self, words: list[str], library: str, stack: pathlib.Path, errors: pathlib.Path) -> None:
        results, which = os.pipe(), os.pipe()
        settings = environment(library, each="allocation", stack=stack,
                               results=f"/proc/self/fd/{results[1]}", which=f"/proc/self/fd/{which[0]}")  # fmt: skip
        self.errors = errors
        with open(errors, "ab") as file:
            self.child = subprocess.Popen(words, env=settings, stdout=subprocess.DEVNULL, stderr=file,
                                          pass_fds=(results[1], which[0]))  # fmt: skip
        os.close(results[1])
        os.close(which[0])
        self.results, self.which = os.fdopen(results[0]), os.fdopen(which[1], "w", buffering=1)

    def __enter__(self) -> "Asked":
        return self

    def __exit__(self, *_: object) -> None:
        self.which.close()
        self.child.wait()
        self.results.close()

    def fail(self, n: int) -> tuple[int, int]:
        """The status with which it ended when the n-th allocation failed, and how many there were."""
        os.truncate(self.errors, 0)
        print(n, file=self.which)
        _, status, count = map(int, self.results.readline().split())
        return status, count


class Each:
    """Fails one thing after another, and collects what did not end well."""

    def __init__(self, library: str, scratch: pathlib.Path, step: int = 1) -> None:
        self.library, self.scratch, self.step = library, scratch, step
        self.runs, self.bad = 0, []  # type: ignore[var-annotated]
        self.in_libraries: collections.Counter[str] = collections.Counter()

    def judge(self, what: str, n: int, status: int, stack: pathlib.Path) -> None:
        self.runs += 1
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, OUT_OF_MEMORY):
            return
        if os.WIFSIGNALED(status) and stack.exists() and (owner := ENDS_BY_ITSELF.get(library_of(stack))):
            self.in_libraries[owner] += 1
            return
        functions = names(stack)
        for function, owner in ENDS_IN_A_LIBRARY.items():
            if os.WIFSIGNALED(status) and function in functions:
                self.in_libraries[owner] += 1
                return
        self.bad.append(f"{what}, number {n}: {ending(status)}" + ours(functions))

    def run(self, words: list[str], each: str, what: str) -> int:
        """`each`: what main() is run for; "part": the program does so itself.  How many there were."""
        results, stack = self.scratch / "results", self.scratch / "stack"
        with open(self.scratch / "errors", "w") as errors:
            settings = environment(self.library, each=each, step=self.step, results=results, stack=stack)
            done = subprocess.run(words, env=settings, stdout=subprocess.DEVNULL, stderr=errors)
        if done.returncode != 0:
            self.bad.append(f"{what}: nothing could be tried: {(self.scratch / 'errors').read_text()[-300:]}")
        tried = [tuple(map(int, line.split())) for line in results.read_text().splitlines()]
        for n, status, _ in tried:
            self.judge_with_stack(what, n, status)
        print(f"{what}: {len(tried)}", flush=True)
        return len(tried)

    def judge_with_stack(self, what: str, n: int, status: int) -> None:
        stack = self.scratch / f"stack.{n}"
        self.judge(what, n, status, stack)
        stack.unlink(missing_ok=True)

    def run_some(
        self, words: list[str], what: str, which: Callable[[int], Iterable[int]], left: Callable[[int, str], str]
    ) -> int:
        """Fails those allocations that `which` picks of so many, and asks `left` (exit code, what was printed as errors) for
        what is wrong with what each failure left.  How many there were in all."""
        errors = self.scratch / "errors"
        with Asked(words, self.library, self.scratch / "stack", errors) as asked:
            status, count = asked.fail(NEVER)
            if problem := left(status, errors.read_text()) or ("" if status == 0 else ending(status)):
                self.bad.append(f"{what}, where nothing fails: {problem}")
            numbers = list(which(count))
            for n in numbers:
                status, _ = asked.fail(n)
                code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
                stack = self.scratch / f"stack.{n}"
                problem = left(code, errors.read_text())
                if isinstance(problem, Unsaid) and (owner := SAYS_NOTHING.get(library_of(stack))):
                    self.runs += 1
                    self.in_libraries[owner] += 1
                    stack.unlink()
                    continue
                if problem:
                    self.bad.append(f"{what}, number {n}: {problem}" + ours(names(self.scratch / f"stack.{n}")))
                self.judge_with_stack(what, n, status)
        print(f"{what}: {len(numbers)} of {count}", flush=True)
        return count

    def tell(self, what: str) -> int:
        print("\n".join(self.bad))
        for owner, count in self.in_libraries.items():
            print(f"{count} of {self.runs} ended in {owner}")
        print(f"{self.runs} {what} failed, one at a time; {len(self.bad)} runs did not end as they must")
        return 1 if self.bad else 0

    def within(self, words: list[str], limit: int) -> None:
        """A limit of threads that live at once."""
        done = subprocess.run(words, env=environment(self.library, threads=limit), capture_output=True, timeout=60)
        status = done.returncode << 8 if done.returncode >= 0 else -done.returncode
        self.judge(f"{words[1]} with {limit} threads", limit, status, self.scratch / "none")


def commands(penstock: str, scratch: pathlib.Path, threads: int) -> list[list[str]]:
    some = ["--threads", str(threads)]
    target = str(scratch / "copy.zarr")
    dwi = scratch / "dwi.nii"
    if not dwi.exists():
        subprocess.run([sys.executable, str(PHANTOM), str(dwi.with_suffix(""))], check=True)
    coarse = ["--sphere", "16", "--sh-order", "2", "--force", *some]
    return [
        [penstock, "cat", str(SOURCE), "--format", "raw", *some],
        [penstock, "verify", str(SOURCE), *some],
        [penstock, "copy", str(SOURCE), target, "--force", *some],
        [penstock, "info", str(SOURCE)],
        [penstock, "info", str(FORTRAN)],
        [penstock, "track", str(dwi), "-o", str(scratch / "a.trx"), "--seeds", "5", "--quiet", *coarse],
        [penstock, "dwi", "fit", str(dwi), "-o", str(scratch / "maps"), "--model", "csa", *coarse],
    ]


def main(what: str, penstock: str, work: str, library: str) -> int:
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        each = Each(library, scratch)
        one = what.rstrip("s")
        fewest = 0
        for threads in (1, 2) if what == "allocations" else (2, 8):
            for words in commands(penstock, scratch, threads):
                fewest = each.run(words, one, f"{words[1]} on {threads} threads")
                if what == "allocations" and fewest < 100:
                    each.bad.append(f"{words[1]}: only {fewest} allocations: this test shows nothing")
            for part in WORKS if threads > 1 else ():
                each.run([work, part, one, str(threads)], "part", f"{part} on {threads} threads")
        if what == "threads":
            for limit in (0, 1, 2, 3, 5, 8):
                for threads in (1, 2, 4, 8):
                    for words in commands(penstock, scratch, threads):
                        each.within(words, limit)
    return each.tell(what)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
