"""Fuzzing: input that is nearly right, for everything that reads what others send.

Each module with `TARGETS` covers one family of readers. A case is made from a seed alone, so it can be made again:

    python -m tests.fuzz sql --seed 4711 --count 1

`engine` runs cases and judges them, `mutation` spoils good input, `reduction` makes a failing case small.
"""
