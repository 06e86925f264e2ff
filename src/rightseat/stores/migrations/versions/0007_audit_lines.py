"""The audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "audit_lines",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit_lines"),
    )
    op.create_index("ix_audit_lines_at", "audit_lines", ["at"])


def downgrade() -> None:
    op.drop_table("audit_lines")
