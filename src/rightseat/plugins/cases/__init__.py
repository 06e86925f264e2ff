"""A plugin's own tests: `tests/cases.yaml`, run offline."""

from rightseat.plugins.cases.reading import FILE, BadCases, Case, read
from rightseat.plugins.cases.running import Report, run_all

__all__ = ["FILE", "BadCases", "Case", "Report", "read", "run_all"]
