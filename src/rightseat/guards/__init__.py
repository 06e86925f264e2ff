"""What may be said: checks before, while and after a model speaks. One file a guard."""
