"""Which tests and scenarios may be skipped: those that `tests/skips.toml` names. Any other skip fails the gate.

`python -m tests.gate.skips SUITE LOG` checks the output of an acceptance suite, whose own `skips.txt` counts as well.
It prints a line for each skip, and exits with 1 if one is not allowed.
"""

import fnmatch
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LISTED = Path(__file__).parent.parent / "skips.toml"
SUITES = Path(__file__).parent.parent / "acceptance"
LATE = "no time is left for it"
"""The reason of what is skipped on a machine that is too slow. The last line of the run says so."""

SCENARIO_SKIP = re.compile(r"^skip\s+(\S+?):?(?:\s+(.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Skip:
    """An entry of the file: what may be skipped, why, and what shows the same thing instead."""

    where: str
    reason: re.Pattern[str]
    why: str
    instead: str

    def allows(self, name: str, reason: str) -> bool:
        return fnmatch.fnmatch(name, self.where) and self.reason.search(reason) is not None


def read_skips(path: Path = LISTED) -> list[Skip]:
    entries = tomllib.loads(path.read_text())["skip"]
    return [Skip(entry["where"], re.compile(entry["reason"]), entry["why"], entry["instead"]) for entry in entries]


def find_unlisted(skipped: Sequence[tuple[str, str]], skips: Sequence[Skip]) -> list[tuple[str, str]]:
    """Return the names and reasons that no entry allows."""
    return [
        (name, reason)
        for name, reason in skipped
        if reason != LATE and not any(skip.allows(name, reason) for skip in skips)
    ]


def read_scenario_skips(suite: str, output: str) -> Iterator[tuple[str, str]]:
    """Yield `SUITE/SCENARIO` and the reason of each skip that the `skips.txt` of the suite does not name."""
    file = SUITES / suite / "skips.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    patterns = [line.split("  ", 1)[0] for line in lines if line.strip() and not line.startswith("#")]
    for match in SCENARIO_SKIP.finditer(output):
        if not any(fnmatch.fnmatch(match[1], pattern) for pattern in patterns):
            yield f"{suite}/{match[1]}", match[2] or ""


def main(suite: str, log: str) -> int:
    skipped = list(read_scenario_skips(suite, Path(log).read_text(errors="replace")))
    unlisted = find_unlisted(skipped, read_skips())
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
    for name, _ in unlisted:
        print(f"NOT LISTED in tests/skips.toml: {name} was skipped. Make it run, or enter it with its reason.")
    return 1 if unlisted else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
