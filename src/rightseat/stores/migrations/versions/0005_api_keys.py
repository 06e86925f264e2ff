"""API keys that change while servers run: their users and scopes, and the hashes of their secrets."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.Column("revoked_at", sa.Text),
        sa.Column("last_used_at", sa.Text),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_api_keys"),
    )
    op.create_table(
        "api_key_secrets",
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("key_name", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.PrimaryKeyConstraint("hash", name="pk_api_key_secrets"),
        sa.ForeignKeyConstraint(
            ["key_name"], ["api_keys.name"], name="fk_api_key_secrets_key_name", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("api_key_secrets")
    op.drop_table("api_keys")
