"""Tickets of asks that wait for a limit, among the reservations."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

COLUMNS = ("queue", "slot_user")


def upgrade() -> None:
    for name in COLUMNS:
        op.add_column("limit_holds", sa.Column(name, sa.Text))
        op.create_index(f"ix_limit_holds_{name}", "limit_holds", [name])


def downgrade() -> None:
    for name in COLUMNS:
        op.drop_index(f"ix_limit_holds_{name}", "limit_holds")
        op.drop_column("limit_holds", name)
