"""Truncation of text."""

from rightseat.text import one_line, truncate, truncate_with_length


def test_a_text_that_fits_is_unchanged() -> None:
    assert truncate("abcd", 4) == truncate_with_length("abcd", 4) == "abcd"


def test_a_longer_text_is_truncated_to_the_limit() -> None:
    assert truncate("abcde", 4) == "abc…"


def test_the_full_length_of_a_longer_text_follows_its_beginning() -> None:
    assert truncate_with_length("a" * 12_345, 3) == "aaa… (12,345 characters)"


def test_white_space_becomes_single_spaces() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"
