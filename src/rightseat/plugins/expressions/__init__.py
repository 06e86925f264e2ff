"""Expressions of plugin files: paths, conditions, templates and prompts."""
