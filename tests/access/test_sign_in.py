"""Sign-in with an identity provider over HTTP: who gets a session, and every response that gives none."""

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rightseat.access.sign_in import cipher as ciphers
from rightseat.access.sign_in.attempt import ATTEMPT_S, SignInAttempt
from rightseat.access.sign_in.provider import OpenIdProvider
from rightseat.access.sign_in.provider_client import check_endpoint
from rightseat.access.sign_in.refusal import SignInRefused
from rightseat.config import Oidc
from rightseat.config.access import Grant
from tests.access.credentials import OTHER, part, signed_with
from tests.access.openid_provider import (
    CLIENT,
    PUBLIC_URL,
    SECRET,
    Browser,
    FakeProvider,
    continues,
    serving_console,
    signing_in,
)
from tests.conftest import Serve
from tests.proxy import proxying

CONSOLE = f"{PUBLIC_URL}/console/"
STATE, SESSION = "rightseat-sign-in", "rightseat"


def refused(problem: str) -> str:
    return f"{CONSOLE}#/sign-in?problem={problem}"


async def test_a_user_of_the_provider_gets_a_session_with_the_scopes_of_the_claims(
    serve: Serve, tmp_path: Path
) -> None:
    async with signing_in(serve, tmp_path) as (_, browser):
        before = await browser.me()
        assert await browser.sign_in() == CONSOLE
        me = (await browser.me()).json()

    assert before.status_code == 401
    assert before.json()["sign_in"] == {"name": "Example", "url": f"{PUBLIC_URL}/sign-in/start"} == me["sign_in"]
    assert me["user"] == "alice"
    assert me["rights"] == {"use": ["*"], "watch": ["*"], "read": None, "act": None, "author": None}
    assert browser.set[STATE]["samesite"] == "lax"
    assert browser.set[SESSION]["samesite"] == "strict"
    assert browser.set[STATE]["httponly"]
    assert browser.set[SESSION]["httponly"]
    assert STATE not in browser.cookies


