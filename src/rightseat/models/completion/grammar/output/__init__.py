"""Grammars in the languages of the backends."""
