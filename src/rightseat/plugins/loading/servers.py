"""`servers` of a document → the one address that operations are sent to."""

import re
from urllib.parse import urlsplit

from rightseat.plugins.loading.limits import Operator
from rightseat.plugins.loading.notes import Node, Notes

_VARIABLE = re.compile(r"\{([^{}]*)\}")


def read(document: Node, operator: Operator, notes: Notes) -> str:
    """Without a slash at its end; empty where there is none that can be used, which has been noted."""
    servers = document.get("servers")
    every = [one for one in servers.elements() if isinstance(one.value, dict)] if servers else []
    if not every:
        notes.add("E205", servers or document, "there is no server.", "servers: [{url: https://…}]")
        return ""
    chosen = _choose(every, operator)
    if len(every) > 1 and operator.server is None and servers:
        notes.add("W202", servers, f"there are {len(every)} servers; the first is used.", "name one")
    url = chosen.get("url")
    if url is None or not isinstance(url.value, str):
        notes.add("E205", chosen, "the server has no `url`.", "an absolute http or https address")
        return ""
    address = _VARIABLE.sub(lambda match: _value(chosen, match[1], operator) or match[0], url.value).strip()
    return address.rstrip("/") if _is_usable(url, address, notes) else ""


def _choose(servers: list[Node], operator: Operator) -> Node:
    wanted = operator.server
    if isinstance(wanted, int) and 0 <= wanted < len(servers):
        return servers[wanted]
    named = (one for one in servers if wanted is not None and one.value.get("description") == wanted)
    return next(named, servers[0])


def _value(server: Node, name: str, operator: Operator) -> str | None:
    if name in operator.variables:
        return operator.variables[name]
    variables = server.get("variables")
    variable = variables and variables.get(name)
    default = variable and variable.get("default")
    return None if default is None or default.value is None else str(default.value)


def _is_usable(node: Node, address: str, notes: Notes) -> bool:
    if "{" in address or "<" in address:
        notes.add("E208", node, f"{address!r} has a placeholder in it.", "write the real address")
        return False
    try:
        parts = urlsplit(address)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        notes.add("E208", node, f"{address!r} has no number as its port.", "write the real port")
        return False
    if not parts.scheme and not parts.netloc:
        notes.add("E206", node, f"{address!r} is relative; nobody knows to what.", "begin with https:// and a host")
    elif parts.scheme not in ("http", "https") or not parts.hostname or not has_port or re.search(r"\s", address):
        notes.add("E205", node, f"{address!r} is no absolute http or https address.")
    elif parts.username is not None or parts.password is not None:
        notes.add("E207", node, "the address has a user or a password in it.", "use `auth` of plugin.json")
    elif parts.query or parts.fragment:
        notes.add("E205", node, f"{address!r} has more than a path after the host.", "leave ? and # out")
    else:
        return True
    return False
