"""What a process of a plugin's tools shuts behind itself. Standard library only: it is run by `room.py`.

From the outside in: limits of the kernel, a user without rights, a network that is empty, files that are not shown, and
calls of the kernel that are refused (sockets, new processes and programs, tracing). Not every system has all of these:
`shut` says which hold.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress

NOBODY = 65534
_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
CLONE_THREAD = 0x00010000
NO_NEW_PRIVILEGES, DUMPABLE, SECCOMP = 38, 4, 22


def shut(limits: Mapping[str, int], readable: Iterable[str], work: str, network: bool) -> dict[str, bool]:
    """`readable` are folders that stay open for reading, `work` is the one that may be written."""
    bound(limits)
    held = {"network": network or empty_network()}
    _libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    held["files"] = hide_files(readable, work)
    held["user"] = become_nobody()
    drop_powers()
    _libc.prctl(DUMPABLE, 0, 0, 0, 0)
    held["calls"] = refuse_calls(network)
    held["network"] = network or held["network"] or held["calls"]
    return held


def bound(limits: Mapping[str, int]) -> None:
    try:
        import resource
    except ImportError:
        return
    wanted = {**limits, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 64}
    for name, most in wanted.items():
        with suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, name), (most, most))


def empty_network() -> bool:
    """A network of its own, in which there is nothing."""
    if not hasattr(_libc, "unshare"):
        return False
    return any(_libc.unshare(kinds) == 0 for kinds in (CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET))


def become_nobody() -> bool:
    """Only where it is root, and where nobody may read Python's own library."""
    if not hasattr(os, "getuid") or os.getuid() != 0:
        return False
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        if not os.access(os.__file__, os.R_OK, effective_ids=True):
            os.seteuid(0)
            return False
        os.seteuid(0)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:
        return False
    return True


def drop_powers() -> None:
    """What makes root more than a user: without it, limits cannot be raised again."""
    if hasattr(_libc, "capset"):
        _libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24))


# Landlock: from here on, the process can open nothing but what is named. The numbers are those of <linux/landlock.h>.

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_READ = 0b1101  # execute, read a file, list a folder
_WRITE = 0b1_1111_1111_1111 & ~1  # all of the first version, but execute
_EVERY = 0b1_1111_1111_1111
_LATER = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # refer, truncate, ioctl: known from this version on


def hide_files(readable: Iterable[str], work: str) -> bool:
    version = _libc.syscall(_CREATE, None, 0, 1)
    if version < 1:
        return False
    later = sum(bit for since, bit in _LATER.items() if version >= since)
    ruleset = _libc.syscall(_CREATE, struct.pack("Q", _EVERY | later), 8, 0)
    if ruleset < 0:
        return False
    with suppress(OSError):
        for folder in readable:
            _allow(ruleset, folder, _READ)
        _allow(ruleset, work, _WRITE | (later & (1 << 14)))
    held = _libc.syscall(_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return bool(held)


def _allow(ruleset: int, folder: str, rights: int) -> None:
    if not os.path.isdir(folder):  # noqa: PTH112  # pathlib is more than this process needs
        return
    place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    _libc.syscall(_ADD, ruleset, 1, struct.pack("=Qi", rights, place), 0)
    os.close(place)


# Seccomp: a small program that the kernel asks before each call. An instruction is (code, if true, if false, value).

_LOAD, _IF_EQUAL, _IF_LEAST, _IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST = 0, 4, 16  # where the kernel puts them
_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000

_CALLS: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (0xC000003E, {
        "socket": 41, "fork": 57, "vfork": 58, "clone": 56, "clone3": 435, "execve": 59, "execveat": 322, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "io_uring_setup": 425, "mount": 165, "unshare": 272,
        "setns": 308, "bpf": 321, "keyctl": 250, "kill": 62, "tkill": 200, "pidfd_open": 434, "userfaultfd": 323,
        "perf_event_open": 298, "memfd_create": 319,
    }),
    "aarch64": (0xC00000B7, {
        "socket": 198, "clone": 220, "clone3": 435, "execve": 221, "execveat": 281, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271, "io_uring_setup": 425, "mount": 40, "unshare": 97,
        "setns": 268, "bpf": 280, "keyctl": 219, "kill": 129, "tkill": 130, "pidfd_open": 434, "userfaultfd": 282,
        "perf_event_open": 241, "memfd_create": 279,
    }),
}  # fmt: skip


def refuse_calls(network: bool) -> bool:
    if platform.system() != "Linux" or platform.machine() not in _CALLS:
        return False
    machine, numbers = _CALLS[platform.machine()]
    refused = {name: number for name, number in numbers.items() if name not in ("clone", "clone3")}
    if network:
        del refused["socket"]
    program = [
        (_LOAD, 0, 0, _MACHINE), (_IF_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER), (_IF_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _REFUSE),  # another way to count calls
        (_IF_EQUAL, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, _UNKNOWN),  # so that clone is used, which can be judged
        (_IF_EQUAL, 0, 4, numbers["clone"]),
        (_LOAD, 0, 0, _FIRST), (_IF_SET, 0, 1, CLONE_THREAD), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE),
        *(step for number in refused.values() for step in ((_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE))),
        (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    return bool(_libc.prctl(SECCOMP, 2, head, 0, 0) == 0)
