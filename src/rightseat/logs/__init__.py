"""Where runs are written and read."""
