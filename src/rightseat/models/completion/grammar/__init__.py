"""What a model may say next: JSON Schema → nodes → the grammar of an engine."""
