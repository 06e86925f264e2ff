"""Plugins made of documents, and what is said of those to their authors."""

import json
from typing import Any

import pytest

from rightseat.plugins.definition import Plugin
from rightseat.plugins.packaging import advice, scaffold
from tests.plugins.loading.sample import METADATA, OPENAPI, load


def plugin(document: str) -> Plugin:
    found = load({"plugin.json": METADATA, "openapi.yaml": document}).plugin
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("scheme", "auth"),
    [
        ("{type: apiKey, in: header, name: X-Key}", {"type": "header", "args": {"X-Key": "${secret:SAMPLE_MINE}"}}),
        ("{type: apiKey, in: query, name: key}", {"type": "param", "args": {"key": "${secret:SAMPLE_MINE}"}}),
        ("{type: apiKey, in: cookie, name: sid}", {"type": "cookie", "args": {"sid": "${secret:SAMPLE_MINE}"}}),
        (
            "{type: http, scheme: bearer}",
            {"type": "header", "args": {"Authorization": "Bearer ${secret:SAMPLE_MINE}"}},
        ),
        (
            "{type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://id.example/t', scopes: {}}}}",
            {
                "type": "oidc",
                "args": {
                    "token_url": "https://id.example/t",
                    "client_id": "",
                    "client_secret": "${secret:SAMPLE_MINE}",
                },
            },
        ),
        ("{type: mutualTLS}", None),
    ],
)
def test_a_security_scheme_becomes_auth(scheme: str, auth: dict[str, Any] | None) -> None:
    document = f"{OPENAPI}components:\n  securitySchemes:\n    mine: {scheme}\n"

    draft = scaffold.create_from_openapi(document.encode())

    assert draft.id == "sample"
    assert json.loads(draft.files["plugin.json"]).get("auth") == auth


def test_a_document_keeps_its_bytes_where_nothing_needs_to_change() -> None:
    content = b"# a comment\n" + OPENAPI.encode()

    assert (
        scaffold.create_from_openapi(content, origin="https://e.example/openapi.yaml").files["openapi.yaml"] == content
    )


def test_a_document_in_json_stays_json() -> None:
    content = json.dumps({"openapi": "3.1.0", "info": {"title": "My API"}, "servers": [{"url": "https://a.example"}]})

    draft = scaffold.create_from_openapi(content.encode())

    assert (draft.id, sorted(draft.files)) == ("my_api", ["openapi.json", "plugin.json"])


def test_a_server_that_is_no_address_is_left_to_the_report_on_the_plugin() -> None:
    content = json.dumps({"openapi": "3.1.0", "info": {"title": "My API"}, "servers": [{"url": "http://[::1"}]})

    draft = scaffold.create_from_openapi(content.encode(), origin="https://e.example/openapi.json")

    assert json.loads(draft.files["openapi.json"])["servers"] == [{"url": "http://[::1"}]


@pytest.mark.parametrize("content", [b"", b"\xff", b"{", b"- a", b"openapi: 3.1.0", b"a: &a [*a]"])
def test_a_document_that_cannot_become_a_plugin_is_refused_with_the_reason(content: bytes) -> None:
    with pytest.raises(scaffold.InvalidOpenApiDocument):
        scaffold.create_from_openapi(content)


def test_a_good_document_gets_advice_only_about_missing_response_schemas() -> None:
    assert list(advice.advise(plugin(OPENAPI))) == [
        "POST /jobs: no response schema: flows cannot extract values reliably."
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("      operationId: get_thing\n", "", "GET /things/{id}: no operationId"),
        ("operationId: get_thing", f"operationId: {'get_' * 12}", "48 characters"),
        ("One thing by its id.", "Thing.", "the description is missing or too short"),
        ("          description: The id.\n", "", "no description of id"),
        (
            "schema: {type: object}",
            "schema: {type: object, properties: {" + ", ".join(f"p{n}: {{type: string}}" for n in range(400)) + "}}",
            "the schema of its response has",
        ),
        (
            "                size:\n",
            "".join(f"                n{n}: {{}}\n" for n in range(25)) + "                size:\n",
            "26 parameters",
        ),
    ],
)
def test_advice_names_what_is_hard_for_a_model(old: str, new: str, said: str) -> None:
    assert old in OPENAPI

    assert any(said in line for line in advice.advise(plugin(OPENAPI.replace(old, new, 1))))


def test_advice_names_too_many_operations() -> None:
    more = "".join(
        f"  /n{n}:\n    get: {{operationId: n{n}, description: The number {n} of many.}}\n" for n in range(20)
    )

    assert next(advice.advise(plugin(OPENAPI + more))).startswith("22 operations")


@pytest.mark.parametrize(
    ("server", "asked"),
    [
        ("http://127.0.0.1:8000/v1", ["127.0.0.1:8000"]),
        ("http://localhost", ["localhost:80"]),
        ("https://[fd00::1]:8443", ["[fd00::1]:8443"]),
        ("http://stock:8080", ["stock:8080"]),
        ("http://stock.internal", ["stock.internal:80"]),
        ("https://api.example.com", None),
        ("https://8.8.8.8", None),
    ],
)
def test_R_3_9_a_plugin_for_a_private_api_declares_its_address(server: str, asked: list[str] | None) -> None:
    draft = scaffold.create_from_openapi(OPENAPI.encode(), server=server)

    assert json.loads(draft.files["plugin.json"]).get("network", {}).get("allow_private") == asked
    assert asked is None or load({path: text.decode() for path, text in draft.files.items()}).plugin is not None


@pytest.mark.parametrize(
    ("title", "name"),
    [("Weather demo API", "Weather demo"), ("Tickets", "Tickets"), ("Wetterdienstleistung", "Wetterdienstle")],
)
def test_a_name_that_is_too_long_is_cut_after_a_word(title: str, name: str) -> None:
    document = {"openapi": "3.1.0", "info": {"title": title, "version": "1"}, "paths": {}}

    draft = scaffold.create_from_openapi(json.dumps(document).encode(), id="some")

    assert json.loads(draft.files["plugin.json"])["name"] == name


def test_an_invalid_id_is_refused_before_the_document_is_read() -> None:
    for id in ("../evil", "", "Upper"):
        with pytest.raises(scaffold.InvalidOpenApiDocument, match="is not a valid plugin id"):
            scaffold.create_from_openapi(b"openapi: [", id=id)
