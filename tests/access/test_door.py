"""A face's door: who comes in, as whom, and what is told to the others."""

import logging
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rightseat.access import keys, scopes
from rightseat.access.door import Door, Doorman, guard_of
from rightseat.access.jwks import Jwks
from rightseat.access.keys import Key, Keys
from rightseat.access.tokens import Rules, Tokens
from rightseat.core.ask import ANYONE, Principal
from rightseat.core.errors import ConfigError, OutOfScope, Refused, Unverifiable
from tests.access.credentials import AUDIENCE, ISSUER, RSA, jwks, token

MADE = keys.new()
ALICE = Key("alice", "", keys.digest("key-alice"), "key:alice")
BOB = Key("bob", keys.prefix_of(MADE), keys.digest(MADE), "bob", ("copilotkit:support", "copilotkit:sales", "api:*"))


def carried(credential: str) -> dict[str, Headers]:
    return {
        "bearer": Headers({"authorization": f"Bearer {credential}"}),
        "header": Headers({"x-api-key": credential}),
        "cookie": Headers({"cookie": f"session={credential}"}),
    }


CARRIERS = list(carried(""))


@pytest.fixture
def doorman(tmp_path: Path) -> Doorman:
    file = tmp_path / "jwks.json"
    file.write_text(jwks(RSA))
    rules = Rules(issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"])
    return Doorman(Keys([ALICE, BOB]), Tokens(rules, Jwks(str(file))), "session")


@pytest.fixture
def door(doorman: Doorman) -> Door:
    return Door("copilotkit", doorman)


async def test_whoever_comes_through_an_open_door_is_anyone() -> None:
    for headers in (Headers(), *carried("key-alice").values(), *carried("wrong").values()):
        assert await Door("copilotkit").admit(headers, "support") is ANYONE


async def test_an_open_face_may_have_rooms_that_want_a_key(doorman: Doorman) -> None:
    door = Door("openbb", None, inner=doorman)

    assert await door.admit(Headers()) is ANYONE
    assert await door.locked.admit(carried("key-alice")["header"]) == Principal("key:alice")
    with pytest.raises(Refused):
        await door.locked.admit(Headers())


def test_a_room_that_wants_a_key_where_there_are_none_is_a_wrong_configuration() -> None:
    with pytest.raises(ConfigError, match="asks for keys, and there are none"):
        _ = Door("openbb").locked


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
async def test_every_carrier_brings_every_kind_of_credential(
    door: Door, carrier: str, credential: str, principal: Principal
) -> None:
    assert await door.admit(carried(credential)[carrier]) == principal


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(
    "credential",
    ["", "wrong", "key-alic", "key-alicee", MADE[:-1], MADE + "x", token(aud="elsewhere"), token(exp=1), "a.b.c"],
)
async def test_every_carrier_is_refused_for_the_same_reasons(door: Door, carrier: str, credential: str) -> None:
    said = set()
    for headers in (carried(credential)[carrier], carried(credential)["header"]):
        with pytest.raises(Refused) as refused:
            await door.admit(headers)
        said.add((refused.value.status, refused.value.message))

    assert len(said) == 1
    assert {status for status, _ in said} == {401}


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_credential_reaches_the_faces_and_agents_of_its_scopes(doorman: Doorman, carrier: str) -> None:
    headers = carried(MADE)[carrier]

    assert (await Door("copilotkit", doorman).admit(headers, "sales")).agents == ("support", "sales")
    assert (await Door("api", doorman).admit(headers, "anything")).agents is None
    for face, agent in (("copilotkit", "default"), ("openbb", "support"), ("openbb", None)):
        with pytest.raises(OutOfScope, match=f"the scope '{face}:{agent or r'[*]'}'"):
            await Door(face, doorman).admit(headers, agent)


async def test_the_agent_can_be_checked_when_it_is_known(door: Door) -> None:
    bob = await door.admit(carried(MADE)["header"])

    door.check(bob, "support")
    assert [door.may(bob, name) for name in ("support", "sales", "default")] == [True, True, False]
    with pytest.raises(OutOfScope):
        door.check(bob, "default")


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
def test_scopes_open_agents_of_a_face(given: list[str], face: str, agents: tuple[str, ...] | None) -> None:
    assert scopes.agents(given, face) == agents


async def test_two_credentials_are_refused_even_if_both_are_good(door: Door) -> None:
    with pytest.raises(Refused, match="two different credentials"):
        await door.admit(Headers({"authorization": f"Bearer {MADE}", "x-api-key": "key-alice"}))


@given(text=strategies.binary(max_size=200), carrier=strategies.sampled_from(["authorization", "x-api-key", "cookie"]))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_comes_in_a_header_is_refused_in_good_order(door: Door, text: bytes, carrier: str) -> None:
    for value in (text, b"Bearer " + text, b"session=" + text, b"Bearer rs_aaaaaaaa_" + text, b"Bearer a.b." + text):
        with pytest.raises(Refused):
            await door.admit(Headers(raw=[(carrier.encode(), value)]))


async def test_without_tokens_a_token_is_a_key_that_is_not_known() -> None:
    with pytest.raises(Refused, match="The key is not known here"):
        await Door("copilotkit", Doorman(Keys([ALICE]))).admit(carried(token())["bearer"])


async def test_tokens_that_cannot_be_checked_let_nobody_in_but_keys_do(tmp_path: Path) -> None:
    rules = Rules(issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"])
    door = Door("copilotkit", Doorman(Keys([ALICE]), Tokens(rules, Jwks(str(tmp_path / "nowhere")))))

    with pytest.raises(Unverifiable) as refused:
        await door.admit(carried(token())["bearer"])
    assert refused.value.status == 503
    assert (await door.admit(carried("key-alice")["bearer"])).id == "key:alice"


# Guarded routes


def request(headers: Headers) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/", "headers": headers.raw})


async def test_a_guarded_route_is_reached_only_through_the_door(door: Door) -> None:
    async def greet(request: Request, principal: Principal) -> Response:
        return PlainTextResponse(f"Hello {principal.id}")

    def refuse(error: Refused) -> Response:
        return PlainTextResponse(f"Sorry: {error.code}", error.status)

    endpoint = door.guard(greet, refuse)
    good, bad, elsewhere = [
        await endpoint(request(headers))
        for headers in (carried("key-alice")["header"], Headers(), carried(MADE)["header"])
    ]

    assert (good.status_code, good.body) == (200, b"Hello key:alice")
    assert (bad.status_code, bad.body, bad.headers["www-authenticate"]) == (401, b"Sorry: refused", "Bearer")
    assert (elsewhere.status_code, elsewhere.body) == (200, b"Hello bob")
    assert guard_of(endpoint) is door
    assert guard_of(greet) is None
    assert guard_of(None) is None


async def test_a_wrong_scope_is_403_without_a_challenge(doorman: Doorman) -> None:
    async def never(request: Request, principal: Principal) -> Response:
        raise AssertionError("it was let in")

    endpoint = Door("openbb", doorman).guard(never, lambda error: PlainTextResponse(error.message, error.status))
    answer = await endpoint(request(carried(MADE)["header"]))

    assert answer.status_code == 403
    assert "www-authenticate" not in answer.headers


# What the log says


async def test_the_audit_log_names_keys_and_users_and_never_a_credential(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    unknown, forged = keys.new(), token(sub="mallory", iss="https://elsewhere.example.com")
    with caplog.at_level(logging.INFO):
        for credential in ("key-alice", MADE, token()):
            await door.admit(carried(credential)["bearer"])
        for credential in (unknown, "hunter2", forged):
            with pytest.raises(Refused):
                await door.admit(carried(credential)["bearer"])
        with pytest.raises(OutOfScope):
            await door.admit(carried(MADE)["bearer"], "default")

    assert [record.getMessage() for record in caplog.records if record.name == "rightseat.audit"] == [
        "copilotkit was used with the key 'alice'",
        "copilotkit was used with the key 'bob'",
        "copilotkit was used with a token of 'carol'",
        f"copilotkit refused a request: The key rs_{keys.prefix_of(unknown)}_… is not known here.",
        "copilotkit refused a request: The key is not known here.",
        "copilotkit refused a request: The token is of another issuer.",
        "copilotkit refused 'bob': it needs the scope 'copilotkit:default'",
    ]
    for secret in ("key-alice", MADE[12:], unknown[12:], "hunter2", *forged.split("."), *token().split(".")[1:]):
        assert secret not in caplog.text


async def test_nothing_that_was_sent_can_begin_a_line_of_the_log(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        bob = await door.admit(carried(MADE)["header"])
        with pytest.raises(OutOfScope):
            door.check(bob, "x\n2026-01-01 INFO rightseat.audit: copilotkit was used with the key 'root'")

    assert "\n2026" not in caplog.records[-1].getMessage()
