"""Warns of roles that may create objects where the server looks for its tables and functions.

PostgreSQL looks for functions and operators in these schemas too. One that another role has created there, with a name
that rightseat calls, would run with the rights of rightseat.
"""

import logging
from collections import defaultdict

from sqlalchemy import Connection, text

logger = logging.getLogger(__name__)

# Without an entry in `nspacl` only the owner may create. Superusers may do anything.
CREATORS = text("""
    SELECT n.nspname AS schema_name, coalesce(r.rolname, 'PUBLIC') AS role_name
    FROM pg_namespace n
    CROSS JOIN LATERAL aclexplode(n.nspacl) a
    LEFT JOIN pg_roles r ON r.oid = a.grantee
    WHERE n.nspname = ANY (current_schemas(false)) AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
        AND (a.grantee = 0 OR NOT (r.rolsuper OR r.rolname = current_user))
    ORDER BY 1, 2
""")


def warn_of_creators(connection: Connection, address: str) -> None:
    roles: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(CREATORS):
        roles[row.schema_name].append(row.role_name)
    for schema, names in roles.items():
        logger.warning(
            "Other roles may create objects in the schema %s of the database at %s: %s. A function of theirs could run "
            "with the rights of rightseat. As the owner of the schema run: %s",
            schema,
            address,
            ", ".join(names),
            " ".join(f"REVOKE CREATE ON SCHEMA {quote(schema)} FROM {quote(name)};" for name in names),
        )


def quote(name: str) -> str:
    """An identifier as it is written in SQL; PUBLIC is a keyword."""
    return name if name == "PUBLIC" else '"' + name.replace('"', '""') + '"'
