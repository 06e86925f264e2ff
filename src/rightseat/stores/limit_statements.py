"""The statements of counting for each dialect."""

from rightseat.stores.limit_rows import LimitStatements
from rightseat.stores.limits_postgresql import PostgresStatements
from rightseat.stores.limits_sqlite import SqliteStatements

STATEMENTS: dict[str, LimitStatements] = {"postgresql": PostgresStatements(), "sqlite": SqliteStatements()}
"""By SQLAlchemy's name of the dialect."""
