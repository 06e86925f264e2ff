"""Namespaces: gives the process its own root file system and a network without interfaces.

The root is a tmpfs with Python, the plugin's code and an empty folder. Its size limits what the tool can write, and it
is removed with the process. Python is readable wherever it is installed: its parent folders, which another user may not
enter, are replaced by empty ones.
"""

import os
import struct
from collections.abc import Sequence

from .system import IS_LINUX, MACHINE, call, checked, libc

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 1, 2
MAX_INODES = 10_000  # of the tmpfs


def unshare() -> bool:
    """Root needs CAP_SYS_ADMIN; other users need a user namespace, which not every system allows."""
    if not IS_LINUX or MACHINE not in PIVOT_ROOT:
        return False
    own, user, group = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC, os.geteuid(), os.getegid()
    try:
        if user == 0:
            checked(libc.unshare(own))
        else:
            checked(libc.unshare(own | CLONE_NEWUSER))
            write("/proc/self/setgroups", "deny")
            write("/proc/self/uid_map", f"{user} {user} 1")
            write("/proc/self/gid_map", f"{group} {group} 1")
    except OSError:
        return False
    return True


def change_root(root: str, readable: Sequence[str], devices: Sequence[str], work: str, size: int) -> bool:
    """Mount the tmpfs at `root`, with `readable` and `devices` at their paths and an empty folder `work`."""
    os.umask(0o022)  # with the server's umask another user could not enter the parents of mounted folders
    try:
        mount("none", "/", MS_REC | MS_PRIVATE)
        mount("tmpfs", root, MS_NOSUID | MS_NODEV, "tmpfs", f"size={size},nr_inodes={MAX_INODES},mode=0755")
        for folder in list_mounts(readable):
            os.makedirs(root + folder, 0o755, exist_ok=True)
            mount(folder, root + folder, MS_BIND | MS_REC)
            make_read_only(root + folder)
        for device in devices:
            os.makedirs(root + os.path.dirname(device), 0o755, exist_ok=True)
            write(root + device, "")
            mount(device, root + device, MS_BIND)
        os.makedirs(root + work, 0o755)
        os.chdir(root)
        call(PIVOT_ROOT[MACHINE], b".", b".")  # the old root is now stacked below the new one
    except OSError:
        return False
    checked(libc.umount2(b".", MNT_DETACH))
    os.chdir(work)
    return True


def list_mounts(folders: Sequence[str]) -> list[str]:
    """Existing folders that are not inside another, with the targets of links."""
    found: list[str] = []
    both = {path for folder in folders for path in (folder, os.path.realpath(folder))}
    for path in sorted(both, key=len):
        if os.path.isdir(path) and not any(path == one or path.startswith(f"{one}/") for one in found):
            found.append(path)
    return found


def mount(source: str, target: str, flags: int, kind: str = "none", options: str = "") -> None:
    checked(libc.mount(source.encode(), os.fsencode(target), kind.encode(), flags, options.encode()))


def make_read_only(folder: str) -> None:
    """Needs Linux 5.12. Landlock denies writing there as well."""
    attributes = struct.pack("4Q", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, 0, 0)
    try:
        call(MOUNT_SETATTR, AT_FDCWD, os.fsencode(folder), AT_RECURSIVE, attributes, len(attributes))
    except OSError:
        return


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
