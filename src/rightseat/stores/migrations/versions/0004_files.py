"""Files and charts that runs have made."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("thread", sa.Text),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("media_type", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sa.ForeignKeyConstraint(["thread"], ["threads.id"], name="fk_files_thread", ondelete="CASCADE"),
    )
    op.create_index("ix_files_thread", "files", ["thread"])
    loose = sa.text("thread IS NULL")
    op.create_index("ix_files_loose", "files", ["created_at"], postgresql_where=loose, sqlite_where=loose)
