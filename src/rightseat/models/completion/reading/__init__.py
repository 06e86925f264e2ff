"""What a model said, as text that comes in pieces → chunks."""
