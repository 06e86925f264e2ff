"""A shop whose people have a copilot."""
