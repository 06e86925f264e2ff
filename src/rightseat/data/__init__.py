"""Data that fits and documents that can be quoted: tables, files, and what of them goes to a model."""
