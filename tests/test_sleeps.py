"""A sleep is slow when a test passes and too short when it fails: tests wait for conditions instead.

Those that are left say why, and their number only falls.
"""

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SLEEPS = 46
"""In all tests outside `acceptance`. Lower it with each that goes; only a measurement or simulated time raises it."""
CURE = (
    "Wait for the condition with `until`, `wait_until` or `settle` of tests/conditions.py, or send at a pace with "
    "`Paced`; a fake that never responds awaits `asyncio.Event().wait()`."
)
DIRECTIVE = re.compile(r"# *(noqa|type: *ignore|fmt:|pragma)\b[^#]*")


class Sleep(NamedTuple):
    place: str
    has_reason: bool


def find_sleeps(source: str, path: str) -> list[Sleep]:
    comments = {
        token.start[0]: token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }

    def is_explained(call: ast.Call) -> bool:
        beside = [
            comments[line] for line in range(call.lineno, (call.end_lineno or call.lineno) + 1) if line in comments
        ]
        above = comments.get(call.lineno - 1)
        if above is not None and above.line.lstrip().startswith("#"):
            beside.append(above)
        return any(DIRECTIVE.sub("", comment.string).strip("# ") for comment in beside)

    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and is_sleep(node.func)]
    return [Sleep(f"{path}:{call.lineno}", is_explained(call)) for call in calls]


def is_sleep(function: ast.expr) -> bool:
    """`sleep` of asyncio, anyio, time or any other module."""
    match function:
        case ast.Name(id="sleep") | ast.Attribute(attr="sleep"):
            return True
    return False


@pytest.fixture(scope="module")
def sleeps() -> list[Sleep]:
    files = [file for file in sorted((ROOT / "tests").rglob("*.py")) if "acceptance" not in file.parts]
    texts = {file.relative_to(ROOT).as_posix(): file.read_text() for file in files}
    return [sleep for path, text in texts.items() if "sleep" in text for sleep in find_sleeps(text, path)]


def test_every_sleep_of_a_test_has_its_reason_in_a_comment(sleeps: list[Sleep]) -> None:
    unexplained = [sleep.place for sleep in sleeps if not sleep.has_reason]

    assert not unexplained, f"Sleeps without a comment that says why, beside them or above: {unexplained}. {CURE}"


def test_the_number_of_sleeps_in_tests_only_falls(sleeps: list[Sleep]) -> None:
    places = "\n".join(sleep.place for sleep in sleeps)

    assert len(sleeps) <= SLEEPS, f"{len(sleeps)} sleeps in tests, {SLEEPS} are allowed. {CURE}\n{places}"
    assert len(sleeps) == SLEEPS, f"Only {len(sleeps)} sleeps are left: set SLEEPS in {__name__} to that number."


@pytest.mark.parametrize(
    ("line", "has_reason"),
    [
        ("await asyncio.sleep(1)", False),
        ("await asyncio.sleep(1)  # noqa: ASYNC110", False),
        ("await asyncio.sleep(1)  # the rate that is measured", True),
        ("time.sleep(4)  # noqa: ASYNC251  # the loop stands still", True),
        ("# the lease has to expire\n    sleep(1)", True),
        ("wait()  # until then\n    sleep(1)", False),
        ("print('sleep(1)')", None),
    ],
)
def test_a_sleep_is_found_with_its_reason(line: str, has_reason: bool | None) -> None:
    found = find_sleeps(f"async def test() -> None:\n    {line}\n", "tests/test_it.py")

    assert [sleep.has_reason for sleep in found] == ([] if has_reason is None else [has_reason])
