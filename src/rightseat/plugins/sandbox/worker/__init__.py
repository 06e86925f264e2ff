"""The program in which a plugin's tools run. It uses the standard library alone, and imports nothing of rightseat."""
