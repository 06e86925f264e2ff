"""Traces, metrics and log lines of the server."""
