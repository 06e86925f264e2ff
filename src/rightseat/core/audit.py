"""The logger of the audit log, and the attributes of its records. `operations.audit` keeps its lines."""

AUDIT_LOGGER = "rightseat.audit"
ROUTINE = "is_routine"
"""The attribute of log records for lines about single requests; they are not kept, or they would replace all others."""
KIND, USER = "audit_kind", "audit_user"
"""Attributes of log records. A routine line with a kind is stored all the same: the first use of a key in a day."""
