"""Threads, their messages, runs and open questions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "threads",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("archived", sa.Boolean, nullable=False),
        sa.Column("state", sa.Text),
        sa.Column("busy", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_threads"),
    )
    op.create_index("ix_threads_owner_updated_at", "threads", ["owner", "updated_at"])
    op.create_table(
        "messages",
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("thread", "position", name="pk_messages"),
        sa.ForeignKeyConstraint(["thread"], ["threads.id"], name="fk_messages_thread", ondelete="CASCADE"),
    )
    op.create_table(
        "runs",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("client_run_id", sa.Text),
        sa.Column("outcome", sa.Text),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("process", sa.BigInteger, nullable=False),
        sa.Column("ask", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("finished_at", sa.Text),
        sa.PrimaryKeyConstraint("number", name="pk_runs"),
        sa.ForeignKeyConstraint(["thread"], ["threads.id"], name="fk_runs_thread", ondelete="CASCADE"),
    )
    op.create_index("ix_runs_id", "runs", ["id"], unique=True)
    op.create_index("ix_runs_thread", "runs", ["thread"])
    op.create_table(
        "interrupts",
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("interrupt", sa.Text, nullable=False),
        sa.Column("call", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.Column("answered_at", sa.Text),
        sa.PrimaryKeyConstraint("thread", "id", name="pk_interrupts"),
        sa.ForeignKeyConstraint(["thread"], ["threads.id"], name="fk_interrupts_thread", ondelete="CASCADE"),
    )
    op.create_index("ix_interrupts_owner_answered_at", "interrupts", ["owner", "answered_at"])


def downgrade() -> None:
    for table in ("interrupts", "runs", "messages", "threads"):
        op.drop_table(table)
