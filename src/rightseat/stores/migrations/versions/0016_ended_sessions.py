"""The sessions that browsers have ended before they expire."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "ended_sessions",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_ended_sessions"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_ended_sessions_id", "ended_sessions", ["id"], unique=True)
    op.create_index("ix_ended_sessions_expires_at", "ended_sessions", ["expires_at"])


def downgrade() -> None:
    op.drop_table("ended_sessions")
