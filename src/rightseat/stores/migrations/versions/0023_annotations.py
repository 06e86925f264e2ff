"""What users did in pages, stored with their threads."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "annotations",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("client_event_id", sa.Text),
        sa.Column("occurred_at", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_annotations"),
    )
    op.create_index("ix_annotations_owner_event", "annotations", ["owner", "client_event_id"], unique=True)
    op.create_index("ix_annotations_owner_created_at", "annotations", ["owner", "created_at", "id"])
    op.create_index("ix_annotations_created_at", "annotations", ["created_at", "id"])
    op.create_index("ix_annotations_thread_id", "annotations", ["thread_id"])


def downgrade() -> None:
    op.drop_table("annotations")
