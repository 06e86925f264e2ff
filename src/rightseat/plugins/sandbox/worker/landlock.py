"""Landlock: restricts the process to the named paths, and blocks signals to processes outside.

The numbers are those of <linux/landlock.h>. Later versions of the interface (ABI) have more access rights.
"""

import os
import struct
from collections.abc import Iterable

from .system import IS_LINUX, call

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG, PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14
READ = EXECUTE | READ_FILE | READ_DIR
FIRST = (1 << 13) - 1  # all rights of the first ABI
LATER = {2: 1 << 13, 3: TRUNCATE, 5: 1 << 15}  # refer, truncate, ioctl of devices
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE  # rights that a rule for a single file may have

NETWORK_SINCE, TCP = 4, 0b11  # bind and connect
SCOPES_SINCE, SCOPES = 6, 0b11  # abstract unix sockets, and signals


def version() -> int:
    """0 if the kernel has no Landlock, or has it disabled."""
    try:
        return call(CREATE_RULESET, None, 0, VERSION_FLAG) if IS_LINUX else 0
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str]) -> int:
    """The ABI by which it is restricted; 0 where it is not. What does not exist is left out."""
    abi = version()
    if abi < 1:
        return 0
    rights = FIRST | sum(bit for since, bit in LATER.items() if abi >= since)
    fields = [rights, *([TCP] if abi >= NETWORK_SINCE else []), *([SCOPES] if abi >= SCOPES_SINCE else [])]
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    ruleset = call(CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in readable:
            allow(ruleset, path, READ)
        for path in writable:
            allow(ruleset, path, rights & ~EXECUTE & ~LATER[5])
        call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return abi


def allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        allowed = rights if os.path.isdir(path) else rights & OF_FILES
        call(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
    finally:
        os.close(place)
