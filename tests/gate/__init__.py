"""What `.ci/run`, `.ci/nightly` and `just check` decide by: which tests to run, which skips are allowed."""
