"""Tests and scenarios that failed, and passed when they were repeated alone: `tests/flaky.toml`.

`.ci/run` names what it repeated. The next change enters it here, with the date and the cause; whoever removes the cause
takes the entry out. `python -m tests.gate.flaky` checks the file for the gate, with `--night` also the age of its
entries.
"""

import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

LISTED = Path(__file__).parent.parent / "flaky.toml"
MAX_ENTRIES = 5
MAX_AGE = timedelta(days=14)


@dataclass(frozen=True)
class Flaky:
    """An entry: the id of a test or `SUITE/SCENARIO`, the day that it was first repeated, and the cause."""

    name: str
    since: date
    cause: str


def read_flaky(path: Path = LISTED) -> list[Flaky]:
    entries = tomllib.loads(path.read_text()).get("flaky", [])
    return [Flaky(entry["name"], entry["since"], entry["cause"]) for entry in entries]


def find_problems(entries: list[Flaky], today: date, *, is_night: bool) -> list[str]:
    """Return what the file must not hold."""
    problems = [f"{entry.name}: the cause is empty" for entry in entries if not entry.cause.strip()]
    problems += [f"{entry.name}: {entry.since} is in the future" for entry in entries if entry.since > today]
    if len(entries) > MAX_ENTRIES:
        problems.append(f"{len(entries)} entries, and at most {MAX_ENTRIES} are allowed: mend one before you add one")
    if is_night:
        old = [entry for entry in entries if today - entry.since > MAX_AGE]
        problems += [f"{entry.name}: since {entry.since}, more than {MAX_AGE.days} days ago" for entry in old]
    return problems


def main() -> int:
    problems = find_problems(read_flaky(), datetime.now(UTC).date(), is_night="--night" in sys.argv[1:])
    for problem in problems:
        print(f"tests/flaky.toml: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
