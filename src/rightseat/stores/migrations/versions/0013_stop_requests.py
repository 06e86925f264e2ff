"""Whether another process asks the one that executes a run to cancel it."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("runs", sa.Column("stop_requested", sa.Boolean))


def downgrade() -> None:
    op.drop_column("runs", "stop_requested")
