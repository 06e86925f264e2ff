"""Alembic calls this with the connection that `upgrade` was given, in its transaction."""

from alembic import context

from rightseat.stores.migrations import VERSIONS
from rightseat.stores.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSIONS)
context.run_migrations()
