"""All tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _create_threads()
    _create_messages()
    _create_runs()
    _create_interrupts()
    _create_files()
    _create_mcp_pins()
    _create_processes()


def downgrade() -> None:
    for table in ("processes", "mcp_pins", "files", "interrupts", "runs", "messages", "threads"):
        op.drop_table(table)


def _create_threads() -> None:
    op.create_table(
        "threads",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("archived", sa.Boolean, nullable=False),
        sa.Column("state", sa.Text),
        sa.Column("active_run_id", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_threads"),
    )
    op.create_index("ix_threads_owner_updated_at", "threads", ["owner", "updated_at"])


def _create_messages() -> None:
    op.create_table(
        "messages",
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "position", name="pk_messages"),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_messages_thread_id", ondelete="CASCADE"),
    )


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("client_run_id", sa.Text),
        sa.Column("outcome", sa.Text),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("process_id", sa.BigInteger, nullable=False),
        sa.Column("ask", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("finished_at", sa.Text),
        sa.PrimaryKeyConstraint("number", name="pk_runs"),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_runs_thread_id", ondelete="CASCADE"),
    )
    op.create_index("ix_runs_id", "runs", ["id"], unique=True)
    op.create_index("ix_runs_thread_id", "runs", ["thread_id"])
    unfinished = sa.text("outcome IS NULL")
    op.create_index("ix_runs_unfinished", "runs", ["process_id"], postgresql_where=unfinished, sqlite_where=unfinished)


def _create_interrupts() -> None:
    op.create_table(
        "interrupts",
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("interrupt", sa.Text, nullable=False),
        sa.Column("tool_call", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.Column("answered_at", sa.Text),
        sa.PrimaryKeyConstraint("thread_id", "id", name="pk_interrupts"),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_interrupts_thread_id", ondelete="CASCADE"),
    )
    op.create_index("ix_interrupts_owner_answered_at", "interrupts", ["owner", "answered_at"])
    is_open = sa.text("answered_at IS NULL")
    op.create_index("ix_interrupts_open", "interrupts", ["expires_at"], postgresql_where=is_open, sqlite_where=is_open)


def _create_files() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("thread_id", sa.Text),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("media_type", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_files_thread_id", ondelete="CASCADE"),
    )
    op.create_index("ix_files_thread_id", "files", ["thread_id"])
    unattached = sa.text("thread_id IS NULL")
    op.create_index(
        "ix_files_without_thread", "files", ["created_at"], postgresql_where=unattached, sqlite_where=unattached
    )


def _create_mcp_pins() -> None:
    op.create_table(
        "mcp_pins",
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("new_definition", sa.Text),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("server", "name", name="pk_mcp_pins"),
    )


def _create_processes() -> None:
    op.create_table(
        "processes",
        sa.Column("id", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("suspect_after", sa.Float),
        sa.Column("backend_pid", sa.Integer),
        sa.Column("database_started_at", sa.Float),
        sa.PrimaryKeyConstraint("id", name="pk_processes"),
    )
