"""A seccomp filter that allows the system calls a tool needs, some only with certain arguments, and denies all others.

A denied call fails with EPERM, a `PermissionError`. A call newer than Linux 5.1 fails with ENOSYS instead, so that the
C library falls back to an older one.
"""

import ctypes
import os
import struct
from collections.abc import Sequence

from .system import IS_LINUX, MACHINE, prctl

# Calls that are allowed with any arguments: their numbers on x86_64 and on aarch64 (None: it has no such call).
ALLOWED: dict[str, tuple[int, int | None]] = {
    # open files
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "preadv": (295, 69), "pwritev": (296, 70), "lseek": (8, 62), "close": (3, 57),
    "close_range": (436, 436), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "pipe": (22, None),
    "pipe2": (293, 59), "flock": (73, 32), "fstat": (5, 80), "fstatfs": (138, 44), "ftruncate": (77, 46),
    "fallocate": (285, 47), "fsync": (74, 82), "fdatasync": (75, 83), "fadvise64": (221, 223), "sendfile": (40, 71),
    "copy_file_range": (326, 285), "getdents64": (217, 61), "fchdir": (81, 50),
    # paths, which Landlock or the own root bounds; nothing that changes modes, owners, times or attributes
    "open": (2, None), "openat": (257, 56), "stat": (4, None), "lstat": (6, None), "newfstatat": (262, 79),
    "statx": (332, 291), "statfs": (137, 43), "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439),
    "readlink": (89, None), "readlinkat": (267, 78), "getcwd": (79, 17), "chdir": (80, 49), "mkdir": (83, None),
    "mkdirat": (258, 34), "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "symlink": (88, None), "symlinkat": (266, 36), "umask": (95, 166),
    # memory
    "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226), "madvise": (28, 233),
    "msync": (26, 227), "brk": (12, 214), "membarrier": (324, 283),
    # waiting, and the socket pair by which asyncio wakes itself
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72), "epoll_create": (213, None),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    "eventfd2": (290, 19), "recvfrom": (45, 207), "shutdown": (48, 210), "getsockname": (51, 204),
    "getsockopt": (55, 209),
    # threads, own signals, exit
    "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293), "set_tid_address": (218, 96),
    "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "getcpu": (309, 168), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "pause": (34, None), "alarm": (37, None), "setitimer": (38, 103),
    "getitimer": (36, 102), "restart_syscall": (219, 128), "exit": (60, 93), "exit_group": (231, 94),
    # time, random numbers, identity
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "nanosleep": (35, 101),
    "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153), "getrusage": (98, 165), "getrlimit": (97, 163),
    "sysinfo": (99, 179), "uname": (63, 160), "getrandom": (318, 278), "getpid": (39, 172), "getppid": (110, 173),
    "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177),
    "getgroups": (115, 158), "getresuid": (118, 148), "getresgid": (120, 150), "getpgid": (121, 155),
    "getpgrp": (111, None), "getsid": (124, 156),
}  # fmt: skip

# Calls allowed with certain values of one argument, and the index of that argument.
BY_ARGUMENT: dict[str, tuple[tuple[int, int], int]] = {
    "socketpair": ((53, 199), 0),
    "fcntl": ((72, 25), 1),
    "ioctl": ((16, 29), 1),
    "prctl": ((157, 167), 0),
    "prlimit64": ((302, 261), 0),
    "tgkill": ((234, 131), 0),
}
CLONE, SENDTO = (56, 220), (44, 206)

AF_UNIX = 1
CLONE_THREAD = 0x00010000
# Copies of descriptors, flags, locks, sizes of pipes, seals. Not F_SETOWN and F_SETSIG, which send signals.
FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1033, 1034)
IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
THREAD_NAME = (15, 16)  # PR_SET_NAME, PR_GET_NAME
ITSELF = 0  # as a process id

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
FIRST_NEW_CALL = 424

# A BPF instruction is (code, jump if true, jump if false, value). The kernel puts the call's number at 0, the
# architecture at 4, and its arguments, of 8 bytes each, from 16 on.
LOAD, IF_EQUAL, IF_AT_LEAST, IF_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, REFUSE, UNKNOWN, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
NUMBER, ARCHITECTURE = 0, 4

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]


def install() -> bool:
    """Apply the filter irrevocably. Returns False if the system has no seccomp filters."""
    if not IS_LINUX or MACHINE not in ARCHITECTURES:
        return False
    try:
        load(write_program(MACHINE, os.getpid()))
    except OSError:
        return False
    return True


def load(program: Sequence[Instruction]) -> None:
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(head))


def write_program(machine: str, process_id: int) -> list[Instruction]:
    column, architecture = ARCHITECTURES[machine]
    values: dict[str, Sequence[int]] = {
        "socketpair": [AF_UNIX],
        "fcntl": FCNTL,
        "ioctl": IOCTL,
        "prctl": THREAD_NAME,
        "prlimit64": [ITSELF],
        "tgkill": [process_id],  # `abort` and `signal.raise_signal` use it; the filter is this process's own
    }
    allowed = [numbers[column] for numbers in ALLOWED.values() if numbers[column] is not None]
    rest = [(IF_AT_LEAST, 0, 1, FIRST_NEW_CALL), (RETURN, 0, 0, UNKNOWN), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    end = len(allowed) + len(rest) - 1  # the last instruction, counted from the first of `allowed`
    return [
        (LOAD, 0, 0, ARCHITECTURE), (IF_EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (IF_EQUAL, 0, 4, CLONE[column]),
        (LOAD, 0, 0, argument(0)), (IF_BIT, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE),
        (IF_EQUAL, 0, 6, SENDTO[column]),  # without an address: it cannot reach another socket of the machine
        (LOAD, 0, 0, argument(4)), (IF_EQUAL, 0, 3, 0), (LOAD, 0, 0, argument(4) + 4), (IF_EQUAL, 0, 1, 0),
        (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE),
        *(step for name, (numbers, place) in BY_ARGUMENT.items()
          for step in one_of(numbers[column], place, values[name])),
        *((IF_EQUAL, end - index - 1, 0, number) for index, number in enumerate(allowed) if number is not None),
        *rest,
    ]  # fmt: skip


def one_of(number: int, place: int, values: Sequence[int]) -> list[Instruction]:
    """Allow the call if the argument at `place` is one of the values. All these arguments have 32 bits."""
    count = len(values)
    return [
        (IF_EQUAL, 0, count + 3, number),
        (LOAD, 0, 0, argument(place)),
        *((IF_EQUAL, count - index, 0, value & 0xFFFFFFFF) for index, value in enumerate(values)),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]


def argument(place: int) -> int:
    return 16 + 8 * place
