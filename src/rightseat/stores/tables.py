"""The tables of the store. Times are ISO 8601 in UTC, as text; so is what is JSON. `migrations` makes them.

JSON is text because it is only ever read whole, and because PostgreSQL's own JSON refuses characters that people paste.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)

UNFINISHED = text("outcome IS NULL")
LOOSE = text("thread IS NULL")
OPEN = text("answered_at IS NULL")
Number = BigInteger().with_variant(Integer, "sqlite")

threads = Table(
    "threads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("name", Text),
    Column("archived", Boolean, nullable=False),
    Column("state", Text),
    Column("busy", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Index("ix_threads_owner_updated_at", "owner", "updated_at"),
)
"""`busy` is the run that has the thread."""

messages = Table(
    "messages",
    metadata,
    Column("thread", Text, ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("id", Text, nullable=False),
    Column("message", Text, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("number", Number, primary_key=True),
    Column("id", Text, nullable=False),
    Column("thread", Text, ForeignKey("threads.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("client_run_id", Text),
    Column("outcome", Text),
    Column("epoch", Integer, nullable=False),
    Column("process", BigInteger, nullable=False),
    Column("ask", Text),
    Column("created_at", Text, nullable=False),
    Column("finished_at", Text),
    Index("ix_runs_id", "id", unique=True),
    Index("ix_runs_thread", "thread"),
    Index("ix_runs_unfinished", "process", postgresql_where=UNFINISHED, sqlite_where=UNFINISHED),
)
"""`process` is the one that has it, and `ask` what another needs to end it; both matter until it is finished."""

interrupts = Table(
    "interrupts",
    metadata,
    Column("thread", Text, ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("run", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("interrupt", Text, nullable=False),
    Column("call", Text),
    Column("created_at", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("expires_at", Text),
    Column("answered_at", Text),
    Index("ix_interrupts_owner_answered_at", "owner", "answered_at"),
    Index("ix_interrupts_open", "expires_at", postgresql_where=OPEN, sqlite_where=OPEN),
)

files = Table(
    "files",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("thread", Text, ForeignKey("threads.id", ondelete="CASCADE")),
    Column("agent", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("created_at", Text, nullable=False),
    Index("ix_files_thread", "thread"),
    Index("ix_files_loose", "created_at", postgresql_where=LOOSE, sqlite_where=LOOSE),
)
"""Without a `thread`: of a run that nobody can come back to."""

mcp_pins = Table(
    "mcp_pins",
    metadata,
    Column("server", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("seen", Text),
    Column("updated_at", Text, nullable=False),
)
"""What tools of MCP servers look like, for all servers that share the database. `seen` is a change to be accepted."""

processes = Table(
    "processes",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("expires_at", Float, nullable=False),
    Column("doubted_at", Float),
    Column("backend", Integer),
    Column("booted_at", Float),
)
"""Those that live, on PostgreSQL: unix time by the database's clock, until which each has said that it does.

From `doubted_at` on that is doubted if the connection over which it was said is closed: if there is no `backend` any
more, on a database that runs since `booted_at`. A process of an earlier release leaves these out.
"""
