"""Ids that nobody can guess and nobody else will make."""

import os


def new_id(prefix: str) -> str:
    """128 random bits behind a prefix that says what they name: `run_3f…`."""
    return f"{prefix}_{os.urandom(16).hex()}"
