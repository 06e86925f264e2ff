"""JSON Schemas from clients, plugins and MCP servers are checked without the network.

`jsonschema_rs` fetches what `$schema` and `$ref` name, in the calling thread, unless it is told not to: validators are
made with `offline=True`, and `check_schema` replaces `jsonschema_rs.meta.validate`, which has no such option.
"""

from typing import Any, NoReturn

import jsonschema_rs


def check_schema(schema: dict[str, Any] | bool) -> None:
    """Hold a schema against its meta-schema. Raises `ValueError`, of which `jsonschema_rs.ValidationError` is one."""
    try:
        jsonschema_rs.meta.validate(schema, registry=_OFFLINE)
    except jsonschema_rs.ReferencingError as error:
        raise ValueError(f"it names a meta-schema that is not known here: {error}") from None


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


_OFFLINE = jsonschema_rs.Registry([], retriever=_refuse)
