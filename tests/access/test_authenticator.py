"""Authentication and authorization of the routes of a face."""

import logging
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rightseat.access import keys, scopes
from rightseat.access.authenticator import Authenticator
from rightseat.access.jwks import Jwks
from rightseat.access.keys import AccessKey, Keys
from rightseat.access.route_auth import RouteAuth, find_route_auth
from rightseat.access.tokens import Rules, Tokens
from rightseat.core.ask import ANYONE, Principal
from rightseat.core.errors import ConfigError, InsufficientScope, IssuerUnavailable, RightseatError, Unauthenticated
from tests.access.credentials import AUDIENCE, ISSUER, RSA, jwks, token

MADE = keys.generate()
ALICE = AccessKey("alice", "", keys.digest("key-alice"), "key:alice")
BOB = AccessKey(
    "bob", keys.prefix_of(MADE), keys.digest(MADE), "bob", ("copilotkit:support", "copilotkit:sales", "api:*")
)


def carried(credential: str) -> dict[str, Headers]:
    return {
        "bearer": Headers({"authorization": f"Bearer {credential}"}),
        "header": Headers({"x-api-key": credential}),
        "cookie": Headers({"cookie": f"session={credential}"}),
    }


CARRIERS = list(carried(""))


@pytest.fixture
def authenticator(tmp_path: Path) -> Authenticator:
    file = tmp_path / "jwks.json"
    file.write_text(jwks(RSA))
    rules = Rules(issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"])
    return Authenticator(Keys([ALICE, BOB]), Tokens(rules, Jwks(str(file))), "session")


@pytest.fixture
def auth(authenticator: Authenticator) -> RouteAuth:
    return RouteAuth("copilotkit", authenticator)


async def test_a_request_to_an_open_face_is_anonymous() -> None:
    for headers in (Headers(), *carried("key-alice").values(), *carried("wrong").values()):
        assert await RouteAuth("copilotkit").authorize(headers, "support") is ANYONE


async def test_an_open_face_may_have_routes_that_require_a_key(authenticator: Authenticator) -> None:
    auth = RouteAuth("openbb", None, route_authenticator=authenticator)

    assert await auth.authorize(Headers()) is ANYONE
    assert await auth.require_credential().authorize(carried("key-alice")["header"]) == Principal("key:alice")
    with pytest.raises(Unauthenticated):
        await auth.require_credential().authorize(Headers())


def test_a_face_that_requires_keys_without_configured_keys_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="requires keys, but none are configured"):
        _ = RouteAuth("openbb").require_credential()


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(
    ("credential", "principal"),
    [
        ("key-alice", Principal("key:alice")),
        (MADE, Principal("bob", ("support", "sales"))),
        (token(), Principal("carol")),
    ],
    ids=["secret", "key", "token"],
)
async def test_every_carrier_accepts_every_kind_of_credential(
    auth: RouteAuth, carrier: str, credential: str, principal: Principal
) -> None:
    assert await auth.authorize(carried(credential)[carrier]) == principal


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(
    "credential",
    ["", "wrong", "key-alic", "key-alicee", MADE[:-1], MADE + "x", token(aud="elsewhere"), token(exp=1), "a.b.c"],
    ids=["empty", "wrong", "shorter", "longer", "shorter key", "longer key", "audience", "expired", "no token"],
)
async def test_every_carrier_is_refused_for_the_same_reasons(auth: RouteAuth, carrier: str, credential: str) -> None:
    said = set()
    for headers in (carried(credential)[carrier], carried(credential)["header"]):
        with pytest.raises(Unauthenticated) as refused:
            await auth.authorize(headers)
        said.add((refused.value.status, refused.value.message))

    assert len(said) == 1
    assert {status for status, _ in said} == {401}


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_credential_allows_the_faces_and_agents_of_its_scopes(
    authenticator: Authenticator, carrier: str
) -> None:
    headers = carried(MADE)[carrier]

    assert (await RouteAuth("copilotkit", authenticator).authorize(headers, "sales")).agents == ("support", "sales")
    assert (await RouteAuth("api", authenticator).authorize(headers, "anything")).agents is None
    for face, agent in (("copilotkit", "default"), ("openbb", "support"), ("openbb", None)):
        with pytest.raises(InsufficientScope, match=f"the scope '{face}:{agent or r'[*]'}'"):
            await RouteAuth(face, authenticator).authorize(headers, agent)


async def test_an_agent_can_be_authorized_after_the_request(auth: RouteAuth) -> None:
    bob = await auth.authorize(carried(MADE)["header"])

    auth.check_agent(bob, "support")
    assert [auth.may_use(bob, name) for name in ("support", "sales", "default")] == [True, True, False]
    with pytest.raises(InsufficientScope):
        auth.check_agent(bob, "default")


@pytest.mark.parametrize(
    ("given", "face", "agents"),
    [
        (["*"], "copilotkit", None),
        (["*:*"], "copilotkit", None),
        (["copilotkit:*"], "copilotkit", None),
        (["copilotkit:a", "copilotkit:*"], "copilotkit", None),
        (["copilotkit:a", "copilotkit:b"], "copilotkit", ("a", "b")),
        (["*:a"], "copilotkit", ("a",)),
        (["copilotkit:a:b"], "copilotkit", ("a:b",)),
        (["copilotkit:*"], "copilotkit2", ()),
        (["copilotkit:*"], "copilot", ()),
        (["openid", "profile"], "copilotkit", ()),
        ([], "copilotkit", ()),
    ],
)
def test_scopes_select_the_agents_of_a_face(given: list[str], face: str, agents: tuple[str, ...] | None) -> None:
    assert scopes.agents(given, face) == agents


