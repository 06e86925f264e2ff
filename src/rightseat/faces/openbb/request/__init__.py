"""Requests of OpenBB Workspace: types, parser and signed state."""
