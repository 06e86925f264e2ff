"""Errors of the grammar compiler."""

from rightseat.core.errors import SchemaNotSupported


class UnsatisfiableSchema(SchemaNotSupported):
    """No value is valid for the schema. If it is one of several options, the others remain."""
