"""What users think of answers."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "feedback",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("answer_key", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("thread_id", sa.Text),
        sa.Column("message_id", sa.Text),
        sa.Column("agent", sa.Text),
        sa.Column("model", sa.Text),
        sa.Column("face", sa.Text, nullable=False),
        sa.Column("value", sa.Integer, nullable=False),
        sa.Column("comment", sa.Text),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text),
        sa.Column("question", sa.Text),
        sa.Column("answer_text", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_feedback"),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_feedback_thread_id", ondelete="CASCADE"),
    )
    op.create_index("ix_feedback_owner_answer_key", "feedback", ["owner", "answer_key"], unique=True)
    op.create_index("ix_feedback_created_at", "feedback", ["created_at", "id"])
    op.create_index("ix_feedback_run_id", "feedback", ["run_id"])
    op.create_index("ix_feedback_thread_id", "feedback", ["thread_id"])


def downgrade() -> None:
    op.drop_table("feedback")
