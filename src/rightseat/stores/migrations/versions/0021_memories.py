"""What copilots remember about users, and which threads have had untrusted content."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.create_table(
        "memories",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("agent", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("memory", sa.Text, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("source_thread", sa.Text),
        sa.Column("source_run", sa.Text),
        sa.Column("source_message", sa.Text),
        sa.Column("source_tools", sa.Text, nullable=False),
        sa.Column("approved_by", sa.Text),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_memories"),
        sa.ForeignKeyConstraint(
            ["source_thread"], ["threads.id"], name="fk_memories_source_thread", ondelete="SET NULL"
        ),
    )
    op.create_index("ix_memories_digest", "memories", ["digest"], unique=True)
    op.create_index("ix_memories_owner_updated_at", "memories", ["owner", "updated_at", "id"])
    op.create_index("ix_memories_updated_at", "memories", ["updated_at", "id"])
    op.create_index("ix_memories_source_thread", "memories", ["source_thread"])
    op.create_index("ix_memories_expires_at", "memories", ["expires_at"])
    op.create_table(
        "suspect_sources",
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "source", name="pk_suspect_sources"),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_suspect_sources_thread_id", ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("suspect_sources")
    op.drop_table("memories")
