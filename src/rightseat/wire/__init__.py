"""Bytes and values: pure translations, no sockets."""
