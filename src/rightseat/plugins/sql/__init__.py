"""`call_type: sql`: a question is answered by a query that a model writes and two guards read.

Nothing is imported here: the child processes that check and run statements load modules of this package, and start in a
fifth of the time without the rest.
"""
