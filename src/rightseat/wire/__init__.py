"""Encoders and decoders of wire formats. Nothing in this package opens a connection."""
