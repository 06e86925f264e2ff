"""The tool of the agent `looping` of the suite limits."""


def again() -> str:
    """Return a word, so that the model can call it again."""
    return "again"
