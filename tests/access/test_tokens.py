"""JWTs: which are good, and why others are not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.access.jwks import Jwks
from rightseat.access.scopes import Holder
from rightseat.access.tokens import Rules, Tokens
from rightseat.core.errors import Refused, Unverifiable
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
async def test_a_good_token_says_who_it_is(tokens: Tokens, good: str) -> None:
    assert await tokens.check(good) == Holder("carol", ("*",), "a token of 'carol'")


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
        ({"sub": None}, "who it is about"),
        ({"sub": ""}, "who it is about"),
        ({"sub": 7}, "malformed|who it is about"),
        ({"sub": "x" * 256}, "who it is about"),
        ({"sub": "anyone"}, "reserved"),
        ({"sub": "key:alice"}, "reserved"),
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(tokens: Tokens, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=why):
        await tokens.check(token(**changes))


async def test_clocks_may_differ_a_little(file: Path) -> None:
    now = claims()["iat"]
    async with Tokens(rules(leeway=30), Jwks(str(file)), clock=lambda: now + 620) as tokens:
        assert (await tokens.check(token(exp=now + 600))).user == "carol"
        with pytest.raises(Refused, match="has expired"):
            await tokens.check(token(exp=now + 580))


async def test_a_token_without_a_signature_is_refused(tokens: Tokens) -> None:
    for alg in ("none", "None", "NONE", ""):
        with pytest.raises(Refused, match=r"not allowed|malformed"):
            await tokens.check(f"{part({'alg': alg, 'kid': 'rsa'})}.{part(claims())}.")
    head, body, _ = token().split(".")
    for signature in ("", "AAAA", part(b"\0" * 256)):
        with pytest.raises(Refused, match=r"not signed by|malformed"):
            await tokens.check(f"{head}.{body}.{signature}")


async def test_a_public_key_is_no_shared_secret(tokens: Tokens) -> None:
    """An HMAC under the issuer's public key, which everyone knows: CVE-2015-9235 and its like."""
    for public in (RSA.as_pem(private=False), RSA.as_der(private=False), jwks(RSA).encode()):
        for alg in ("HS256", "HS384", "HS512"):
            with pytest.raises(Refused, match="not allowed"):
                await tokens.check(signed_with(public, alg))


async def test_a_shared_secret_in_the_set_is_no_key(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": [{"kty": "oct", "kid": "rsa", "k": part(b"x" * 64)}]}))

    async with Tokens(rules(algorithms=("HS256",)), Jwks(str(file))) as tokens:
        with pytest.raises(Refused, match="not signed by"):
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
    with pytest.raises(Refused, match=r"not signed by|malformed"):
        await tokens.check(forged)


async def test_a_token_may_leave_out_the_id_of_the_only_key(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(jwks(RSA))

    async with Tokens(rules(), Jwks(str(file))) as tokens:
        assert (await tokens.check(token(header={"kid": None}))).user == "carol"


async def test_an_algorithm_must_be_allowed_even_if_the_key_would_do(file: Path) -> None:
    async with Tokens(rules(algorithms=("ES256",)), Jwks(str(file))) as tokens:
        assert (await tokens.check(token(EC, "ES256"))).user == "carol"
        with pytest.raises(Refused, match="not allowed"):
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
async def test_what_is_no_token_is_refused_and_nothing_breaks(tokens: Tokens, malformed: str) -> None:
    with pytest.raises(Refused):
        await tokens.check(malformed)


async def test_claims_that_nest_without_end_are_refused(tokens: Tokens) -> None:
    """Only the issuer could make one; it should not end the server all the same."""
    head = part({"alg": "RS256", "kid": "rsa"})
    with pytest.raises(Refused):
        await tokens.check(f"{head}.{part(b'[' * 5000)}.{part(b'x' * 256)}")


async def test_the_claim_that_says_who_it_is_can_be_chosen(file: Path) -> None:
    async with Tokens(rules(user="oid"), Jwks(str(file))) as tokens:
        assert (await tokens.check(token(oid="c-1"))).user == "c-1"
        with pytest.raises(Refused, match="'oid' should be a text"):
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
async def test_a_claim_may_say_what_the_token_is_for(file: Path, said: object, scopes: tuple[str, ...]) -> None:
    async with Tokens(rules(scopes_claim="scope"), Jwks(str(file))) as tokens:
        assert (await tokens.check(token(scope=said))).scopes == scopes


async def test_nothing_of_a_token_is_told(tokens: Tokens) -> None:
    canary = token(sub="canary-sub", iss="canary-iss")
    with pytest.raises(Refused) as refused:
        await tokens.check(canary)

    told = f"{refused.value!r} {refused.value.__cause__!r} {refused.value.__suppress_context__}"
    assert told.endswith("None True")
    assert "canary" not in told
    assert not any(piece in told for piece in canary.split("."))


async def test_without_the_keys_of_the_issuer_nobody_is_let_in(tmp_path: Path) -> None:
    async with Tokens(rules(), Jwks(str(tmp_path / "nowhere.json"))) as tokens:
        with pytest.raises(Unverifiable, match="cannot be had"):
            await tokens.check(token())
