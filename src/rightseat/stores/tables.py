"""The tables of the store. Times are ISO 8601 in UTC, as text; so is JSON. `migrations` creates them.

JSON is text because it is always read as a whole, and because PostgreSQL's own JSON refuses characters that people
paste.
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
APPENDED = text("appended_bytes IS NOT NULL")
WITHOUT_THREAD = text("thread_id IS NULL")
OPEN = text("answered_at IS NULL")
OF_RUN = text("run_id IS NOT NULL")
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
    Column("active_run_id", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("appended_bytes", BigInteger),
    Index("ix_threads_owner_updated_at", "owner", "updated_at", "id"),
    Index("ix_threads_updated_at", "updated_at", "id"),
    Index("ix_threads_appended", "owner", postgresql_where=APPENDED, sqlite_where=APPENDED),
)
"""`active_run_id` is the run that holds the thread. `appended_bytes` counts what was appended without a run."""

messages = Table(
    "messages",
    metadata,
    Column("thread_id", Text, ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("id", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("run_id", Text),
    Index("ix_messages_id", "id", postgresql_where=OF_RUN, sqlite_where=OF_RUN),
)
"""`run_id` is the run that wrote the message; those of users, and those stored by an earlier version, have none."""

message_texts = Table(
    "message_texts",
    metadata,
    Column("thread_id", Text, ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    sqlite_with_rowid=False,
)
"""The text of users and assistants, as `text.fold_text` returns it, for the search. A message without text has no row.

It is a table of its own because SQLite would read all attachments of a message to reach a column behind them.
"""

runs = Table(
    "runs",
    metadata,
    Column("number", Number, primary_key=True),
    Column("id", Text, nullable=False),
    Column("thread_id", Text, ForeignKey("threads.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("face", Text),
    Column("client_run_id", Text),
    Column("outcome", Text),
    Column("error_code", Text),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("cache_read_tokens", BigInteger),
    Column("model_calls", Integer),
    Column("tool_calls", Integer),
    Column("model_usage", Text),
    Column("flow", Text),
    Column("asked_at", Text),
    Column("epoch", Integer, nullable=False),
    Column("process_id", BigInteger, nullable=False),
    Column("ask", Text),
    Column("created_at", Text, nullable=False),
    Column("finished_at", Text),
    Column("stop_requested", Boolean),
    Column("request", Text),
    Index("ix_runs_id", "id", unique=True),
    Index("ix_runs_thread_id", "thread_id"),
    Index("ix_runs_unfinished", "process_id", postgresql_where=UNFINISHED, sqlite_where=UNFINISHED),
)
"""`process_id` is the process that executes it, `ask` what another needs to resume or end it; until it is finished.

