"""What lists of runs and threads of all users show and need."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

COLUMNS = {"face": sa.Text, "error_code": sa.Text, "input_tokens": sa.BigInteger, "output_tokens": sa.BigInteger}


def upgrade() -> None:
    for name, kind in COLUMNS.items():
        op.add_column("runs", sa.Column(name, kind()))
    op.create_index("ix_threads_updated_at", "threads", ["updated_at", "id"])


def downgrade() -> None:
    op.drop_index("ix_threads_updated_at", "threads")
    for name in COLUMNS:
        op.drop_column("runs", name)
