"""Kills a process when its parent ends for any reason: the kernel sends it SIGKILL. Linux only.

A Python process of rightseat calls `die_with_parent`. For another program, `launcher()` is put before its command: it
runs this file as a script, which then executes the program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """`parent` is the parent's process id. On Linux, the thread that started this process counts as the parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent ended before `prctl`
            os._exit(1)


def launcher() -> list[str]:
    """Arguments to put before a command, whose program must be an absolute path. Empty except on Linux."""
    linux = sys.platform == "linux"
    return [sys.executable, "-I", "-S", __file__, str(os.getpid())] if linux else []


def main(parent: int, command: list[str]) -> None:
    die_with_parent(parent)
    os.execv(command[0], command)  # noqa: S606 (running the given command is its purpose)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
