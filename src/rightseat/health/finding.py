"""The result of a check: a status, what was found, and how to fix it."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from rightseat.core.types import JsonValue

CHECK_TIMEOUT_S = 10.0

Status = Literal["ok", "warning", "error", "skipped"]

_ADVICE = re.compile(r"(?<=[.?])\s+(?=[A-Z`])")
_INSTALL = re.compile(r": ((?:uv )?pip install .+)$")


@dataclass(frozen=True, slots=True)
class Fix:
    """`command` is for a shell, `yaml` for the configuration; `docs` is a page of the documentation."""

    text: str
    command: str | None = None
    yaml: str | None = None
    docs: str | None = None


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What a check found. `subject` is set if it is not that of the check."""

    status: Status
    detail: str
    fix: Fix | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """`title` describes what `run` checks. `subject` is the checked part, such as `models.default`."""

    id: str
    subject: str
    title: str
    run: Callable[[], Awaitable[CheckOutcome | Sequence[CheckOutcome]]]
    timeout: float = CHECK_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Finding:
    id: str
    subject: str
    state: Status
    title: str
    detail: str
    fix: Fix | None
    milliseconds: int

    def to_json(self) -> dict[str, JsonValue]:
        fix = {name: value for name, value in asdict(self.fix).items() if value is not None} if self.fix else None
        return {**asdict(self), "fix": fix}


def known(*outcomes: CheckOutcome) -> Callable[[], Awaitable[Sequence[CheckOutcome]]]:
    """The `run` of a check whose outcome is known already."""

    async def run() -> Sequence[CheckOutcome]:
        return outcomes

    return run


def split_advice(message: str, otherwise: str) -> tuple[str, Fix]:
    """Split an error message into its cause and its cure: the sentences after the first, else `otherwise`."""
    if install := _INSTALL.search(message):
        return f"{message[: install.start()]}.", Fix("Install the package.", install[1].rstrip("."))
    cause, *advice = _ADVICE.split(message, maxsplit=1)
    return cause, Fix(advice[0] if advice else otherwise)
