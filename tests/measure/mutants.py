"""Change one expression of the code at a time and see whether a test fails: the power of the tests.

    python -m tests.measure.mutants --json FILE        judge the 50 mutants of mutants.json, and write the verdicts
    python -m tests.measure.mutants --compare A B      what two such files differ in, as a table
    python -m tests.measure.mutants --draw SEED        draw others, over all of src, into mutants.json
    … --list FILE                                      another list than mutants.json: plugin_mutants.json
    … --draw SEED --list FILE --size 100 --under F …   draw into it, from these folders alone

The code changes while the tests run, so run it on a checkout of its own (`git worktree add`) with an environment in its
`.venv`, and name it: `--checkout ../before`. A mutant is judged by test files that are named after its module or import
it; if none of them fails, by all tests of its folder and by the contracts of parts. The first failure ends both. In the
end the tests that failed run on the code as it was: one that fails there as well has killed nothing. A mutant is found
again by its text, so that tests can be compared whose code differs a little. A mutant that no test kills may be
equivalent to the code.
"""

import argparse
import ast
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from tests.gate.check import ROOT, find_tests, remove_nested

LISTED = Path(__file__).parent / "mutants.json"
SAMPLE = 50
MIN_LINES = 25
TIMEOUT_S = 600
MAX_NEAR_FILES = 8
MAX_DISTANCE = 3
"""Imports between a test and the module."""
CONTRACTS = ("agents", "core", "logs", "models", "stores", "wire")
"""Folders whose code the contracts in tests/contracts test as well."""

OTHERS = ("tests/acceptance/", "tests/simulation/")
"""These are never near: a suite is no test, and a simulation takes minutes."""

LEFT_OUT = ("clients", "servers", "backends", "serial", "night")
PYTEST = ("-m", "pytest", "-q", "--assert=plain", "--tb=no")
"""Without rewritten assertions, which cost more than most of these tests take."""

UNSET = ("CI", "PYTHONDONTWRITEBYTECODE")
"""In CI a test that is skipped without an entry fails; without byte code each run would compile the libraries."""

NO_TESTS = (0, 5)
"""Codes of pytest where no test failed, the second where none was selected."""

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}


@dataclass(frozen=True)
class Mutant:
    """A place in a file, what is there, and what is put there."""

    file: str
    line: int
    offset: int
    original: str
    replacement: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.original} → {self.replacement}"


@dataclass(frozen=True)
class Verdict:
    """`killed`, `survived`, `timeout`, `untested`, or `gone` if the code is not there any more."""

    verdict: str
    by: str = ""
    """The test that failed first."""


Verdicts = dict[str, Verdict]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.measure.mutants", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the verdicts there; those that the file has are kept")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="the folder of another checkout of this project")
    parser.add_argument("--hints", type=Path, help="the verdicts of another checkout, whose tests are tried first")
    parser.add_argument("--compare", type=Path, nargs=2, help="two such files")
    parser.add_argument("--draw", type=int, metavar="SEED", help="draw others")
    parser.add_argument("--list", type=Path, default=LISTED, help="the list of mutants")
    parser.add_argument("--size", type=int, default=SAMPLE, help="how many to draw")
    parser.add_argument("--under", nargs="+", default=["src/rightseat"], metavar="FOLDER", help="where to draw them")
    chosen = parser.parse_args()
    if chosen.compare:
        return compare(*(read_verdicts(path) for path in chosen.compare))
    if chosen.draw is not None:
        drawn = draw_mutants(ROOT, random.Random(chosen.draw), chosen.under, chosen.size)
        chosen.list.write_text(json.dumps([*map(asdict, drawn)], indent=1, ensure_ascii=False) + "\n")
        return 0
    verdicts = judge_all(chosen.checkout.resolve(), chosen.list, chosen.json, chosen.hints)
    sys.stdout.write(f"{sum(one.verdict == 'killed' for one in verdicts.values())} of {len(verdicts)} killed\n")
    return 0


