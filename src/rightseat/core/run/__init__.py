"""The life of one run: start, execution, replay, durability and recovery."""
