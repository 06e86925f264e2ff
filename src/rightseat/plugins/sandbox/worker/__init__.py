"""The sandboxed program that runs a plugin's tools; it imports only the standard library, nothing of rightseat."""
