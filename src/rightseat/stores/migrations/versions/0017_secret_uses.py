"""Which plugins sent which secrets where before secrets were bound."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

USED_TABLES = ("threads", "api_keys", "processes")


def upgrade() -> None:
    """A database that was in use gets the row of no toolbox: servers then record the uses at their next start."""
    table = op.create_table(
        "secret_uses",
        sa.Column("toolbox", sa.Text, nullable=False),
        sa.Column("uses", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("toolbox", name="pk_secret_uses"),
    )
    connection = op.get_bind()
    if any(connection.execute(sa.text(f"SELECT 1 FROM {name} LIMIT 1")).first() for name in USED_TABLES):  # noqa: S608  # constants
        op.bulk_insert(table, [{"toolbox": "", "uses": "[]"}])


def downgrade() -> None:
    op.drop_table("secret_uses")
