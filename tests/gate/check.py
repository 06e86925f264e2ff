"""`just check`: lint, format, layers and types, beside the tests of what changed. `just check all`: of everything.

What changed is what git says: against the last commit, and the commits that the upstream branch does not have. Code in
`src/rightseat/faces/ai_sdk` has its tests in `tests/faces/ai_sdk`. The last line says what was left out.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.conftest import WHOLE

ROOT = Path(__file__).parents[2]
EVERYTHING = ("src/rightseat/core", "tests/conftest.py", "pyproject.toml", "requirements")
"""A change of these can break any test."""

ALWAYS = ("tests/test_class_names.py", "tests/test_dependencies.py")
"""Rules for the whole repository, in a second or two."""

TYPES = (sys.executable, "-m", "tests.gate.types")
SLOW = "not clients and not servers and not serial and not night and not backends"
PARTS_ONLY = f"{SLOW} and not whole"


@dataclass(frozen=True)
class Plan:
    """Which tests to run: files and folders, and an expression over marks."""

    paths: Sequence[str]
    marks: str
    left_out: str


def main() -> int:
    changed = list(read_changes())
    plan = plan_everything() if sys.argv[1:] == ["all"] else plan_tests(changed, ROOT)
    began = time.monotonic()
    environment = make_environment()
    types = subprocess.Popen(TYPES, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    steps = [["ruff", "check"], ["ruff", "format", "--check"], ["lint-imports", "--no-logo"]]
    if plan.paths:
        print("tests of", *plan.paths, flush=True)
        steps.append(["pytest", "-q", "-n", "auto", "--dist", "loadfile", "-m", plan.marks, *plan.paths])
    codes = {" ".join(step[:2]): subprocess.run(step, env=environment, check=False).returncode for step in steps}
    failed = [name for name, code in codes.items() if code not in (0, 5)]  # pytest's 5: no test was selected
    output, _ = types.communicate()
    print(output.strip())
    if types.returncode:
        failed.append("mypy")
    verdict = f"failed: {', '.join(failed)}" if failed else "passed"
    print(f"{verdict} in {time.monotonic() - began:.0f} s; not run: {plan.left_out}")
    return 1 if failed else 0


def make_environment() -> dict[str, str]:
    """Without byte code every process would compile what it imports, and pytest rewrite every assertion anew."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "HYPOTHESIS_PROFILE": "check"}


def read_changes() -> Iterator[str]:
    """Yield the paths that differ from the upstream branch, or where there is none, from the last commit."""
    upstream = ["git", "rev-parse", "--verify", "--quiet", "@{upstream}"]
    base = subprocess.run(upstream, capture_output=True, text=True, check=False).stdout.strip() or "HEAD"
    for command in (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"]):
        yield from subprocess.run(["git", *command], capture_output=True, text=True, check=True).stdout.splitlines()


def plan_everything() -> Plan:
    paths = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").iterdir()) if is_fast(path)]
    ignored = [f"--ignore=tests/{folder}" for folder in WHOLE if "/" in folder]
    return Plan([*ALWAYS, *paths, *ignored], PARTS_ONLY, "tests with servers, databases and processes (`just test`)")


def is_fast(path: Path) -> bool:
    """Whether a folder has tests of single parts: collecting the others takes longer than running these."""
    if path.is_file():
        return False
    return path.name not in (*WHOLE, "acceptance", "simulation", "measure", "servers") and any(path.rglob("test_*.py"))


def plan_tests(changed: Sequence[str], root: Path) -> Plan:
    if any(path.startswith(EVERYTHING) for path in changed):
        return plan_everything()
    paths = remove_nested(sorted({*ALWAYS, *(test for path in changed for test in find_tests(path, root))}))
    return Plan(paths, SLOW, "the tests of everything else (`just check all`, `just test`)")


def find_tests(path: str, root: Path) -> Iterator[str]:
    """Yield the tests of one changed file: its own folder of tests, or the nearest one above that exists."""
    parts = PurePosixPath(path)
    if path.startswith("src/rightseat/"):
        inner = parts.relative_to("src/rightseat")
        file = inner.parent / f"test_{inner.stem}.py"  # only where a part is a single file
        folders = [inner.with_suffix(""), *inner.parents]
        candidates = folders if len(inner.parts) > 2 else [file, *folders]
    elif path.startswith("tests/") and parts.name.startswith("test_") and (root / path).exists():
        candidates = [parts.relative_to("tests")]
    elif path.startswith("tests/") and not path.startswith("tests/acceptance/"):
        candidates = list(parts.relative_to("tests").parents)
    elif path.startswith(("docs/", "README", "CHANGELOG", "mkdocs")):
        candidates = [PurePosixPath("docs")]
    else:
        candidates = []
    for candidate in candidates:
        if candidate.parts and (root / "tests" / candidate).exists():
            yield f"tests/{candidate}"
            return


def remove_nested(paths: Iterable[str]) -> list[str]:
    """Leave out what lies in a folder that is named too; the paths are sorted."""
    kept: list[str] = []
    for path in paths:
        if not kept or not any(path.startswith(f"{folder}/") for folder in kept):
            kept.append(path)
    return kept


if __name__ == "__main__":
    sys.exit(main())