The totals of its spans are written when it finishes; `model_usage` is a list of `core.usage.ModelUsage`. `asked_at` is
the end of the run whose question it answers. `stop_requested`: another process asks for its cancellation. `request` is
what the ask had beside its messages, as `operations.recordings.RecordedAsk`.
"""

interrupts = Table(
    "interrupts",
    metadata,
    Column("thread_id", Text, ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("interrupt", Text, nullable=False),
    Column("tool_call", Text),
    Column("created_at", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("expires_at", Text),
    Column("answered_at", Text),
    Column("payload", Text),
    Index("ix_interrupts_owner_answered_at", "owner", "answered_at"),
    Index("ix_interrupts_open", "expires_at", postgresql_where=OPEN, sqlite_where=OPEN),
)

files = Table(
    "files",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("thread_id", Text, ForeignKey("threads.id", ondelete="CASCADE")),
    Column("agent", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("created_at", Text, nullable=False),
    Index("ix_files_thread_id", "thread_id"),
    Index("ix_files_without_thread", "created_at", postgresql_where=WITHOUT_THREAD, sqlite_where=WITHOUT_THREAD),
)
"""Files of transient runs have no `thread_id`."""

feedback = Table(
    "feedback",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("answer_key", Text, nullable=False),
    Column("run_id", Text),
    Column("thread_id", Text, ForeignKey("threads.id", ondelete="CASCADE")),
    Column("message_id", Text),
    Column("agent", Text),
    Column("model", Text),
    Column("face", Text, nullable=False),
    Column("value", Integer, nullable=False),
    Column("comment", Text),
    Column("tags", Text, nullable=False),
    Column("trace_id", Text),
    Column("question", Text),
    Column("answer_text", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Index("ix_feedback_owner_answer_key", "owner", "answer_key", unique=True),
    Index("ix_feedback_created_at", "created_at", "id"),
    Index("ix_feedback_run_id", "run_id"),
    Index("ix_feedback_thread_id", "thread_id"),
)
"""`value` is 1 or -1, `tags` a JSON array. Without a `thread_id` the run is not stored."""

memories = Table(
    "memories",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("agent", Text),
    Column("kind", Text, nullable=False),
    Column("memory", Text, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("source_thread", Text, ForeignKey("threads.id", ondelete="SET NULL")),
    Column("source_run", Text),
    Column("source_message", Text),
    Column("source_tools", Text, nullable=False),
    Column("approved_by", Text),
    Column("digest", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("expires_at", Text),
    Index("ix_memories_digest", "digest", unique=True),
    Index("ix_memories_owner_updated_at", "owner", "updated_at", "id"),
    Index("ix_memories_updated_at", "updated_at", "id"),
    Index("ix_memories_source_thread", "source_thread"),
    Index("ix_memories_expires_at", "expires_at"),
)
"""Shared memories have no `owner`: it is empty. A thread that is deleted leaves its memories without their source.
`source_tools` is JSON. `digest` is that of the folded text, with its owner."""

suspect_sources = Table(
    "suspect_sources",
    metadata,
    Column("thread_id", Text, ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("source", Text, primary_key=True),
    sqlite_with_rowid=False,
)
"""The names of tools and other sources whose untrusted content a thread of an agent with memory has had."""

annotations = Table(
    "annotations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("client_event_id", Text),
    Column("occurred_at", Text),
    Column("created_at", Text, nullable=False),
    Index("ix_annotations_owner_event", "owner", "client_event_id", unique=True),
    Index("ix_annotations_owner_created_at", "owner", "created_at", "id"),
    Index("ix_annotations_created_at", "created_at", "id"),
    Index("ix_annotations_thread_id", "thread_id"),
)
"""A page may annotate a thread before its first run, so the thread need not have a row. `payload` is JSON."""

deletions = Table(
    "deletions",
    metadata,
    Column("number", Number, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("row_id", Text, nullable=False),
    Column("deleted_at", Text, nullable=False),
    Index("ix_deletions_owner", "owner", "deleted_at"),
    Index("ix_deletions_deleted_at", "deleted_at"),
)
"""Threads and memories that were deleted in the last hours, for lists that follow changes. `owner` is a hash of the
user's id, and empty for shared memories."""

