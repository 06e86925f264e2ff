"""`call_type: sql`: a question is answered by a query that a model writes and two guards read."""

from rightseat.plugins.sql.asking import query
from rightseat.plugins.sql.databases import Binding, Databases, Source

__all__ = ["Binding", "Databases", "Source", "query"]
