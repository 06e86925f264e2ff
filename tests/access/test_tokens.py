"""JWTs: which are good, and why others are not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.access.jwks import Jwks
from rightseat.access.scopes import AuthenticatedUser
from rightseat.access.tokens import Rules, Tokens
from rightseat.core.errors import IssuerUnavailable, Unauthenticated
from tests.access.credentials import AUDIENCE, EC, ED, ISSUER, OTHER, RSA, claims, jwks, part, signed_with, token

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    file = tmp_path / "jwks.json"
    file.write_text(jwks(RSA, EC, ED))
    return file


def rules(**changes: Any) -> Rules:
    return Rules(**{"issuer": ISSUER, "audience": AUDIENCE, "algorithms": ALGORITHMS} | changes)


@pytest.fixture
async def tokens(file: Path) -> AsyncIterator[Tokens]:
    async with Tokens(rules(), Jwks(str(file))) as tokens:
        yield tokens


@pytest.mark.parametrize(
    "good",
    [
        token(),
        token(RSA, "PS256"),
        token(EC, "ES256"),
        token(ED, "EdDSA"),
        token(aud=["elsewhere", AUDIENCE]),
        token(header={"typ": "at+jwt", "made-by": "them"}),
        token(iat=None),
    ],
    ids=["RS256", "PS256", "ES256", "EdDSA", "two audiences", "other headers", "without iat"],
)
async def test_a_valid_token_identifies_its_user(tokens: Tokens, good: str) -> None:
    assert await tokens.check(good) == AuthenticatedUser("carol", ("*",), "a token of 'carol'")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": 1}, "has expired"),
        ({"exp": None}, "lacks a claim"),
        ({"exp": "tomorrow"}, "malformed"),
        ({"exp": float("nan")}, "malformed"),
        ({"nbf": 2**33}, "not valid yet"),
        ({"iat": 2**33}, "not valid yet"),
        ({"iss": "https://login.example.org"}, "another issuer"),
        ({"iss": ISSUER + "/"}, "another issuer"),
        ({"iss": [ISSUER]}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"aud": "elsewhere"}, "another audience"),
        ({"aud": ["elsewhere"]}, "another audience"),
        ({"aud": []}, "another audience"),
        ({"aud": None}, "another audience"),
        ({"sub": None}, "no user id"),
        ({"sub": ""}, "no user id"),
        ({"sub": 7}, "malformed|no user id"),
        ({"sub": "x" * 256}, "no user id"),
        ({"sub": "anyone"}, "reserved"),
        ({"sub": "key:alice"}, "reserved"),
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(tokens: Tokens, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Unauthenticated, match=why):
        await tokens.check(token(**changes))


@pytest.mark.parametrize("type", ["logout+jwt", "secevent+jwt", "dpop+jwt", "application/logout+jwt", "JWE", "jwt2"])
async def test_what_the_issuer_signed_for_another_purpose_is_no_token_of_a_user(tokens: Tokens, type: str) -> None:
    with pytest.raises(Unauthenticated, match="of another type"):
        await tokens.check(token(header={"typ": type}))


async def test_a_security_event_without_a_type_is_no_token_of_a_user(tokens: Tokens) -> None:
    with pytest.raises(Unauthenticated, match="of another type"):
        await tokens.check(token(events={"http://schemas.openid.net/event/backchannel-logout": {}}))


@pytest.mark.parametrize("type", [None, "", "JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])
async def test_access_tokens_and_id_tokens_are_accepted(tokens: Tokens, type: str | None) -> None:
    assert (await tokens.check(token(header={"typ": type}))).id == "carol"


@pytest.mark.parametrize("user", [" ", "\t", "carol\nroot", "carol\0", "\x1b[31m", "\x85"])
async def test_a_user_id_without_characters_that_can_be_shown_is_refused(tokens: Tokens, user: str) -> None:
    with pytest.raises(Unauthenticated, match="blank or has control characters"):
        await tokens.check(token(sub=user))


async def test_expiry_is_checked_with_leeway(file: Path) -> None:
    now = claims()["iat"]
    async with Tokens(rules(leeway_seconds=30), Jwks(str(file)), clock=lambda: now + 620) as tokens:
        assert (await tokens.check(token(exp=now + 600))).id == "carol"
        with pytest.raises(Unauthenticated, match="has expired"):
            await tokens.check(token(exp=now + 580))


async def test_a_token_without_a_signature_is_refused(tokens: Tokens) -> None:
    for alg in ("none", "None", "NONE", ""):
        with pytest.raises(Unauthenticated, match=r"not allowed|malformed"):
            await tokens.check(f"{part({'alg': alg, 'kid': 'rsa'})}.{part(claims())}.")
    head, body, _ = token().split(".")
    for signature in ("", "AAAA", part(b"\0" * 256)):
        with pytest.raises(Unauthenticated, match=r"not signed by|malformed"):
            await tokens.check(f"{head}.{body}.{signature}")


async def test_a_public_key_is_not_accepted_as_hmac_secret(tokens: Tokens) -> None:
    """An HMAC under the issuer's public key, which everyone knows: CVE-2015-9235 and its like."""
    for public in (RSA.as_pem(private=False), RSA.as_der(private=False), jwks(RSA).encode()):
        for alg in ("HS256", "HS384", "HS512"):
            with pytest.raises(Unauthenticated, match="not allowed"):
                await tokens.check(signed_with(public, alg))


