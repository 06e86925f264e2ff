"""Which run wrote a message, so that a user can judge the run by the id of its message."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
NAME = "ix_messages_id"
OF_RUN = sa.text("run_id IS NOT NULL")


def upgrade() -> None:
    op.add_column("messages", sa.Column("run_id", sa.Text))
    op.create_index(NAME, "messages", ["id"], postgresql_where=OF_RUN, sqlite_where=OF_RUN)


def downgrade() -> None:
    op.drop_index(NAME, "messages")
    op.drop_column("messages", "run_id")
