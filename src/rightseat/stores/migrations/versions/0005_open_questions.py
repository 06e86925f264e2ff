"""Open questions found by when they expire, without looking at all that were ever asked."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    is_open = sa.text("answered_at IS NULL")
    op.create_index("ix_interrupts_open", "interrupts", ["expires_at"], postgresql_where=is_open, sqlite_where=is_open)