async def test_a_symmetric_key_in_the_key_set_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": [{"kty": "oct", "kid": "rsa", "k": part(b"x" * 64)}]}))

    async with Tokens(rules(algorithms=("HS256",)), Jwks(str(file))) as tokens:
        with pytest.raises(Unauthenticated, match="not signed by"):
            await tokens.check(signed_with(b"x" * 64, "HS256"))


@pytest.mark.parametrize(
    "forged",
    [
        token(OTHER),
        token(OTHER, header={"kid": "rsa"}),
        token(RSA, header={"kid": "ec"}),
        token(RSA, header={"kid": None}),
        token(RSA, header={"kid": ""}),
        token(OTHER, header={"kid": "rsa", "jwk": dict(OTHER.as_dict(private=False))}),
        token(OTHER, header={"kid": "rsa", "jku": "https://evil.example.com/jwks.json"}),
    ],
    ids=[
        "unknown kid",
        "somebody else's kid",
        "kid of another kind",
        "no kid",
        "empty kid",
        "own key inside",
        "own address inside",
    ],
)
async def test_a_token_that_is_not_signed_by_the_key_that_it_names_is_refused(tokens: Tokens, forged: str) -> None:
    with pytest.raises(Unauthenticated, match=r"not signed by|malformed"):
        await tokens.check(forged)


async def test_a_token_may_leave_out_the_id_of_the_only_key(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(jwks(RSA))

    async with Tokens(rules(), Jwks(str(file))) as tokens:
        assert (await tokens.check(token(header={"kid": None}))).id == "carol"


async def test_a_token_with_an_algorithm_that_is_not_allowed_is_refused(file: Path) -> None:
    async with Tokens(rules(algorithms=("ES256",)), Jwks(str(file))) as tokens:
        assert (await tokens.check(token(EC, "ES256"))).id == "carol"
        with pytest.raises(Unauthenticated, match="not allowed"):
            await tokens.check(token(RSA, "RS256"))


@pytest.mark.parametrize(
    "malformed",
    [
        "a.b.c",
        "..",
        "a.b.",
        f"{part([])}.{part(claims())}.AAAA",
        f"{part({})}.{part(claims())}.AAAA",
        f"{part({'alg': ['RS256']})}.{part(claims())}.AAAA",
        f"{part({'alg': 'RS256', 'kid': ['rsa']})}.{part(claims())}.AAAA",
        f"{part({'alg': 'RS256', 'kid': {}})}.{part(claims())}.AAAA",
        f"{part(b'[' * 5000)}.{part(claims())}.AAAA",
        f"{part({'alg': 'RS256', 'kid': 'rsa', 'crit': ['exp'], 'exp': 1})}.{part(claims())}.AAAA",
        token().replace(".", ".\x00", 1),
        token() + "é",
    ],
)
async def test_malformed_tokens_are_refused_without_an_exception(tokens: Tokens, malformed: str) -> None:
    with pytest.raises(Unauthenticated):
        await tokens.check(malformed)


async def test_deeply_nested_claims_are_refused(tokens: Tokens) -> None:
    """Only the issuer could make one; it should not end the server all the same."""
    head = part({"alg": "RS256", "kid": "rsa"})
    with pytest.raises(Unauthenticated):
        await tokens.check(f"{head}.{part(b'[' * 5000)}.{part(b'x' * 256)}")


async def test_the_user_claim_can_be_configured(file: Path) -> None:
    async with Tokens(rules(user_claim="oid"), Jwks(str(file))) as tokens:
        assert (await tokens.check(token(oid="c-1"))).id == "c-1"
        with pytest.raises(Unauthenticated, match="'oid' should be a non-empty string"):
            await tokens.check(token())


@pytest.mark.parametrize(
    ("said", "scopes"),
    [
        ("openid copilotkit:default", ("openid", "copilotkit:default")),
        (["copilotkit:*", 7], ("copilotkit:*",)),
        (None, ()),
        ("", ()),
        (7, ()),
        ({"*": True}, ()),
    ],
)
async def test_a_claim_can_hold_the_scopes(file: Path, said: object, scopes: tuple[str, ...]) -> None:
    async with Tokens(rules(scopes_claim="scope"), Jwks(str(file))) as tokens:
        assert (await tokens.check(token(scope=said))).scopes == scopes


async def test_an_error_contains_no_part_of_the_token(tokens: Tokens) -> None:
    canary = token(sub="canary-sub", iss="canary-iss")
    with pytest.raises(Unauthenticated) as refused:
        await tokens.check(canary)

    told = f"{refused.value!r} {refused.value.__cause__!r} {refused.value.__suppress_context__}"
    assert told.endswith("None True")
    assert "canary" not in told
    assert not any(piece in told for piece in canary.split("."))


async def test_without_the_keys_of_the_issuer_no_token_is_accepted(tmp_path: Path) -> None:
    async with Tokens(rules(), Jwks(str(tmp_path / "nowhere.json"))) as tokens:
        with pytest.raises(IssuerUnavailable, match="unavailable"):
            await tokens.check(token())
