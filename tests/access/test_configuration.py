"""What the configuration may say about who may call."""

import sys
from pathlib import Path

import pytest

from rightseat import Copilot, app, config
from rightseat.core.errors import ConfigError
from rightseat.health.warnings import warnings

HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
OIDC = (
    "{issuer: 'https://login.example.com/realm', client_id: c, "
    "grants: [{claim: groups, value: admins, scopes: ['*:default']}]}"
)


def parse(text: str) -> config.Config:
    return config.parse(text, Path("c.yaml"), {"ALICE_KEY": "key-alice"})


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as wrong:
        parse(text)
    return wrong.value.message.splitlines()


def test_every_access_option_is_parsed() -> None:
    found = parse(
        f"""
access:
  keys:
    - {{name: alice, key: "${{ALICE_KEY}}", scopes: ["*"]}}
    - {{name: ci, prefix: 5fJq0aXe, hash: {HASH}, user: carol, scopes: ["copilotkit:default", "openbb:*"]}}
  jwt: {{issuer: "https://login.example.com", audience: rightseat, jwks: keys.json, user_claim: oid, leeway_seconds: 0}}
  cookie: session
faces:
  - {{type: copilotkit, path: /open, access: open}}
  - {{type: copilotkit, path: /secure, access: keys}}
  - {{type: copilotkit, path: /default}}
server: {{hosts: [copilot.example.com, "::1", "[::1]", "*"], allow_unauthenticated: true}}
"""
    )

    assert [key.name for key in found.access.keys] == ["alice", "ci"]
    assert found.access.jwt is not None
    assert found.access.jwt.user_claim == "oid"
    assert [face.access for face in found.faces] == ["open", "keys", None]
    authenticator = app.build_authenticator(found.access)
    assert [app.build_route_auth(face, authenticator).is_open for face in found.faces] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("jwks", "found"),
    [
        ("keys.json", "/etc/rightseat/keys.json"),
        ("/srv/keys.json", "/srv/keys.json"),
        ("https://login.example.com/keys.json", "https://login.example.com/keys.json"),
    ],
)
def test_a_relative_jwks_file_is_resolved_beside_the_configuration(jwks: str, found: str) -> None:
    text = f"access: {{jwt: {{issuer: i, audience: a, jwks: '{jwks}'}}}}"
    access = config.parse(text, Path("/etc/rightseat/rightseat.yaml"), {}).access

    assert access.jwt is not None
    assert access.jwt.jwks == found


