"""Change one expression of the code at a time and see whether a test fails: the power of the tests.

    python -m tests.measure.mutants --json FILE        judge the 50 mutants of mutants.json, and write the verdicts
    python -m tests.measure.mutants --compare A B      what two such files differ in
    python -m tests.measure.mutants --draw SEED        draw others, over all of src, into mutants.json

Run it in a checkout of its own (`git worktree add`), for it edits the code while the tests run. A mutant is judged by
the tests of its folder, and by the contracts of parts; the first failure ends them. It is found again by its text, so
that tests can be compared whose code differs a little. A mutant that no test kills may be equivalent to the code.
"""

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.gate.check import ROOT, find_tests, remove_nested

LISTED = Path(__file__).parent / "mutants.json"
SAMPLE = 50
MIN_LINES = 25
TIMEOUT_S = 600
CONTRACTS = ("agents", "core", "logs", "models", "stores", "wire")
"""Folders whose code the contracts in tests/contracts test as well."""

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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.measure.mutants", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the verdicts there")
    parser.add_argument("--compare", type=Path, nargs=2, help="two such files")
    parser.add_argument("--draw", type=int, metavar="SEED", help="draw others")
    parser.add_argument("--first", type=int, default=0, help="begin with this one, to continue an earlier run")
    chosen = parser.parse_args()
    if chosen.compare:
        return compare(*(json.loads(path.read_text()) for path in chosen.compare))
    if chosen.draw is not None:
        drawn = [asdict(mutant) for mutant in draw_mutants(ROOT, random.Random(chosen.draw))]
        LISTED.write_text(json.dumps(drawn, indent=1, ensure_ascii=False) + "\n")
        return 0
    verdicts: dict[str, str] = {}
    mutants = [Mutant(**entry) for entry in json.loads(LISTED.read_text())]
    for number, mutant in list(enumerate(mutants))[chosen.first :]:
        tests = select_tests(mutant)
        verdicts[str(mutant)] = verdict = judge(mutant, tests)
        sys.stdout.write(f"{number:3} {verdict:8} {mutant}  ({' '.join(tests)})\n")
        sys.stdout.flush()
        if chosen.json:
            chosen.json.write_text(json.dumps(verdicts, indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{sum(verdict == 'killed' for verdict in verdicts.values())} of {len(verdicts)} killed\n")
    return 0


def draw_mutants(root: Path, source: random.Random) -> Iterator[Mutant]:
    """Yield one mutant of each of the chosen modules; a longer module is chosen more often."""
    modules = sorted((root / "src" / "rightseat").rglob("*.py"))
    texts = {path: path.read_text() for path in modules}
    long = [path for path in modules if texts[path].count("\n") >= MIN_LINES]
    weights = [texts[path].count("\n") for path in long]
    drawn: set[Path] = set()
    while len(drawn) < SAMPLE:
        (path,) = source.choices(long, weights)
        mutants = [] if path in drawn else list(find_mutants(path.relative_to(root).as_posix(), texts[path]))
        if mutants:
            drawn.add(path)
            yield source.choice(mutants)


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


def select_tests(mutant: Mutant) -> Sequence[str]:
    folder = mutant.file.split("/")[2]
    contracts = ["tests/contracts"] if folder in CONTRACTS else []
    return remove_nested(sorted({*find_tests(mutant.file, ROOT), *contracts}))


def judge(mutant: Mutant, tests: Sequence[str]) -> str:
    """Return `killed`, `survived`, `timeout`, `untested`, or `gone` if the code is not there any more."""
    path = ROOT / mutant.file
    if not path.exists() or mutant.original.encode() not in path.read_bytes():
        return "gone"
    if not tests:
        return "untested"
    original = path.read_bytes()
    marks = "not clients and not servers and not backends"
    program = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-n", "2", "--dist", "loadfile", "-m", marks, *tests]
    try:
        path.write_bytes(apply(mutant, original))
        began = time.monotonic()
        ended = subprocess.run(program, capture_output=True, cwd=ROOT, env={**os.environ, "CI": ""}, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        path.write_bytes(original)
    sys.stderr.write(f"{time.monotonic() - began:.0f} s\n")
    return "survived" if ended.returncode in (0, 5) else "killed"


def apply(mutant: Mutant, source: bytes) -> bytes:
    """Put the replacement where the original is, at the place nearest to where it was."""
    original = mutant.original.encode()
    places = [place.start() for place in re.finditer(re.escape(original), source)]
    start = min(places, key=lambda place: abs(place - mutant.offset))
    return source[:start] + mutant.replacement.encode() + source[start + len(original) :]


def compare(before: dict[str, str], after: dict[str, str]) -> int:
    differing = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    for name in differing:
        sys.stdout.write(f"{before.get(name, 'not run'):8} → {after.get(name, 'not run'):8} {name}\n")
    sys.stdout.write(f"{len(differing)} of {len(before)} differ\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
