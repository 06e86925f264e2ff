"""The totals of a run, beside its tokens: calls of models and tools, usage by model, and its flow."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

COLUMNS = {
    "cache_read_tokens": sa.BigInteger,
    "model_calls": sa.Integer,
    "tool_calls": sa.Integer,
    "model_usage": sa.Text,
    "flow": sa.Text,
}


def upgrade() -> None:
    for name, kind in COLUMNS.items():
        op.add_column("runs", sa.Column(name, kind()))


def downgrade() -> None:
    for name in COLUMNS:
        op.drop_column("runs", name)
