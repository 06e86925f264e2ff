"""Names that every model's server accepts for a tool, each used once."""

import re
from hashlib import sha256

LONGEST = 64
UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


class Names:
    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wish: str) -> str:
        """The wish, as near as may be. What is too long keeps its beginning and gets a mark of the rest."""
        fit = UNFIT.sub("_", wish).strip("_") or "tool"
        if len(fit) > LONGEST:
            fit = f"{fit[: LONGEST - 9]}_{sha256(wish.encode()).hexdigest()[:8]}"
        name, number = fit, 1
        while name in self._taken:
            number += 1
            name = f"{fit[: LONGEST - 1 - len(str(number))]}_{number}"
        self._taken.add(name)
        return name
