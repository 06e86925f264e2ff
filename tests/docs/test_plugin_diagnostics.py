"""Every rule of plugins and flows has a test, and the page names it."""

import re

from tests.docs import rules

PAGE = rules.PAGE.read_text()
FOUND = rules.by_number()


def test_the_tests_that_the_page_names_belong_to_the_rule() -> None:
    """A new test of a rule may be missing on the page; a named test must exist."""
    for number in rules.RULES:
        (row,) = re.findall(rf"^\| R-{re.escape(number)} \|.*$", PAGE, re.MULTILINE)
        named = re.findall(r"`(test_\w+)`", row)
        known = {test.partition("::")[2] for test in FOUND[number]}

        assert named, number
        assert sorted(set(named) - known) == [], "run `just generate`"


def test_every_rule_is_shown_by_a_test() -> None:
    assert [number for number in rules.RULES if not FOUND[number]] == []


def test_every_scenario_is_shown_by_a_test() -> None:
    names = dict(rules.tests())

    assert [name for _, more in rules.SCENARIOS.values() for name in more if name not in names] == []
    assert [number for number, (_, more) in rules.SCENARIOS.items() if not FOUND[f"17.{number}"] and not more] == []


def test_a_test_that_names_a_rule_names_one_that_there_is() -> None:
    known = {*rules.RULES, *(f"17.{number}" for number in rules.SCENARIOS)}

    assert sorted({number for number, tests in FOUND.items() if tests} - known) == []
