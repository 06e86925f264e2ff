"""Which clients and agents the tests use, in which versions, and what the last recorded run of each suite printed."""
