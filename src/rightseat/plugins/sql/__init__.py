"""`call_type: sql`: a model writes a query, which two independent checks restrict to reading the catalog.

This file imports nothing: the child processes that check and run statements load single modules of the package, and
start in a fifth of the time without the others.
"""
