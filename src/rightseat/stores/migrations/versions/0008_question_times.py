"""When the question was asked that a run answers."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("runs", sa.Column("asked_at", sa.Text))


def downgrade() -> None:
    op.drop_column("runs", "asked_at")
