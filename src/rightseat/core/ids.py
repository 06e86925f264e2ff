"""Random ids: unguessable and unique."""

import os


def new_id(prefix: str) -> str:
    """A prefix for the kind of object, followed by 128 random bits: `run_3f…`."""
    return f"{prefix}_{os.urandom(16).hex()}"
