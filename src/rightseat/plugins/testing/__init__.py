"""Runs the test cases of a plugin (`tests/cases.yaml`) offline."""

from rightseat.plugins.testing.case_runner import CaseReport, run_all, run_plugin
from rightseat.plugins.testing.cases import FILE, BadCases, PluginCase, read_cases

__all__ = ["FILE", "BadCases", "CaseReport", "PluginCase", "read_cases", "run_all", "run_plugin"]
