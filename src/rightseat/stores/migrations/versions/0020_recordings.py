"""What a replay of a run needs: the asks of runs, the payloads of answers, and transient runs as a whole."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("runs", sa.Column("request", sa.Text))
    op.add_column("interrupts", sa.Column("payload", sa.Text))
    op.create_table(
        "recordings",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("recording", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_recordings"),
    )
    op.create_index("ix_recordings_thread_id", "recordings", ["thread_id", "created_at"])
    op.create_index("ix_recordings_owner", "recordings", ["owner", "created_at"])
    op.create_index("ix_recordings_expires_at", "recordings", ["expires_at"])


def downgrade() -> None:
    op.drop_table("recordings")
    op.drop_column("interrupts", "payload")
    op.drop_column("runs", "request")
