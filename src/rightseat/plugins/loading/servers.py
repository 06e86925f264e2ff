"""Reads `servers` of an OpenAPI document: the one address that operations are sent to."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from rightseat.plugins.loading.limits import OperatorSettings
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode

CheckAddress = Callable[[SourceNode, str], None]
_VARIABLE_PATTERN = re.compile(r"\{([^{}]*)\}")


def read(document: SourceNode, operator: OperatorSettings, report: DiagnosticReport, check: CheckAddress) -> str:
    """Return the address without a trailing slash; empty if none is usable, which is reported. `check` gets a usable
    one, with its place in the file."""
    servers = document.get("servers")
    every = [one for one in servers.elements() if isinstance(one.value, dict)] if servers else []
    if not every:
        report.add("E205", servers or document, "the document has no server.", "servers: [{url: https://…}]")
        return ""
    chosen = _choose(every, operator)
    if len(every) > 1 and operator.server is None and servers:
        report.add("W202", servers, f"there are {len(every)} servers; the first is used.", "select one with `server`")
    url = chosen.get("url")
    if url is None or not isinstance(url.value, str):
        report.add("E205", chosen, "the server has no `url`.", "an absolute http or https address")
        return ""
    address = _VARIABLE_PATTERN.sub(
        lambda match: _resolve_variable(chosen, match[1], operator) or match[0], url.value
    ).strip()
    if not _is_usable(url, address, report):
        return ""
    check(url, address)
    return address.rstrip("/")


def _choose(servers: list[SourceNode], operator: OperatorSettings) -> SourceNode:
    wanted = operator.server
    if isinstance(wanted, int) and 0 <= wanted < len(servers):
        return servers[wanted]
    named = (one for one in servers if wanted is not None and one.value.get("description") == wanted)
    return next(named, servers[0])


def _resolve_variable(server: SourceNode, name: str, operator: OperatorSettings) -> str | None:
    if name in operator.variables:
        return operator.variables[name]
    variables = server.get("variables")
    variable = variables and variables.get(name)
    default = variable and variable.get("default")
    return None if default is None or default.value is None else str(default.value)


def _is_usable(node: SourceNode, address: str, report: DiagnosticReport) -> bool:
    if "{" in address or "<" in address:
        report.add("E208", node, f"{address!r} contains a placeholder.", "write the real address")
        return False
    try:
        parts = urlsplit(address)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        report.add("E208", node, f"the port of {address!r} is not a number.", "write the real port")
        return False
    if not parts.scheme and not parts.netloc:
        report.add("E206", node, f"{address!r} is a relative address.", "begin with https:// and a host")
    elif parts.scheme not in ("http", "https") or not parts.hostname or not has_port or re.search(r"\s", address):
        report.add("E205", node, f"{address!r} is not an absolute http or https address.")
    elif parts.username is not None or parts.password is not None:
        report.add("E207", node, "the address contains a user or a password.", "use `auth` of plugin.json")
    elif parts.query or parts.fragment:
        report.add("E205", node, f"{address!r} has a query or a fragment.", "remove ? and # and what follows")
    else:
        return True
    return False
