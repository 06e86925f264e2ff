"""The names that releases promise, in `recorded/`, and what may become of them.

`just generate` adds new names to the files. It removes one only if `deprecated.toml` has it since two minor releases:
any other name that the code does not have any more, or has otherwise, is a problem that a person must solve.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from rightseat import __version__
from tests.stability.interfaces import INTERFACES, Entries, read

FOLDER = Path(__file__).parent / "recorded"
DEPRECATED = Path(__file__).parent / "deprecated.toml"
MIN_MINOR_RELEASES = 2
"""For so many minor releases a deprecated name works."""
CURE = (
    "Give it back, and deprecate it as docs/reference/stability.md says. If it accepts all that it accepted, or no "
    "release has had it, change its line in tests/stability/recorded/{interface}.json by hand and name it in CHANGELOG."
)


def generate() -> dict[Path, str]:
    expired = list_expired()
    return {path_of(name): write(merge(load(name), read(name), expired.get(name, frozenset()))) for name in INTERFACES}


def load(interface: str) -> Entries:
    path = path_of(interface)
    found: Entries = json.loads(path.read_text()) if path.exists() else {}
    return found


def path_of(interface: str) -> Path:
    return FOLDER / f"{interface}.json"


def write(entries: Entries) -> str:
    return json.dumps(dict(sorted(entries.items())), indent=0, ensure_ascii=False) + "\n"


def merge(recorded: Entries, current: Entries, expired: frozenset[str]) -> Entries:
    """What is recorded stays as it is, without what has expired and is gone; what is new is added."""
    kept = {name: value for name, value in recorded.items() if name in current or name not in expired}
    return {**current, **kept}


def find_problems(interface: str, recorded: Entries, current: Entries, expired: frozenset[str]) -> Iterator[str]:
    cure = CURE.format(interface=interface)
    for name, value in recorded.items():
        if name not in current and name not in expired:
            yield f"{name} was removed. {cure}"
        elif name in current and current[name] != value:
            yield f"{name} was {value!r} and is {current[name]!r}. {cure}"
    for name in current.keys() - recorded.keys():
        if "required" in current[name] and has_owner(name, recorded):
            yield f"{name} is new and required, which breaks what works without it: give it a default."


def has_owner(name: str, recorded: Entries) -> bool:
    """Whether something of what `name` belongs to is recorded: a parameter of a function, a key of a part."""
    owner = re.sub(r"[^.( ]+\)?$", "", name)
    return any(other.startswith(owner) for other in recorded)


def list_expired(version: str = __version__, file: Path = DEPRECATED) -> Mapping[str, frozenset[str]]:
    """By interface, the deprecated names that need not work any more."""
    interfaces = tomllib.loads(file.read_text())
    return {
        interface: frozenset(name for name, entry in names.items() if has_expired(entry["since"], version))
        for interface, names in interfaces.items()
    }


def has_expired(since: str, version: str) -> bool:
    first, now = parse_minor(since), parse_minor(version)
    return now[0] > first[0] or now[1] - first[1] >= MIN_MINOR_RELEASES


def parse_minor(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
