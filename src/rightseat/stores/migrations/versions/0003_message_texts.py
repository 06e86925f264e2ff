"""The text of messages apart from their JSON, which may hold megabytes of attachments, for the search."""

import unicodedata

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

BATCH_ROWS = 1000


def upgrade() -> None:
    texts = op.create_table(
        "message_texts",
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "position", name="pk_message_texts"),
        sa.ForeignKeyConstraint(["thread_id"], ["threads.id"], name="fk_message_texts_thread_id", ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    _copy_texts(texts)


def downgrade() -> None:
    op.drop_table("message_texts")


def _copy_texts(texts: sa.Table) -> None:
    connection = op.get_bind()
    statement = "SELECT thread_id, position, message FROM messages WHERE (thread_id, position) > (:thread, :position) "
    page = sa.text(statement + "ORDER BY thread_id, position LIMIT :rows")
    after = {"thread": "", "position": -1}
    while found := connection.execute(page, {**after, "rows": BATCH_ROWS}).all():
        after = {"thread": found[-1].thread_id, "position": found[-1].position}
        new = [{"thread_id": row[0], "position": row[1], "text": _text_of(row[2])} for row in found]
        if with_text := [row for row in new if row["text"]]:
            connection.execute(sa.insert(texts), with_text)


def _text_of(message: str) -> str:
    """As `stores.rows.searchable_text` was when this migration was written."""
    read = msgspec.json.decode(message)
    if read["role"] not in ("user", "assistant"):
        return ""
    text = "\n".join(part["text"] for part in read["parts"] if part["type"] == "text")
    return unicodedata.normalize("NFKC", text).casefold().replace("\0", "")
