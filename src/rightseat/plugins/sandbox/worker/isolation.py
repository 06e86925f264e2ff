"""Takes from this process whatever a tool does not need, from the outside in, and reports which layers hold.

The order matters: mounting needs rights that the later layers take away.
"""

import os
import signal
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TypedDict

from . import landlock, namespaces, seccomp
from .system import IS_LINUX, checked, libc, prctl

NOBODY = 65534
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
OPEN_FILES = 64
OWN_THREADS = 128  # in a user namespace of its own the kernel counts its threads alone
ALL_THREADS = 2048  # elsewhere those of all processes of the user count together
DEVICES = ("/dev/null",)


class Layers(TypedDict):
    """`landlock` is its ABI, 0 where there is none. `own_root` is a tmpfs: it bounds the disk and hides other files."""

    uid: int
    can_read_python: bool
    own_root: bool
    network: bool
    landlock: int
    seccomp: bool
    limits: list[str]


def isolate(code: str, folder: str, limits: Mapping[str, int], disk: int, parent: int) -> Layers:
    """`code` stays readable, beside Python. `folder` has `root`, a mount point, and `work`, which is writable."""
    root, work = f"{folder}/root", f"{folder}/work"
    readable = [code, *python_folders()]
    network = namespaces.unshare()
    own_root = network and namespaces.change_root(root, readable, DEVICES, work, disk)
    if os.geteuid() == 0:
        os.chown(work, NOBODY, NOBODY)
    os.chdir(work)
    threads = OWN_THREADS if network and os.geteuid() != 0 else ALL_THREADS
    known = limit_resources({**limits, "RLIMIT_NPROC": threads})
    if IS_LINUX:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    abi = landlock.restrict(readable, [work, *DEVICES])
    become_nobody()
    drop_capabilities()
    die_with_parent(parent)  # here and not earlier: a change of the user takes it back
    return Layers(
        uid=os.geteuid(),
        can_read_python=os.access(os.__file__, os.R_OK) and os.access(code, os.R_OK),
        own_root=own_root,
        network=network,
        landlock=abi,
        seccomp=seccomp.install(),
        limits=known,
    )


def python_folders() -> list[str]:
    """The standard library, and the shared libraries that its modules load."""
    own = {os.path.dirname(os.__file__), f"{sys.base_prefix}/lib", f"{sys.base_exec_prefix}/lib"}
    return [*own, "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/lib", "/lib64"]


def limit_resources(limits: Mapping[str, int]) -> list[str]:
    try:
        import resource
    except ImportError:  # Windows
        return []
    held = []
    for name, most in {**limits, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": OPEN_FILES}.items():
        with suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, name), (most, most))
            held.append(name)
    return held


def become_nobody() -> None:
    """Where it is root. Where it may not change its user it stays root, and the server does not let it run anything."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    with suppress(OSError):
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def drop_capabilities() -> None:
    """All of them, those of a user namespace as well; without them, limits cannot be raised again."""
    if IS_LINUX:
        checked(libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)))


def die_with_parent(parent: int) -> None:
    if IS_LINUX:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)
