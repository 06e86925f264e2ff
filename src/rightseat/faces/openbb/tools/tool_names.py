"""Makes unique tool names that every model provider accepts."""

import re
from hashlib import sha256

MAX_NAME_CHARS = 64
INVALID_CHARS = re.compile(r"[^A-Za-z0-9_-]+")


class UniqueNames:
    def __init__(self) -> None:
        self._used: set[str] = set()

    def reserve(self, name: str) -> str:
        """Return a valid, unused name. A long name is truncated and gets a hash; duplicates get a number."""
        valid_name = INVALID_CHARS.sub("_", name).strip("_") or "tool"
        if len(valid_name) > MAX_NAME_CHARS:
            valid_name = f"{valid_name[: MAX_NAME_CHARS - 9]}_{sha256(name.encode()).hexdigest()[:8]}"
        unique_name, number = valid_name, 1
        while unique_name in self._used:
            number += 1
            unique_name = f"{valid_name[: MAX_NAME_CHARS - 1 - len(str(number))]}_{number}"
        self._used.add(unique_name)
        return unique_name
