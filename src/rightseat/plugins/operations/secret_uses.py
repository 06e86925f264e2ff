"""Lists which secrets plugins refer to, and which hosts would receive them."""

from collections.abc import Iterator, Mapping

from rightseat.core.errors import AddressForbidden
from rightseat.egress.secrets import find_placeholders
from rightseat.operations.secret_uses import SecretUse
from rightseat.plugins.definition import Plugin
from rightseat.plugins.operations.auth import find_token_server, format_host_port


def list_uses(plugins: Mapping[str, Plugin]) -> Iterator[SecretUse]:
    """Every secret that a plugin refers to, with the host that would receive it."""
    for id, plugin in plugins.items():
        for auth in plugin.auth:
            try:
                host = find_token_server(auth) or format_host_port(plugin.server)
            except AddressForbidden:
                continue  # no request reaches such an address
            for value in auth.args.values():
                yield from (SecretUse(id, name, host.lower()) for name in find_placeholders(value))
