"""Shortens text for messages, prompts and the terminal, and folds it for searches."""

import unicodedata


def truncate(text: str, limit: int) -> str:
    """At most `limit` characters; a longer text ends in "…"."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def truncate_with_length(text: str, limit: int) -> str:
    """The first `limit` characters of a longer text, followed by its full length."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def one_line(text: str) -> str:
    """Replace each run of white space by one space."""
    return " ".join(text.split())


def fold_text(text: str) -> str:
    """The text as it is searched: case and width of characters do not count."""
    normalized = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return normalized.casefold().replace("\0", "")
