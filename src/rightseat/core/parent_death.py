"""Ends a process when its parent ends, however that ends: the kernel sends it SIGKILL. Only Linux can do this.

A process of ours calls `die_with_parent`. Another program is started with `launcher()` before its command: this file,
as a script, which becomes that program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """`parent` is its process id. On Linux, the thread that started this process counts as the parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before we asked
            os._exit(1)


def launcher() -> list[str]:
    """Words to put before a command, whose program is a whole path; none where the system cannot do it."""
    linux = sys.platform == "linux"
    return [sys.executable, "-I", "-S", __file__, str(os.getpid())] if linux else []


def main(parent: int, command: list[str]) -> None:
    die_with_parent(parent)
    os.execv(command[0], command)  # noqa: S606 (this is what it is for)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
