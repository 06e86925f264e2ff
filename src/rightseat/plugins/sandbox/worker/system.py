"""System calls that Python has no function for."""

import ctypes
import os
import platform
import sys

libc = ctypes.CDLL(None, use_errno=True)

IS_LINUX = sys.platform == "linux"
MACHINE = platform.machine()


def call(number: int, *arguments: int | bytes | None) -> int:
    """Raises `OSError`. Numbers are passed as whole words: a variadic C function reads 64 bits of each."""
    values = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return checked(libc.syscall(ctypes.c_long(number), *values))


def prctl(option: int, *values: int) -> int:
    """Raises `OSError`. prctl takes four values; missing ones are 0."""
    padded = [ctypes.c_ulong(one) for one in (*values, 0, 0, 0, 0)[:4]]
    return checked(libc.prctl(option, *padded))


def checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