async def test_two_valid_credentials_are_refused(auth: RouteAuth) -> None:
    with pytest.raises(Unauthenticated, match="two different credentials"):
        await auth.authorize(Headers({"authorization": f"Bearer {MADE}", "x-api-key": "key-alice"}))


@given(text=strategies.binary(max_size=200), carrier=strategies.sampled_from(["authorization", "x-api-key", "cookie"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_malformed_header_is_refused_without_another_error(
    auth: RouteAuth, text: bytes, carrier: str
) -> None:
    for value in (text, b"Bearer " + text, b"session=" + text, b"Bearer rs_aaaaaaaa_" + text, b"Bearer a.b." + text):
        with pytest.raises(Unauthenticated):
            await auth.authorize(Headers(raw=[(carrier.encode(), value)]))


async def test_without_a_jwt_configuration_a_token_is_refused_as_unknown_key() -> None:
    with pytest.raises(Unauthenticated, match="Unknown API key"):
        await RouteAuth("copilotkit", Authenticator(Keys([ALICE]))).authorize(carried(token())["bearer"])


async def test_keys_still_authenticate_when_tokens_cannot_be_verified(tmp_path: Path) -> None:
    rules = Rules(issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"])
    auth = RouteAuth("copilotkit", Authenticator(Keys([ALICE]), Tokens(rules, Jwks(str(tmp_path / "nowhere")))))

    with pytest.raises(IssuerUnavailable) as refused:
        await auth.authorize(carried(token())["bearer"])
    assert refused.value.status == 503
    assert (await auth.authorize(carried("key-alice")["bearer"])).id == "key:alice"


# Guarded routes


def request(headers: Headers) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/", "headers": headers.raw})


async def test_a_protected_route_is_called_only_after_authorization(auth: RouteAuth) -> None:
    async def greet(request: Request, principal: Principal) -> Response:
        return PlainTextResponse(f"Hello {principal.id}")

    def refuse(error: RightseatError) -> Response:
        return PlainTextResponse(f"Sorry: {error.code}", error.status)

    endpoint = auth.protect(greet, refuse)
    good, bad, elsewhere = [
        await endpoint(request(headers))
        for headers in (carried("key-alice")["header"], Headers(), carried(MADE)["header"])
    ]

    assert (good.status_code, good.body) == (200, b"Hello key:alice")
    assert (bad.status_code, bad.body, bad.headers["www-authenticate"]) == (401, b"Sorry: unauthenticated", "Bearer")
    assert (elsewhere.status_code, elsewhere.body) == (200, b"Hello bob")
    assert find_route_auth(endpoint) is auth
    assert find_route_auth(greet) is None
    assert find_route_auth(None) is None


async def test_a_missing_scope_gets_403_without_a_challenge(authenticator: Authenticator) -> None:
    async def never(request: Request, principal: Principal) -> Response:
        raise AssertionError("it was let in")

    endpoint = RouteAuth("openbb", authenticator).protect(
        never, lambda error: PlainTextResponse(error.message, error.status)
    )
    answer = await endpoint(request(carried(MADE)["header"]))

    assert answer.status_code == 403
    assert "www-authenticate" not in answer.headers


# What the log says


async def test_the_audit_log_names_keys_and_users_and_never_a_credential(
    auth: RouteAuth, caplog: pytest.LogCaptureFixture
) -> None:
    unknown, forged = keys.generate(), token(sub="mallory", iss="https://elsewhere.example.com")
    with caplog.at_level(logging.INFO):
        for credential in ("key-alice", MADE, token()):
            await auth.authorize(carried(credential)["bearer"])
        for credential in (unknown, "hunter2", forged):
            with pytest.raises(Unauthenticated):
                await auth.authorize(carried(credential)["bearer"])
        with pytest.raises(InsufficientScope):
            await auth.authorize(carried(MADE)["bearer"], "default")

    assert [record.getMessage() for record in caplog.records if record.name == "rightseat.audit"] == [
        "copilotkit was used with the key 'alice'",
        "copilotkit was used with the key 'bob'",
        "copilotkit was used with a token of 'carol'",
        f"copilotkit refused a request: Unknown API key rs_{keys.prefix_of(unknown)}_….",
        "copilotkit refused a request: Unknown API key.",
        "copilotkit refused a request: The token has another issuer.",
        "copilotkit refused 'bob': it needs the scope 'copilotkit:default'",
    ]
    for secret in ("key-alice", MADE[12:], unknown[12:], "hunter2", *forged.split("."), *token().split(".")[1:]):
        assert secret not in caplog.text


async def test_a_request_cannot_inject_a_line_into_the_audit_log(
    auth: RouteAuth, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        bob = await auth.authorize(carried(MADE)["header"])
        with pytest.raises(InsufficientScope):
            auth.check_agent(bob, "x\n2026-01-01 INFO rightseat.audit: copilotkit was used with the key 'root'")

    assert "\n2026" not in caplog.records[-1].getMessage()
