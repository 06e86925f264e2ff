"""Which processes live, and their unfinished runs found without looking at all runs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "processes",
        sa.Column("id", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_processes"),
    )
    unfinished = sa.text("outcome IS NULL")
    op.create_index("ix_runs_unfinished", "runs", ["process"], postgresql_where=unfinished, sqlite_where=unfinished)
