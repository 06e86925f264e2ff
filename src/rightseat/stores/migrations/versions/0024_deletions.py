"""Which threads and memories were deleted in the last hours, for lists that follow changes."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "deletions",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("row_id", sa.Text, nullable=False),
        sa.Column("deleted_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_deletions"),
    )
    op.create_index("ix_deletions_owner", "deletions", ["owner", "deleted_at"])
    op.create_index("ix_deletions_deleted_at", "deletions", ["deleted_at"])


def downgrade() -> None:
    op.drop_table("deletions")
