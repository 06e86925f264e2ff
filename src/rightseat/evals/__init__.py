"""Evaluations: cases that are pinned from stored runs, replayed without a side effect, scored and compared."""
