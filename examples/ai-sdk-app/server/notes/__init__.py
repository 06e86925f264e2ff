"""The notes of the example, and a model for trying them without a key."""
