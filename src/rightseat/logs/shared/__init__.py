"""Logs on a server that several processes share: writer, subscriber and the seam to the backend."""
