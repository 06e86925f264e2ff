"""What the tools of MCP servers looked like when they were first seen, and changes that wait to be accepted."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "mcp_pins",
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("seen", sa.Text),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("server", "name", name="pk_mcp_pins"),
    )