def test_without_keys_every_face_is_open() -> None:
    found = parse("")

    assert not found.access.is_set
    authenticator = app.build_authenticator(found.access)
    assert all(app.build_route_auth(face, authenticator).is_open for face in found.faces)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("access: {keys: [{key: k}]}", "c.yaml:1:17: access.keys[0].name is missing."),
        (
            "access: {keys: [{name: a}]}",
            "c.yaml:1:17: access.keys[0]: should have `prefix` and `hash`, or else `key`.",
        ),
        (
            "access: {keys: [{name: a, prefix: abcdefgh}]}",
            "c.yaml:1:17: access.keys[0]: should have `prefix` and `hash`, or else `key`.",
        ),
        (
            f"access: {{keys: [{{name: a, key: k, hash: {HASH}, prefix: abcdefgh}}]}}",
            "c.yaml:1:17: access.keys[0]: should have `prefix` and `hash`, or else `key`.",
        ),
        (
            "access: {keys: [{name: a, key: k, scopes: [copilotkit]}]}",
            "c.yaml:1:44: access.keys[0].scopes[0]: should be `*` or `face:agent`, such as copilotkit:*",
        ),
        (
            "access: {keys: [{name: a, key: k, scopes: ['copilotkit:defualt']}]}",
            "c.yaml:1:44: access.keys[0].scopes[0]: no agent is named 'defualt'. Did you mean 'default'?",
        ),
        (
            "access: {keys: [{name: a, key: k, scope: x}]}",
            "c.yaml:1:35: access.keys[0].scope: unknown key. Did you mean 'scopes'?",
        ),
        ("access: {jwt: {issuer: i, jwks: j}}", "c.yaml:1:10: access.jwt.audience is missing."),
        ("access: {jwt: {audience: a, jwks: j}}", "c.yaml:1:10: access.jwt.issuer is missing."),
        (
            "access: {jwt: {issuer: i, audience: a, jwks: 'ftp://x/y'}}",
            "c.yaml:1:46: access.jwt.jwks: should be a URL that begins with https://, or the path of a file.",
        ),
        (
            "access: {jwt: {issuer: i, audience: a, jwks: j, algorithms: [none]}}",
            "access.jwt.algorithms[0]: should be 'RS256'",
        ),
        (
            "access: {jwt: {issuer: i, audience: a, jwks: j, algorithms: [HS256]}}",
            "access.jwt.algorithms[0]: should be 'RS256'",
        ),
        ("access: {jwt: {issuer: i, audience: a, jwks: j, algorithms: []}}", "access.jwt.algorithms"),
        ("access: {cookie: 'a b'}", "access.cookie"),
        (
            f"access: {{oidc: {OIDC}}}",
            "c.yaml:1:10: access.oidc: set `server.public_url`: the provider sends browsers back to an address below",
        ),
        (
            f"faces: [{{type: operator}}]\naccess: {{oidc: {OIDC}}}",
            "c.yaml:2:10: access.oidc: people sign in to the console. Add the face `console` to `faces`.",
        ),
        (
            f"faces: [{{type: operator, access: open}}, {{type: console}}]\naccess: {{oidc: {OIDC}}}",
            "access.oidc: the face `operator` has `access: open`, so it needs no sign-in. Remove one of the two.",
        ),
        (f"access: {{oidc: {OIDC.replace('https:', 'http:')}}}", "access.oidc.issuer: should begin with https://"),
        (f"access: {{oidc: {OIDC.replace('/realm', '/?a=b')}}}", "access.oidc.issuer: should be the exact issuer"),
        (f"access: {{oidc: {OIDC.replace('https:', 'ftp:')}}}", "access.oidc.issuer: the address should begin with"),
        (
            f"access: {{oidc: {OIDC.replace(', value: admins', '')}}}",
            "access.oidc.grants[0]: should have `claim` and `value`, or neither for every user of the provider.",
        ),
        (f"access: {{oidc: {OIDC.replace('*:default', '*:defualt')}}}", "grants[0].scopes[0]: no agent is named"),
        (f"access: {{oidc: {OIDC[:-1]}, request_scopes: [profile]}}}}", "should be a list of scopes of the provider"),
        (f"access: {{oidc: {OIDC[:-1]}, algorithms: [HS256]}}}}", "access.oidc.algorithms[0]: should be 'RS256'"),
        ("access: {oidc: {issuer: 'https://x', client_id: c, grants: []}}", "access.oidc.grants"),
        ("access: {oidc: {issuer: 'https://x', client_id: c}}", "access.oidc.grants is missing."),
        (
            "faces: [{type: copilotkit, access: keys}]",
            "c.yaml:1:28: faces[0].access: there are no keys. `rightseat keys new NAME` makes one.",
        ),
        ("faces: [{type: copilotkit, access: closed}]", "c.yaml:1:28: faces[0].access: should be 'open' or 'keys'."),
        ("models: {default: {type: scripted, access: open}}", "c.yaml:1:36: models.default.access: unknown key."),
        (
            "server: {hosts: ['example.com:80']}",
            "server.hosts[0]: should be a name or an address like copilot.example.com",
        ),
        ("server: {hosts: ['https://example.com']}", "server.hosts[0]: should be a name"),
        ("server: {hosts: ['']}", "server.hosts[0]: should be a name"),
    ],
)
def test_an_error_is_reported_with_its_path(text: str, said: str) -> None:
    assert any(said in problem for problem in problems(text))


def test_an_identity_provider_is_parsed_with_its_files_beside_the_configuration() -> None:
    text = (
        f"server: {{public_url: 'https://copilot.example.com'}}\naccess: {{oidc: {OIDC[:-1]}, tls: {{ca: ca.pem}}}}}}"
    )
    found = config.parse(text, Path("/etc/rightseat/c.yaml"), {})

    assert found.access.oidc is not None
    assert found.access.is_set
    assert found.access.oidc.display_name == "login.example.com"
    assert found.access.oidc.tls is not None
    assert found.access.oidc.tls.ca == Path("/etc/rightseat/ca.pem")
    assert list(warnings(found)) == []


def test_two_issuers_and_a_public_address_without_tls_are_warnings() -> None:
    found = parse(
        f"""
server: {{public_url: "http://copilot.example.com"}}
access:
  jwt: {{issuer: "https://other.example.com", audience: a, jwks: "https://other.example.com/jwks"}}
  oidc: {OIDC}
"""
    )

    first, second = warnings(found)
    assert first.startswith("access.jwt and access.oidc have different issuers")
    assert second == "http://copilot.example.com is not encrypted: an attacker could take over sign-ins. Use https."


def test_a_copilot_in_python_has_the_rules_of_a_file() -> None:
    oidc = {"issuer": "https://login.example.com", "client_id": "c", "grants": [{"scopes": ["*"]}]}

    with pytest.raises(ConfigError, match=r"Copilot: access\.oidc: set `server\.public_url`"):
        Copilot(access={"oidc": oidc})


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("authlib", "rightseat.access.sign_in.provider"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "authlib", None)
    found = parse(f"server: {{public_url: 'https://copilot.example.com'}}\naccess: {{oidc: {OIDC}}}")

    with pytest.raises(ConfigError, match=r"needs the package 'authlib[\w.]*', .* (uv )?pip install .*\[oidc\]'"):
        app.assemble(found)


def test_two_keys_of_one_name_are_refused() -> None:
    found = parse("access: {keys: [{name: a, key: k}, {name: a, key: l}]}")

    with pytest.raises(ConfigError, match="have the same name"):
        app.build_authenticator(found.access)


def test_one_key_under_two_names_is_refused() -> None:
    found = parse("access: {keys: [{name: a, key: k}, {name: b, key: k}]}")

    with pytest.raises(ConfigError, match="are the same key"):
        app.build_authenticator(found.access)
