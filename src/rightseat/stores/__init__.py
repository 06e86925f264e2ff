"""Stores of threads."""
