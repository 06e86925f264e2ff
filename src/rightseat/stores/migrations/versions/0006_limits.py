"""Counters and reservations of limits, and the usage report."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

USAGE_KEY = ("day", "user", "key", "agent", "model", "purpose")
USAGE_COUNTS = (
    "requests",
    "refused",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "estimated_tokens",
    "cost",
)


def upgrade() -> None:
    op.create_table(
        "limit_counters",
        sa.Column("limit_name", sa.Text),
        sa.Column("rule", sa.Text),
        sa.Column("subject", sa.Text),
        sa.Column("buckets", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("limit_name", "rule", "subject", name="pk_limit_counters"),
    )
    op.create_index("ix_limit_counters_expires_at", "limit_counters", ["expires_at"])
    op.create_table(
        "limit_holds",
        sa.Column("id", sa.Text),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("process_id", sa.BigInteger, nullable=False),
        sa.Column("hold", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_limit_holds"),
    )
    op.create_index("ix_limit_holds_process_id", "limit_holds", ["process_id"])
    op.create_table(
        "usage",
        *(sa.Column(name, sa.Text) for name in USAGE_KEY),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in USAGE_COUNTS),
        sa.PrimaryKeyConstraint(*USAGE_KEY, name="pk_usage"),
    )
    if op.get_bind().dialect.name == "postgresql":  # rows that change often: new versions fit beside the old ones
        op.execute("ALTER TABLE limit_counters SET (fillfactor = 50)")
        op.execute("ALTER TABLE usage SET (fillfactor = 50)")


def downgrade() -> None:
    for table in ("usage", "limit_holds", "limit_counters"):
        op.drop_table(table)
