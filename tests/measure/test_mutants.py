"""Finding mutants, and the tests that judge them."""

from pathlib import Path

import pytest

from tests.gate.check import ROOT
from tests.measure.mutants import Mutant, Verdict, apply, compare, find_mutants, find_near_tests


def mutant(file: str, original: str = "1", replacement: str = "2") -> Mutant:
    return Mutant(file, 1, 0, original, replacement)


def test_a_mutant_is_a_changed_expression_in_a_function() -> None:
    text = "LIMIT = 3\n\ndef is_short(text: str) -> bool:\n    return len(text) <= LIMIT\n"

    assert {(one.original, one.replacement) for one in find_mutants("a.py", text)} == {
        ("len(text) <= LIMIT", "len(text) < LIMIT"),
        ("len(text) <= LIMIT", "None"),
    }


def test_a_mutant_is_put_at_the_place_nearest_to_where_it_was() -> None:
    assert apply(Mutant("a.py", 1, 9, "1", "2"), b"a = 1\nb = 1\n") == b"a = 1\nb = 2\n"


def test_the_tests_named_after_a_module_come_before_those_that_import_it() -> None:
    near = find_near_tests(mutant("src/rightseat/core/guards/verdicts.py"), ROOT)

    assert near[0] == "tests/core/guards/test_verdicts.py"


def test_a_module_that_no_test_imports_is_judged_by_the_tests_of_modules_that_import_it(tmp_path: Path) -> None:
    files = {
        "src/rightseat/core/inner.py": "",
        "src/rightseat/core/outer.py": "from rightseat.core import inner\n",
        "tests/core/test_other.py": "import json\n",
        "tests/core/test_part.py": "from rightseat.core.outer import inner\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert find_near_tests(mutant("src/rightseat/core/inner.py"), tmp_path) == ["tests/core/test_part.py"]


def test_a_mutant_that_was_killed_and_survives_now_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    killed, survived = Verdict("killed", "tests/test_app.py::test_a"), Verdict("survived")

    assert compare({"a": killed, "b": survived}, {"a": killed, "b": survived}) == 0
    assert compare({"a": survived, "b": survived}, {"a": killed, "b": survived}) == 0
    assert compare({"a": killed, "b": killed}, {"a": killed, "b": survived}) == 1
    assert capsys.readouterr().out.endswith(
        "Before: 2 killed.\n\nAfter: 1 killed, 1 survived.\n\n1 were killed before and are not now.\n"
    )
