"""When processes may warn of a budget again."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("limit_counters", sa.Column("warned_until", sa.Float))


def downgrade() -> None:
    op.drop_column("limit_counters", "warned_until")
