"""Becomes another program, and sees to it that it ends when its parent does, however that ends.

Started as a file, by `spawning.py`: `leash.py PARENT PROGRAM ARGUMENT …`. Only Linux has this word; elsewhere the
program is only ended in good order.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before we asked
            raise SystemExit(1)
    os.execv(command[0], command)  # noqa: S606 (this is what it is for)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
