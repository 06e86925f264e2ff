"""Whether the runs of a revoked key are cancelled."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("cancels_runs", sa.Boolean))


def downgrade() -> None:
    op.drop_column("api_keys", "cancels_runs")