async def test_the_grants_that_apply_are_added_up_and_claims_may_be_nested(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        provider.claims = {"groups": "operators", "realm": {"roles": ["user"]}}
        await browser.sign_in()
        both = (await browser.me()).json()["rights"]
        provider.claims = {"realm": {"roles": ["user"]}}
        await browser.sign_in()
        one = (await browser.me()).json()["rights"]

    assert (both["use"], both["watch"]) == (["*"], ["*"])
    assert (one["use"], one["watch"]) == (["default"], None)


WITHOUT_A_GRANT: list[dict[str, Any]] = [
    {},
    {"groups": []},
    {"groups": ["operator"]},
    {"groups": ["Operators"]},
    {"groups": "operators,users"},
    {"groups": {"operators": True}},
    {"realm": "roles"},
    {"realm": {"roles": "users"}},
    {"roles": ["user"]},
]


async def test_a_user_without_a_grant_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        for claims in WITHOUT_A_GRANT:
            provider.claims = claims
            assert await browser.sign_in() == refused("no_access"), claims
            assert (await browser.me()).status_code == 401, claims


async def test_claims_that_the_id_token_lacks_come_from_the_user_info(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        provider.claims, provider.user_info = {}, {"sub": "alice", "groups": ["operators"]}
        assert await browser.sign_in() == CONSOLE
        provider.user_info = {"sub": "bob", "groups": ["operators"]}
        assert await browser.sign_in() == refused("invalid_response")


async def test_an_access_token_that_no_header_can_carry_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        provider.claims, provider.user_info = {}, {"sub": "alice"}
        for provider.access_token in ("an-access-token\r\nx-forged: 1", "ü", ""):
            assert await browser.sign_in() == refused("invalid_response")


# What is sent to the browser and to the provider


async def test_addresses_come_from_the_public_url_and_never_from_the_host_header(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        spoofed = await browser.get(
            "/sign-in/start", host="evil.example.com", **{"x-forwarded-host": "evil.example.com"}
        )
        query = parse_qs(urlsplit(spoofed.headers["location"]).query)
        failed = await browser.get("/sign-in/callback?to=//evil.example.com&state=x", host="evil.example.com")
        offered = await browser.get("/operator/me", host="evil.example.com")

    assert spoofed.headers["location"].startswith(f"{provider.url}/authorize?")
    assert query["redirect_uri"] == [f"{PUBLIC_URL}/sign-in/callback"]
    assert continues(failed) == refused("expired")
    assert "evil" not in spoofed.text + failed.text + offered.text


async def test_https_gives_cookies_with_the_host_prefix(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path, "https://copilot.example.com/below") as (_, browser):
        callback = await browser.visit_provider()
        assert callback.startswith("https://copilot.example.com/below/sign-in/callback?")
        page = await browser.get(callback.replace("/below", ""))
        me = await browser.me()

    assert continues(page) == "https://copilot.example.com/below/console/"
    assert me.json()["user"] == "alice"
    for name in ("__Host-rightseat-sign-in", "__Host-rightseat"):
        cookie = browser.set[name]
        assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")


async def test_the_pages_have_strict_headers_and_pages_of_other_origins_cannot_call_them(
    serve: Serve, tmp_path: Path
) -> None:
    async with signing_in(serve, tmp_path) as (_, browser):
        started = await browser.get("/sign-in/start")
        page = await browser.get("/sign-in/callback")
        called = await browser.get("/sign-in/start", origin="http://localhost:3000")
        posted = await browser.get("/sign-in/callback", "POST", **{"content-type": "application/json"})

    for answer in (started, page):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; base-uri 'none'; form-action")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert called.status_code == 403
    assert posted.status_code == 405


async def test_the_cookie_of_a_sign_in_in_progress_shows_nothing(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (_, browser):
        query = parse_qs(urlsplit(await browser.start()).query)

    assert len(query["state"][0]) == len(query["nonce"][0]) == 43
    assert query["state"][0] not in browser.cookies[STATE]
    assert query["nonce"][0] not in browser.cookies[STATE]


# Attacks on the response


async def test_a_response_is_refused_with_another_state_or_without_the_cookie(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        callback = await browser.visit_provider()
        without = Browser(browser.url)
        assert continues(await without.get(callback)) == refused("expired")
        wrong = callback.replace("state=", "state=x")
        assert continues(await browser.get(wrong)) == refused("expired")

        assert "token" not in provider.requests
        assert (await browser.me()).status_code == (await without.me()).status_code == 401


async def test_a_response_to_the_sign_in_of_another_browser_is_refused(serve: Serve, tmp_path: Path) -> None:
    """Login CSRF: an attacker lets the victim finish the attacker's sign-in."""
    async with signing_in(serve, tmp_path) as (provider, attacker):
        victim = Browser(attacker.url)
        await victim.start()
        callback = await attacker.visit_provider()

        assert continues(await victim.get(callback)) == refused("expired")
        assert (await victim.me()).status_code == 401
        assert "token" not in provider.requests


async def test_a_response_can_be_used_once(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (_, browser):
        callback = await browser.visit_provider()
        stolen = Browser(browser.url)
        stolen.cookies = dict(browser.cookies)
        assert continues(await browser.get(callback)) == CONSOLE

        assert continues(await browser.get(callback)) == refused("expired")
        assert continues(await stolen.get(callback)) == refused("expired")
        assert (await stolen.me()).status_code == 401


async def test_a_code_of_another_sign_in_is_refused(serve: Serve, tmp_path: Path) -> None:
    """The injected code belongs to another PKCE verifier."""
    async with signing_in(serve, tmp_path) as (provider, victim):
        theirs = parse_qs(urlsplit(await Browser(victim.url).visit_provider()).query)["code"][0]
        provider.response = {"code": theirs}

        assert await victim.sign_in() == refused("expired")


async def test_a_response_of_another_issuer_is_refused(serve: Serve, tmp_path: Path) -> None:
    """Mix-up, RFC 9207."""
    async with signing_in(serve, tmp_path) as (provider, browser):
        for issuer in ("&iss=https://evil.example.com", "&iss=", ""):
            spoilt = (await browser.visit_provider()).partition("&iss=")[0] + issuer
            assert continues(await browser.get(spoilt)) == refused("invalid_response")
        assert "token" not in provider.requests


async def test_a_parameter_that_is_there_twice_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (_, browser):
        callback = await browser.visit_provider()

        assert continues(await browser.get(f"{callback}&code=other")) == refused("invalid_response")


async def test_a_sign_in_in_progress_expires_and_is_bound_to_its_secret(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        late = await browser.visit_provider()
        with monkeypatch.context() as patch:
            patch.setattr("cryptography.fernet.time.time", lambda now=time.time: now() + ATTEMPT_S + 5)
            assert continues(await browser.get(late)) == refused("expired")
        callback = await browser.visit_provider()
        forged = ciphers.AttemptCipher(b"x" * 32, f"{provider.url} {CLIENT} {PUBLIC_URL}/sign-in/callback")
        state = parse_qs(urlsplit(callback).query)["state"][0]
        browser.cookies[STATE] = forged.encrypt(SignInAttempt(state, "n", "v"))
        assert continues(await browser.get(callback)) == refused("expired")


# Attacks on the ID token


def tamper(token: str) -> str:
    head, _, signature = token.split(".")
    return f"{head}.{part(json.dumps({'sub': 'root', 'groups': ['operators']}).encode())}.{signature}"


def unsigned(token: str) -> str:
    return f"{part({'alg': 'none'})}.{token.split('.')[1]}."


UNSIGNED: dict[str, Callable[[str], str]] = {
    "another body": tamper,
    "alg none": unsigned,
    "no signature": lambda token: token.rpartition(".")[0] + ".",
    "hmac": lambda token: signed_with(b"x" * 64, "HS256"),
    "no token": lambda token: "no token at all",
    "empty": lambda token: "",
}


async def test_a_token_that_the_provider_did_not_sign_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        for name, provider.spoil in UNSIGNED.items():
            assert await browser.sign_in() == refused("invalid_response"), name
            assert (await browser.me()).status_code == 401, name


WRONG_CLAIMS: list[tuple[dict[str, Any], str]] = [
    ({"nonce": "another"}, "invalid_response"),
    ({"nonce": None}, "invalid_response"),
    ({"iss": "https://evil.example.com"}, "invalid_response"),
    ({"iss": None}, "invalid_response"),
    ({"aud": "another-client"}, "invalid_response"),
    ({"aud": [CLIENT, "another-client"]}, "invalid_response"),
    ({"aud": [CLIENT, "another-client"], "azp": "another-client"}, "invalid_response"),
    ({"aud": None}, "invalid_response"),
    ({"at_hash": "AAAA"}, "invalid_response"),
    ({"at_hash": 7}, "invalid_response"),
    ({"exp": 1}, "clock"),
    ({"iat": 2**33}, "clock"),
    ({"nbf": 2**33}, "clock"),
    ({"exp": None}, "invalid_response"),
    ({"sub": None}, "invalid_response"),
    ({"sub": "key:desk"}, "invalid_response"),
    ({"sub": "anyone"}, "invalid_response"),
    ({"sub": 7}, "invalid_response"),
]


async def test_a_token_with_a_wrong_claim_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        for claims, problem in WRONG_CLAIMS:
            provider.claims = {"groups": ["operators"], **claims}
            assert await browser.sign_in() == refused(problem), claims
            assert (await browser.me()).status_code == 401, claims


async def test_two_audiences_are_accepted_if_the_token_is_for_this_client(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        provider.claims |= {"aud": [CLIENT, "another-client"], "azp": CLIENT}

        assert await browser.sign_in() == CONSOLE


async def test_a_key_that_the_provider_does_not_publish_is_named_as_the_cause(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        provider.key = OTHER

        assert await browser.sign_in() == refused("unknown_key")


# What providers refuse, and outages


ERRORS = {
    "access_denied": "denied",
    "login_required": "denied",
    "invalid_scope": "misconfigured",
    "temporarily_unavailable": "unavailable",
}


async def test_an_error_of_the_provider_is_shown_as_a_problem_and_logged(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with signing_in(serve, tmp_path) as (provider, browser):
        for error, problem in ERRORS.items():
            provider.response = {"error": error, "error_description": "<b>not\nyou</b>"}
            assert await browser.sign_in() == refused(problem)
            line = f"sign-in: refused with Example ({problem}): the provider refused: '{error} <b>not you</b>'"
            assert line in caplog.messages


async def test_an_address_with_many_refused_sign_ins_has_to_wait(serve: Serve, tmp_path: Path) -> None:
    office, home = {"x-forwarded-for": "203.0.113.7"}, {"x-forwarded-for": "198.51.100.1"}
    async with signing_in(serve, tmp_path) as (_, browser):
        refusals = [await browser.get("/sign-in/callback?code=a&state=b", **office) for _ in range(20)]
        limited = [await browser.get(f"/sign-in/{path}", **office) for path in ("callback", "start")]
        elsewhere = await browser.get("/sign-in/start", **home)

    assert {continues(one) for one in refusals} == {refused("expired")}
    assert [one.status_code for one in (*limited, elsewhere)] == [429, 429, 303]
    assert limited[0].text.startswith("Too many wrong keys or sign-ins came from your address. Try again in ")
    assert 1 <= int(limited[1].headers["retry-after"]) <= 3


async def test_sign_ins_are_in_the_audit_log_without_secrets(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with signing_in(serve, tmp_path) as (provider, browser):
        await browser.sign_in()
        session = browser.cookies[SESSION]
        provider.response = {"code": "a-code-of-another-sign-in"}
        await browser.sign_in()
        await browser.get("/operator/session", "DELETE", **{"x-rightseat": "1"})

    lines = [record.getMessage() for record in caplog.records if record.name == "rightseat.audit"]
    assert "sign-in: 'alice' signed in with Example" in lines
    assert "operator: alice signed out" in lines
    kinds = {getattr(record, "audit_kind", None) for record in caplog.records if record.name == "rightseat.audit"}
    assert "sign_in" in kinds
    assert any("does not accept the code: it is used up or too old" in line for line in lines)
    ours = " ".join(record.getMessage() for record in caplog.records if record.name.startswith("rightseat"))
    for secret in (SECRET, "a-code-of-another-sign-in", "an-access-token", session):
        assert secret not in ours


async def test_a_provider_that_does_not_respond_is_reported(serve: Serve, tmp_path: Path) -> None:
    provider = FakeProvider(url="http://127.0.0.1:9")
    async with serving_console(serve, tmp_path, provider) as url:
        browser = Browser(url)
        assert continues(await browser.get("/sign-in/start")) == refused("unavailable")
        assert browser.cookies == {}


DOCUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"issuer": "https://evil.example.com"}, "misconfigured"),
    ({"token_endpoint": "http://login.example.com/token"}, "invalid_response"),
    ({"authorization_endpoint": "javascript:alert(1)"}, "invalid_response"),
    ({"jwks_uri": None}, "invalid_response"),
    ({"end_session_endpoint": "http://login.example.com/"}, "invalid_response"),
]


async def test_a_discovery_document_that_cannot_be_trusted_is_refused(serve: Serve) -> None:
    provider = FakeProvider()
    async with serve(provider.app()) as provider.url:
        options = Oidc(issuer=provider.url, client_id=CLIENT, grants=(Grant(scopes=("*",)),))
        for provider.metadata, problem in DOCUMENTS:
            async with OpenIdProvider(options, f"{PUBLIC_URL}/sign-in/callback") as one:
                with pytest.raises(SignInRefused) as refusal:
                    await one.begin()
            assert refusal.value.problem == problem


async def test_every_request_to_the_provider_uses_the_configured_proxy(serve: Serve, tmp_path: Path) -> None:
    async with proxying() as proxy:
        option = ("    timeout: 5\n", f"    timeout: 5\n    proxy: {proxy.url}\n")
        async with signing_in(serve, tmp_path, replace=option) as (provider, browser):
            provider.claims, provider.user_info = {}, {"sub": "alice", "groups": ["operators"]}
            assert await browser.sign_in() == CONSOLE

    called = {line.split(" ")[1].removeprefix(provider.url) for line in proxy.lines}
    assert called >= {"/.well-known/openid-configuration", "/jwks"}
    assert provider.requests == ["discovery", "token"]


# Sessions


async def test_another_replica_finishes_a_sign_in_and_accepts_its_session(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser), serving_console(serve, tmp_path, provider) as other:
        callback = await browser.visit_provider()
        first, browser.url = browser.url, other
        assert continues(await browser.get(callback)) == CONSOLE
        assert (await browser.me()).json()["user"] == "alice"
        browser.url = first

        assert (await browser.me()).json()["user"] == "alice"


@pytest.mark.parametrize(
    "replace",
    [("value: operators", "value: admins"), ("client_id: rightseat-console", "client_id: another")],
    ids=["another grant", "another client"],
)
async def test_a_session_ends_when_the_rules_change(serve: Serve, tmp_path: Path, replace: tuple[str, str]) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        await browser.sign_in()
        async with serving_console(serve, tmp_path, provider, replace=replace) as url:
            browser.url = url
            ended = await browser.me()

    assert ended.status_code == 401
    assert ended.json()["message"] == "The session has ended. Sign in again."


async def test_signing_out_ends_the_session_here_and_continues_at_the_provider(serve: Serve, tmp_path: Path) -> None:
    async with signing_in(serve, tmp_path) as (provider, browser):
        await browser.sign_in()
        left = await browser.get("/operator/session", "DELETE", **{"x-rightseat": "1"})
        assert (await browser.me()).status_code == 401
        key = {"authorization": "Bearer key-of-the-desk-1234", "x-rightseat": "1"}
        await browser.get("/operator/session", "POST", **key)
        with_key = await browser.get("/operator/session", "DELETE", **{"x-rightseat": "1"})

    url = urlsplit(left.json()["continue"])
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{provider.url}/end"
    query = {"of": ["session"], "client_id": [CLIENT], "post_logout_redirect_uri": [CONSOLE]}
    assert parse_qs(url.query) == query
    assert with_key.status_code == 204


async def test_the_session_is_no_credential_for_other_faces(serve: Serve, tmp_path: Path) -> None:
    faces = ("{type: console}", "{type: console}, {type: openai}")
    async with signing_in(serve, tmp_path, replace=faces) as (_, browser):
        await browser.sign_in()

        assert (await browser.get("/v1/models")).status_code == 401


@pytest.mark.parametrize(
    ("url", "issuer", "may"),
    [
        ("https://login.example.com/token", "https://id.example.com", True),
        ("https://10.0.0.5/token", "https://id.example.com", False),
        ("http://127.0.0.1:8080/token", "https://id.example.com", False),
        ("https://[::1]/token", "https://id.example.com", False),
        ("https://169.254.169.254/latest", "https://id.example.com", False),
        ("https://localhost/token", "https://id.example.com", False),
        ("https://10.0.0.5/token", "https://10.0.0.5", True),
        ("http://127.0.0.1:8081/token", "http://127.0.0.1:8080", True),
    ],
)
def test_the_document_of_an_issuer_elsewhere_names_no_internal_address(url: str, issuer: str, may: bool) -> None:
    if may:
        assert check_endpoint("token_endpoint", url, issuer) == url
    else:
        with pytest.raises(SignInRefused, match="is an internal address"):
            check_endpoint("token_endpoint", url, issuer)
