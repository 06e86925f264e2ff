"""What the page docs/reference/coverage.md names as evidence, and what of it does not exist.

`python -m tests.docs.coverage` prints one line for each name that cannot be found. A name in the last column of a table
is a test (`tests/x.py::test_y`, or `test_y` where one file alone has it), an example, a recording, a suite of
`tests/acceptance`, an option of one, or a scenario of one that is not skipped. `*` in the name of a scenario stands for
any part of it. A whole file of tests shows nothing in particular, and is refused. A row that names the table of
diagnostics has only codes that are in that table.

The first column has the numbers of the statements (`S1-3, 5–7`). Each statement of a document is in a row, and each
number in rows of one verdict: what is here begins with `otherwise:`, `partly:` or `missing:`, or else it is delivered.
What is delivered is shown by a name, the rest by a name or by a page. The table of counts at the beginning of the page
is what the rows give.
"""

import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tests.docs import rules

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "coverage.md"
SUITES = ROOT / "tests" / "acceptance"
DIAGNOSTICS = "tests/plugins/loading/test_codes.py"

STATEMENTS = {"S0": 65, "S1": 115, "S2": 71, "S3": 93}
"""The documents, each with the number of its statements."""
VERDICTS = ("delivered", "otherwise", "partly", "missing")

_NUMBERS = re.compile(r"(S\d)-((?:\d+(?:–\d+)?(?:, )?)+)")
_COUNTS = re.compile(r"^\| document \|.*?(?=^\n)", re.DOTALL | re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")
_DEFINED = re.compile(r"""(?:\bname:\s*|\b\w+\(\s*)f?(["'`])([\w.${}-]+)\1""")
_QUOTED = re.compile(r"""(["'`])([\w.-]+)\1""")
_HOLE = re.compile(r"\$?\{\w+\}")


@dataclass(frozen=True)
class Row:
    line: int
    numbers: tuple[str, ...]
    statement: str
    here: str
    shown_by: str

    @property
    def verdict(self) -> str:
        word = self.here.partition(":")[0]
        return word if word in VERDICTS[1:] else VERDICTS[0]

    @property
    def names(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.shown_by)

    @property
    def links(self) -> list[str]:
        return re.findall(r"\]\(([^)#]+)", self.shown_by)


def rows(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("| ") or line.startswith(("| no. |", "| document |", "| *")):
            continue
        cells = [cell.strip() for cell in _CELL.split(line.strip().removeprefix("|").removesuffix("|"))]
        numbers, statement, here, shown_by = cells if len(cells) == 4 else ("", cells[0], "", "")
        yield Row(number, tuple(expand(numbers)), statement, here, shown_by)


def expand(numbers: str) -> Iterator[str]:
    """The numbers of `S1-3, 5–7`, each whole."""
    match = _NUMBERS.fullmatch(numbers)
    for part in match[2].split(", ") if match else ():
        first, _, last = part.partition("–")
        yield from (f"{match[1]}-{number}" for number in range(int(first), int(last or first) + 1))  # type: ignore[index]


def verdicts(text: str) -> dict[str, set[str]]:
    """The verdicts of the rows that each statement is in."""
    found: dict[str, set[str]] = {
        f"{document}-{n}": set() for document, last in STATEMENTS.items() for n in range(1, last + 1)
    }
    for row in rows(text):
        for number in row.numbers:
            found.setdefault(number, set()).add(row.verdict)
    return found


def wrong_numbers(text: str) -> Iterator[str]:
    for number, found in verdicts(text).items():
        document, _, place = number.partition("-")
        if int(place) not in range(1, STATEMENTS[document] + 1):
            yield f"{number} is no statement"
        elif len(found) != 1:
            yield f"{number} is {' and '.join(sorted(found)) or 'in no row'}"


def count(text: str) -> str:
    """The table of counts."""
    found = {number: min(of) for number, of in verdicts(text).items() if of}
    lines = ["| document | " + " | ".join(VERDICTS) + " |", "|---|" + "---|" * len(VERDICTS)]
    for name, documents in {**{document: (document,) for document in STATEMENTS}, "all": tuple(STATEMENTS)}.items():
        mine = [verdict for number, verdict in found.items() if number.partition("-")[0] in documents]
        lines.append(f"| *{name}* | " + " | ".join(str(mine.count(verdict)) for verdict in VERDICTS) + " |")
    return "\n".join(lines) + "\n"


def problems(text: str) -> Iterator[str]:
    for row in rows(text):
        if not row.names and (row.verdict == VERDICTS[0] or not row.links):
            yield f"line {row.line}: nothing shows {row.statement!r}"
        for name in row.names:
            if problem := problem_of(name):
                yield f"line {row.line}: `{name}` {problem}"
        for code in missing_codes(row):
            yield f"line {row.line}: {code} is not in {DIAGNOSTICS}"
        for link in row.links:
            if not (PAGE.parent / link).exists():
                yield f"line {row.line}: there is no {link}"


def problem_of(name: str) -> str | None:
    """What is wrong with a name; None if it is found."""
    if "::" in name:
        path, _, test = name.partition("::")
        return None if path in files_of(test) else "is no test of that file"
    if re.fullmatch(r"test_\w+", name):
        found = files_of(name)
        if len(found) == 1:
            return None
        return f"is in {len(found)} files: name one of {', '.join(found)}" if found else "is no test"
    if name.endswith(".py") or name.startswith("tests/"):
        return "is no test: name those that show it"
    if "/" in name:
        return None if (ROOT / name).exists() else "does not exist"
    if name in skipped():
        return "is a scenario that is skipped"
    if name in suites() or name in recordings() or any(suite.has(name) for suite in suites().values()):
        return None
    return "is no suite, no scenario, no recording and no test"


def missing_codes(row: Row) -> list[str]:
    if not any(name.startswith(f"{DIAGNOSTICS}::") for name in row.names):
        return []
    table = (ROOT / DIAGNOSTICS).read_text()
    codes = re.findall(r"\b[EWI]\d{3}\b", row.here + row.shown_by)
    return [code for code in codes if f'Fault("{code}"' not in table]


@cache
def skipped() -> frozenset[str]:
    """Scenarios that `skips.txt` of their suite names, each in a line with its reason."""
    lines = [line for path in SUITES.glob("*/skips.txt") for line in path.read_text().splitlines()]
    return frozenset(line.split()[0] for line in lines if line.strip() and not line.startswith("#"))


@cache
def _tests() -> dict[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for name, path in rules.tests():
        found[name].append(path)
    return found


def files_of(test: str) -> list[str]:
    return _tests().get(test, [])


@cache
def recordings() -> frozenset[str]:
    """Without their endings."""
    files = [path for path in (ROOT / "tests" / "recordings").rglob("*") if path.is_file()]
    return frozenset(name for path in files for name in (path.name, path.stem, path.name.split(".request")[0]))


@dataclass
class Suite:
    """The names in a suite's sources. Those that are put together there are patterns, with holes."""

    defined: set[str] = field(default_factory=set)
    quoted: set[str] = field(default_factory=set)
    options: set[str] = field(default_factory=set)

    def read(self, text: str) -> None:
        self.defined |= {name for _, name in _DEFINED.findall(text)}
        self.defined |= set(re.findall(r"""\bgroup=["']([\w-]+)["']""", text))
        self.quoted |= {name for _, name in _QUOTED.findall(text)}
        self.options |= set(re.findall(r"""["'](--[\w-]+)["']""", text))

    def has(self, name: str) -> bool:
        if name.startswith("--"):
            return name in self.options
        return any(self._is(name, defined) for defined in self.defined)

    def _is(self, name: str, defined: str) -> bool:
        """A hole is filled with what the sources quote somewhere, or with `*`."""
        if not _HOLE.search(defined):
            return fnmatchcase(defined, name)
        parts = [re.escape(part) for part in _HOLE.split(defined)]
        if whole := re.fullmatch(r"([\w.*-]+)".join(parts), name):
            return all(hole == "*" or hole in self.quoted for hole in whole.groups())
        if not parts[0] or not (start := re.fullmatch(parts[0] + r"([\w.-]+)-\*", name)):
            return False
        return any(f"{quoted}-".startswith(f"{start[1]}-") for quoted in self.quoted)  # `*` is the rest of the name


@cache
def suites() -> dict[str, Suite]:
    found: dict[str, Suite] = {}
    for folder in sorted(path for path in SUITES.iterdir() if (path / "run").exists()):
        suite = found[folder.name] = Suite()
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".mjs", ".toml") or path.name == "run":
                suite.read(path.read_text())
        if (targets := folder / "targets.toml").exists():
            wanted = tomllib.loads(targets.read_text())
            suite.defined |= {f"{section}-{name}" for section, names in wanted.items() for name in names}
    return found


def generate() -> dict[Path, str]:
    text = PAGE.read_text()
    return {PAGE: _COUNTS.sub(count(text), text)}


if __name__ == "__main__":
    page = PAGE.read_text()
    sys.exit("\n".join([*problems(page), *wrong_numbers(page)]) or 0)
