"""How many bytes clients have appended to a thread without a run, for a quota of each user."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
NAME = "ix_threads_appended"
APPENDED = sa.text("appended_bytes IS NOT NULL")


def upgrade() -> None:
    op.add_column("threads", sa.Column("appended_bytes", sa.BigInteger))
    op.create_index(NAME, "threads", ["owner"], postgresql_where=APPENDED, sqlite_where=APPENDED)


def downgrade() -> None:
    op.drop_index(NAME, "threads")
    op.drop_column("threads", "appended_bytes")