recordings = Table(
    "recordings",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("thread_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("recording", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Index("ix_recordings_thread_id", "thread_id", "created_at"),
    Index("ix_recordings_owner", "owner", "created_at"),
    Index("ix_recordings_expires_at", "expires_at"),
)
"""Transient runs, see `operations.recordings`. Their threads are usually those of clients, without a row."""

model_calls = Table(
    "model_calls",
    metadata,
    Column("id", Text, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("sent", Text, nullable=False),
    Column("ended", Text),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Index("ix_model_calls_run_id", "run_id", "created_at"),
    Index("ix_model_calls_thread_id", "thread_id"),
    Index("ix_model_calls_owner", "owner", "created_at"),
    Index("ix_model_calls_expires_at", "expires_at"),
)
"""What models were sent (`operations.model_calls`). `agent` is that of the run."""

prompt_contents = Table(
    "prompt_contents",
    metadata,
    Column("thread_id", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("hash", Text, primary_key=True),
    Column("content", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Index("ix_prompt_contents_owner", "owner"),
    Index("ix_prompt_contents_expires_at", "expires_at"),
)
"""The messages and tools of `model_calls`, once for each thread. A content expires with the last call that has it."""

mcp_pins = Table(
    "mcp_pins",
    metadata,
    Column("server", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("new_definition", Text),
    Column("updated_at", Text, nullable=False),
)
"""Pinned tool definitions of MCP servers, shared by all servers of the database. `new_definition` is a change that
waits to be accepted."""

processes = Table(
    "processes",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("expires_at", Float, nullable=False),
    Column("suspect_after", Float),
    Column("backend_pid", Integer),
    Column("database_started_at", Float),
)
"""The leases of live processes, on PostgreSQL only (`stores.leases`). Times are unix time by the database's clock.

`expires_at` is a lease after the last renewal, and 0 once the process has ended by itself; `suspect_after` is half a
lease after it. They say that the row was renewed, and how long the lease is, but not when it ends. The connection of
the last renewal had the backend `backend_pid`, on a database that has run since `database_started_at`.
"""

api_keys = Table(
    "api_keys",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("revoked_at", Text),
    Column("last_used_at", Text),
    Column("revision", Integer, nullable=False),
    Column("cancels_runs", Boolean),
)
"""Every change of a key, except a last use, increments its `revision`, and rows are never deleted: the sum of all
revisions tells servers whether anything has changed. A key without a secret is one of the configuration file."""

api_key_secrets = Table(
    "api_key_secrets",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("prefix", Text, nullable=False),
    Column("key_name", Text, ForeignKey("api_keys.name", ondelete="CASCADE"), nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
)

limit_counters = Table(
    "limit_counters",
    metadata,
    Column("limit_name", Text, primary_key=True),
    Column("rule", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("buckets", Text, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("warned_until", Float),
    Index("ix_limit_counters_expires_at", "expires_at"),
)
"""One row for each subject of a rule, which a transaction locks to count.

`buckets` is JSON: (used, reserved) by bucket. `expires_at` is unix time; a row can be deleted from then on.
Before `warned_until`, no process warns of this budget again.
"""

limit_holds = Table(
    "limit_holds",
    metadata,
    Column("id", Text, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("process_id", BigInteger, nullable=False),
    Column("hold", Text, nullable=False),
    Column("queue", Text),
    Column("slot_user", Text),
    Index("ix_limit_holds_process_id", "process_id"),
    Index("ix_limit_holds_queue", "queue"),
    Index("ix_limit_holds_slot_user", "slot_user"),
)
"""Reservations, slots and tickets, until they are settled: by their process, or by the one that finds it dead.

A ticket has a `queue`, the key of the counter that it waits for, as JSON. A slot has a `slot_user`, whose run it is.
"""

usage = Table(
    "usage",
    metadata,
    Column("day", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("purpose", Text, primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Column("refused", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("estimated_tokens", BigInteger, nullable=False),
    Column("cost", BigInteger, nullable=False),
)
"""`day` is a date in the configured time zone; `cost` is in billionths of the currency.

Without a key, `key` is empty."""

audit_lines = Table(
    "audit_lines",
    metadata,
    Column("number", Number, primary_key=True),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("request", Text, nullable=False),
    Index("ix_audit_lines_at", "at"),
)

ended_sessions = Table(
    "ended_sessions",
    metadata,
    Column("number", Number, primary_key=True),
    Column("id", Text, nullable=False),
    Column("expires_at", Float, nullable=False),
    Index("ix_ended_sessions_id", "id", unique=True),
    Index("ix_ended_sessions_expires_at", "expires_at"),
    sqlite_autoincrement=True,
)
"""Sessions that browsers have ended, until they would have expired (unix time). Servers read those with a greater
`number` than they know, so SQLite must not use the numbers of deleted rows again."""

secret_uses = Table(
    "secret_uses",
    metadata,
    Column("toolbox", Text, primary_key=True),
    Column("uses", Text, nullable=False),
)
"""The recorded uses of secrets of each toolbox of plugins, as JSON. The row of no toolbox says that the database was in
use when the table was made."""
