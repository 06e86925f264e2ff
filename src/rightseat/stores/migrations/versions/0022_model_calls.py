"""What models were sent, call by call, and the contents of these prompts."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "model_calls",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("sent", sa.Text, nullable=False),
        sa.Column("ended", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_model_calls"),
    )
    op.create_index("ix_model_calls_run_id", "model_calls", ["run_id", "created_at"])
    op.create_index("ix_model_calls_thread_id", "model_calls", ["thread_id"])
    op.create_index("ix_model_calls_owner", "model_calls", ["owner", "created_at"])
    op.create_index("ix_model_calls_expires_at", "model_calls", ["expires_at"])
    op.create_table(
        "prompt_contents",
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "owner", "hash", name="pk_prompt_contents"),
    )
    op.create_index("ix_prompt_contents_owner", "prompt_contents", ["owner"])
    op.create_index("ix_prompt_contents_expires_at", "prompt_contents", ["expires_at"])


def downgrade() -> None:
    op.drop_table("prompt_contents")
    op.drop_table("model_calls")