def judge_all(root: Path, listed: Path, file: Path | None, hints: Path | None) -> Verdicts:
    """Judge the listed mutants by the tests near them, then those that survived by all tests of their folder.

    `hints` are verdicts of another checkout: the test that killed a mutant there is tried first.
    """
    verdicts = read_verdicts(file) if file and file.exists() else {}
    mutants = [Mutant(**entry) for entry in json.loads(listed.read_text())]
    for is_wide in (False, True):
        for number, mutant in enumerate(mutants):
            known = verdicts.get(str(mutant))
            if known and (known.verdict != "near" or not is_wide):
                continue
            began = time.monotonic()
            found = judge(mutant, root, find_hinted_tests(mutant, root, hints))
            if found.verdict in ("survived", "untested"):
                found = judge(mutant, root, select_tests(mutant, root) if is_wide else find_near_tests(mutant, root))
            if not is_wide and found.verdict in ("survived", "untested"):
                found = Verdict("near")
            verdicts[str(mutant)] = found
            took = time.monotonic() - began
            sys.stdout.write(f"{number:3} {found.verdict:8} {mutant}  {found.by} ({took:.0f} s)\n")
            sys.stdout.flush()
            write_verdicts(file, verdicts)
    for name in find_false_kills(root, verdicts):
        sys.stdout.write(f"fails without a mutant: {verdicts[name].by}; judge this one again: {name}\n")
        del verdicts[name]
    write_verdicts(file, verdicts)
    return verdicts


def read_verdicts(file: Path) -> Verdicts:
    return {name: Verdict(**fields) for name, fields in json.loads(file.read_text()).items()}


def write_verdicts(file: Path | None, verdicts: Verdicts) -> None:
    if file:
        fields = {name: asdict(verdict) for name, verdict in verdicts.items()}
        written = file.with_suffix(".tmp")
        written.write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n")
        written.replace(file)  # another run may read it for hints


def find_false_kills(root: Path, verdicts: Mapping[str, Verdict]) -> Sequence[str]:
    """The mutants whose test fails on the code as it was."""
    tests = sorted({verdict.by for verdict in verdicts.values() if verdict.by})
    failed = run_tests(root, tests, is_first_enough=False) if tests else ()
    return [name for name, verdict in verdicts.items() if verdict.by in failed]


def draw_mutants(root: Path, source: random.Random, folders: Sequence[str], size: int) -> Iterator[Mutant]:
    """Yield mutants of modules, a longer module more often, and each module once as long as there are others."""
    modules = sorted({path for folder in folders for path in (root / folder).rglob("*.py")})
    texts = {path: path.read_text() for path in modules}
    left = {path: list(find_mutants(path.relative_to(root).as_posix(), texts[path])) for path in modules}
    left = {path: mutants for path, mutants in left.items() if mutants and texts[path].count("\n") >= MIN_LINES}
    drawn: set[Path] = set()
    for _ in range(size):
        fresh = [path for path in left if path not in drawn] or [path for path, mutants in left.items() if mutants]
        (path,) = source.choices(fresh, [texts[path].count("\n") for path in fresh])
        drawn.add(path)
        yield left[path].pop(source.randrange(len(left[path])))


