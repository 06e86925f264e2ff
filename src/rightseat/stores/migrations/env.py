"""Alembic runs this with the connection of `upgrade`, in its transaction."""

from alembic import context

from rightseat.stores.migrations import VERSION_TABLE
from rightseat.stores.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
context.run_migrations()
