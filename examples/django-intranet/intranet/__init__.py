"""An intranet whose people have a copilot."""
