"""Parses a model's output, which arrives in pieces of text, into chunks."""