def find_mutants(file: str, text: str) -> Iterator[Mutant]:
    """Yield every change of a comparison, a condition, a constant or a returned value in functions."""
    source = text.encode()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr, replacement: str) -> Iterator[Mutant]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        original = source[start:end].decode(errors="replace")
        if "\n" not in original and is_same(original, node):  # places in f-strings are not exact
            yield Mutant(file, node.lineno, start, original, replacement)

    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in (node for function in functions for statement in function.body for node in ast.walk(statement)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield from place(node, f"{ast.unparse(left)} {COMPARISONS[type(operator)]} {ast.unparse(right)}")
            case ast.BoolOp(op=operator, values=values):
                word = "or" if isinstance(operator, ast.And) else "and"
                yield from place(node, f" {word} ".join(f"({ast.unparse(value)})" for value in values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield from place(node, f"bool({ast.unparse(operand)})")
            case ast.Constant(value=bool(value)):
                yield from place(node, str(not value))
            case ast.Constant(value=int(value)):
                yield from place(node, str(value + 1))
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield from place(value, "None")
            case _:
                pass


def is_same(text: str, node: ast.expr) -> bool:
    try:
        return ast.dump(ast.parse(text, mode="eval").body) == ast.dump(node)
    except SyntaxError:
        return False


def find_hinted_tests(mutant: Mutant, root: Path, hints: Path | None) -> Sequence[str]:
    hint = read_verdicts(hints).get(str(mutant)) if hints and hints.exists() else None
    place, _, function = (hint.by if hint else "").partition("[")[0].partition("::")
    if not function or not (root / place).exists() or f"def {function}(" not in (root / place).read_text():
        return ()
    return [f"{place}::{function}"]


def find_near_tests(mutant: Mutant, root: Path) -> Sequence[str]:
    """Test files that are named after the module or import it, those of its folder first, then the shortest.

    Where its folder has none, those that import a module which imports it.
    """
    name = PurePosixPath(mutant.file).stem
    own = tuple(place if place.endswith(".py") else f"{place}/" for place in find_tests(mutant.file, root))
    tests = {path: path.read_text() for path in sorted((root / "tests").rglob("test_*.py"))}
    code = {path: path.read_text() for path in sorted((root / "src" / "rightseat").rglob("*.py"))}
    modules = [root / mutant.file]
    found: list[tuple[bool, bool, int, str]] = []
    for _ in range(MAX_DISTANCE):
        imports = re.compile("|".join(match_import(find_name(path, root)) for path in modules), re.MULTILINE)
        found = []
        for path, text in tests.items():
            place = path.relative_to(root).as_posix()
            is_named = path.stem == f"test_{name}" and place.startswith(own)
            if (is_named or imports.search(text)) and not place.startswith(OTHERS):
                found.append((not is_named, not place.startswith(own), len(text), place))
        if any(not is_elsewhere for _, is_elsewhere, *_ in found) or (found and not own):
            break
        modules = [path for path, text in code.items() if imports.search(text)]
    return [place for *_, place in sorted(found)[:MAX_NEAR_FILES]]


def find_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def match_import(module: str) -> str:
    package, _, name = (re.escape(part) for part in module.rpartition("."))
    return rf"^\s*(?:from {package}\.{name} import|import {package}\.{name}\b|from {package} import .*\b{name}\b)"


def select_tests(mutant: Mutant, root: Path) -> Sequence[str]:
    folder = mutant.file.split("/")[2]
    contracts = ["tests/contracts"] if folder in CONTRACTS else []
    return [*remove_nested(sorted(find_tests(mutant.file, root))), *contracts]


def judge(mutant: Mutant, root: Path, tests: Sequence[str]) -> Verdict:
    path = root / mutant.file
    if not path.exists() or mutant.original.encode() not in path.read_bytes():
        return Verdict("gone")
    if not tests:
        return Verdict("untested")
    original = path.read_bytes()
    try:
        path.write_bytes(apply(mutant, original))
        failed = run_tests(root, tests)
    except subprocess.TimeoutExpired:
        return Verdict("timeout")
    finally:
        path.write_bytes(original)
    return Verdict("killed", failed[0]) if failed else Verdict("survived")


def run_tests(root: Path, tests: Iterable[str], *, is_first_enough: bool = True) -> Sequence[str]:
    """Return the tests or files that fail, or with `is_first_enough` one of them, within `TIMEOUT_S`."""
    with tempfile.TemporaryDirectory() as cache:
        options = ["-m", select_marks(root), *(["-x"] if is_first_enough else [])]
        program = [str(root / ".venv" / "bin" / "python"), *PYTEST, *options, "-o", f"cache_dir={cache}", *tests]
        environment = {name: value for name, value in os.environ.items() if name not in UNSET}
        with subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=root, env=environment, start_new_session=True
        ) as process:
            try:
                printed, _ = process.communicate(timeout=TIMEOUT_S if is_first_enough else None)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode in NO_TESTS:
            return ()
        last = Path(cache) / "v" / "cache" / "lastfailed"
        if not last.exists():
            raise RuntimeError(f"pytest ended with {process.returncode}:\n{printed.decode(errors='replace')[-2000:]}")
        return list(json.loads(last.read_text()))


def select_marks(root: Path) -> str:
    """Without the marks that this checkout does not know, which pytest refuses."""
    known = (root / "pyproject.toml").read_text()
    return " and ".join(f"not {mark}" for mark in LEFT_OUT if f'"{mark}: ' in known)


def apply(mutant: Mutant, source: bytes) -> bytes:
    """Put the replacement where the original is, at the place nearest to where it was."""
    original = mutant.original.encode()
    places = [place.start() for place in re.finditer(re.escape(original), source)]
    start = min(places, key=lambda place: abs(place - mutant.offset))
    return source[:start] + mutant.replacement.encode() + source[start + len(original) :]


def compare(before: Verdicts, after: Verdicts) -> int:
    """Print a table in Markdown, and below it how many were killed; 1 if one was killed before and is not now."""
    lost = 0
    sys.stdout.write("| before | after | mutant | killed now, or else before, by |\n|---|---|---|---|\n")
    for name in dict.fromkeys([*before, *after]):
        then, now = (verdicts.get(name, Verdict("not run")) for verdicts in (before, after))
        lost += then.verdict == "killed" and now.verdict != "killed"
        test = (now.by or then.by).partition("[")[0]
        cells = [then.verdict, now.verdict, f"`{name.replace('|', '¦')}`", f"`{test}`" if test else ""]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
    for title, verdicts in (("Before", before), ("After", after)):
        counted = Counter(one.verdict for one in verdicts.values())
        sys.stdout.write(
            f"\n{title}: {', '.join(f'{number} {verdict}' for verdict, number in counted.most_common())}.\n"
        )
    sys.stdout.write(f"\n{lost} were killed before and are not now.\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
