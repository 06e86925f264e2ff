"""Responses to OpenBB Workspace: events and their encoder."""
