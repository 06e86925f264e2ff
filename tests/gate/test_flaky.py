"""What tests/flaky.toml may hold."""

from datetime import date, timedelta
from pathlib import Path

from tests.gate.flaky import MAX_ENTRIES, Flaky, find_problems, read_flaky

TODAY = date(2026, 11, 18)


def test_five_entries_are_allowed_and_six_are_not() -> None:
    entries = [Flaky(f"tests/test_{number}.py", TODAY, "the webhook has 0.2 s") for number in range(MAX_ENTRIES + 1)]

    assert not find_problems(entries[:-1], TODAY, is_night=False)
    assert find_problems(entries, TODAY, is_night=False) == [
        "6 entries, and at most 5 are allowed: mend one before you add one"
    ]


def test_an_entry_without_a_cause_or_from_the_future_is_refused() -> None:
    entries = [Flaky("console/axe", TODAY, " "), Flaky("console/phone", TODAY + timedelta(days=1), "a slow frame")]

    assert find_problems(entries, TODAY, is_night=False) == [
        "console/axe: the cause is empty",
        "console/phone: 2026-11-19 is in the future",
    ]


def test_only_the_night_fails_for_an_entry_of_more_than_two_weeks() -> None:
    old = [Flaky("console/axe", TODAY - timedelta(days=15), "a slow frame")]

    assert not find_problems(old, TODAY, is_night=False)
    assert find_problems(old, TODAY, is_night=True) == ["console/axe: since 2026-11-03, more than 14 days ago"]


def test_the_form_that_the_file_shows_is_read(tmp_path: Path) -> None:
    file = tmp_path / "flaky.toml"
    file.write_text('[[flaky]]\nname = "console/axe"\nsince = 2026-11-18\ncause = "a slow frame"\n')

    assert read_flaky(file) == [Flaky("console/axe", TODAY, "a slow frame")]
    assert len(read_flaky()) <= MAX_ENTRIES
