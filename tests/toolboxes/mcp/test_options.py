"""The options of servers that clients may request."""

from rightseat.toolboxes.mcp import Options
from rightseat.toolboxes.mcp.options import OF_REQUESTED_SERVER, build_requested, list_servers, name_server

OTHER = "https://other.example/mcp"
GIVEN = Options.model_validate(
    {
        "name": "shop",
        "url": "https://shop.example/mcp",
        "headers": {"X-Key": "secret-of-the-operator"},
        "forward": ["Authorization"],
        "read_only_tools": ["*"],
        "prefix": "shop_",
        "tools": ["list"],
        "timeout": 7,
        "proxy": "http://proxy.example:3128",
        "client_servers": [OTHER],
    }
)


def test_a_requested_server_has_nothing_of_the_configured_one_but_what_is_listed() -> None:
    plain = Options(url=OTHER)

    requested = build_requested(OTHER, GIVEN)

    assert (requested.url, requested.name, requested.timeout, requested.proxy) == (
        OTHER,
        "other.example",
        7,
        GIVEN.proxy,
    )
    for field in Options.model_fields.keys() - {"name", *OF_REQUESTED_SERVER}:
        assert getattr(requested, field) == getattr(plain, field), field
    assert "secret-of-the-operator" not in repr(requested.plain_headers)


def test_a_server_is_named_by_its_host_or_its_program() -> None:
    names = [
        name_server(options).name for options in (GIVEN, Options(url=OTHER), Options(command="/usr/bin/github-mcp"))
    ]

    assert names == ["shop", "other.example", "github-mcp"]
    assert [server.name for server in list_servers(GIVEN)] == ["shop", "other.example"]
    assert list_servers(Options(client_servers=(OTHER,)))[0].url == OTHER
