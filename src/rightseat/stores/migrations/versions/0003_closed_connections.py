"""Over which connection a process said that it lives: one that is closed says that it was killed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("processes", sa.Column("doubted_at", sa.Float))
    op.add_column("processes", sa.Column("backend", sa.Integer))
    op.add_column("processes", sa.Column("booted_at", sa.Float))
