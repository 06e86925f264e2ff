"""Isolates this process layer by layer, and reports which layers are in effect.

The order matters: mounting needs privileges that later layers drop.
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
MAX_OPEN_FILES = 64
MAX_OWN_THREADS = 128  # in its own user namespace the kernel counts only its threads
MAX_USER_THREADS = 2048  # elsewhere the threads of all processes of the user count
DEVICES = ("/dev/null",)


class LayerReport(TypedDict):
    """`landlock` is its ABI, 0 without it. `own_root` is a tmpfs: it limits the disk and hides other files."""

    uid: int
    can_read_python: bool
    own_root: bool
    network: bool
    landlock: int
    seccomp: bool
    limits: list[str]


def isolate(code: str, folder: str, limits: Mapping[str, int], disk: int, parent: int) -> LayerReport:
    """`code` and Python stay readable. `folder` holds `root`, a mount point, and `work`, which is writable."""
    root, work = f"{folder}/root", f"{folder}/work"
    readable = [code, *python_folders()]
    network = namespaces.unshare()
    own_root = network and namespaces.change_root(root, readable, DEVICES, work, disk)
    if os.geteuid() == 0:
        os.chown(work, NOBODY, NOBODY)
    os.chdir(work)
    threads = MAX_OWN_THREADS if network and os.geteuid() != 0 else MAX_USER_THREADS
    applied = set_rlimits({**limits, "RLIMIT_NPROC": threads})
    if IS_LINUX:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    abi = landlock.restrict(readable, [work, *DEVICES])
    become_nobody()
    drop_capabilities()
    die_with_parent(parent)  # last, because changing the user resets it
    return LayerReport(
        uid=os.geteuid(),
        can_read_python=os.access(os.__file__, os.R_OK) and os.access(code, os.R_OK),
        own_root=own_root,
        network=network,
        landlock=abi,
        seccomp=seccomp.install(),
        limits=applied,
    )


def python_folders() -> list[str]:
    """The standard library and the shared libraries of its modules."""
    own = {os.path.dirname(os.__file__), f"{sys.base_prefix}/lib", f"{sys.base_exec_prefix}/lib"}
    return [*own, "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/lib", "/lib64"]


def set_rlimits(limits: Mapping[str, int]) -> list[str]:
    try:
        import resource
    except ImportError:  # Windows
        return []
    applied = []
    for name, limit in {**limits, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": MAX_OPEN_FILES}.items():
        with suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, name), (limit, limit))
            applied.append(name)
    return applied


def become_nobody() -> None:
    """If it is root. If it cannot change its user, it stays root, and the server runs no tool in it."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    with suppress(OSError):
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def drop_capabilities() -> None:
    """Including those of a user namespace; without capabilities, limits cannot be raised again."""
    if IS_LINUX:
        checked(libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)))


def die_with_parent(parent: int) -> None:
    if IS_LINUX:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)
