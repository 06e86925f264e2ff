"""The index of a user's threads gets the id, so that a page begins where the one before ended."""

from alembic import op

revision = "0009"
down_revision = "0008"
NAME = "ix_threads_owner_updated_at"


def upgrade() -> None:
    op.drop_index(NAME, "threads")
    op.create_index(NAME, "threads", ["owner", "updated_at", "id"])


def downgrade() -> None:
    op.drop_index(NAME, "threads")
    op.create_index(NAME, "threads", ["owner", "updated_at"])
