"""Shared by all faces: JSON responses, run streams, files and links to artifacts."""
