"""Reports addresses in private networks, which are blocked until the operator of a server allows them."""

from collections.abc import Iterable

from rightseat.egress.addresses import find_private_host_port, is_listed
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode


def check(node: SourceNode, url: str, id: str, declared: Iterable[str], report: DiagnosticReport) -> None:
    """Report a URL in a private network that plugin.json does not declare: its author sees it before any request."""
    place = find_private_host_port(url)
    if place is None or is_listed(place, declared):
        return
    report.add(
        "W115",
        node,
        f"{place} is a private address; a server blocks requests to it until its operator allows it.",
        f'declare it here: "network": {{"allow_private": ["{place}"]}} in plugin.json; '
        f'the operator allows it there: `allow_private: {{{id}: ["{place}"]}}` of the toolbox in rightseat.yaml',
    )
