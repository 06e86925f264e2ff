"""The addresses that requests of a plugin go to, and which of them are private."""

from rightseat.core.errors import AddressForbidden
from rightseat.egress.addresses import find_private_host_port
from rightseat.plugins.definition import Plugin, list_token_urls
from rightseat.plugins.operations.auth import format_host_port


def list_private_addresses(plugin: Plugin) -> tuple[str, ...]:
    """The private `host:port` that the plugin needs: those its author declares, and those in its URLs.

    No name is resolved, so a name that leads to a private address is listed only if the author declares it.
    """
    found = (find_private_host_port(url) for url in _list_urls(plugin))
    return tuple(dict.fromkeys((*plugin.allow_private, *filter(None, found))))


def list_addresses(plugin: Plugin) -> tuple[str, ...]:
    """Every `host:port` that the plugin can send requests to, and those that its author declares as private."""
    found: list[str] = []
    for url in _list_urls(plugin):
        try:
            found.append(format_host_port(url))
        except AddressForbidden:
            continue  # no request is sent to such an address
    return tuple(dict.fromkeys((*plugin.allow_private, *found)))


def _list_urls(plugin: Plugin) -> list[str]:
    urls = [plugin.server] if plugin.server else []
    return [*urls, *(url for auth in plugin.auth for url in list_token_urls(auth))]
