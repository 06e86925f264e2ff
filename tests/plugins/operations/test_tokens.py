"""Tokens of OIDC servers: fetched, shared, kept, discarded."""

import asyncio
import base64

import pytest

from rightseat.core.ask import Principal
from rightseat.egress.addresses import AddressPolicy
from rightseat.egress.credentials.cache import RENEW_BEFORE_S, RETRY_INTERVAL_S
from rightseat.egress.redaction import Redactor
from rightseat.egress.secrets import Secrets
from rightseat.egress.untrusted import UntrustedClient
from rightseat.plugins.definition import Auth, Identity
from rightseat.plugins.operations.tokens import OidcTokens, TokenOwner
from rightseat.plugins.results import StepFailed
from tests.plugins.operations.authority import authority, form
from tests.plugins.operations.examples import operation, plugin, sender

LIST = operation()


async def test_R_3_2_client_credentials_are_exchanged_for_a_token() -> None:
    async with authority() as one:
        await sender(KEY="client secret/1").send(plugin(one.url, auth=[one.auth(audience="api")]), LIST, {}, {})

    (asked,) = one.asked
    assert form(asked) == {"grant_type": "client_credentials", "scope": "read", "audience": "api"}
    basic = (asked.header("authorization") or "").removeprefix("Basic ")
    assert base64.b64decode(basic) == b"client:client+secret%2F1"
    assert one.used == ["Bearer token-1"]


async def test_R_3_2_the_token_endpoint_is_discovered_from_the_issuer() -> None:
    async with authority() as one:
        one.ways = ["client_secret_post"]
        auth = one.auth(issuer=f"{one.url}/")
        await sender(KEY="client-secret-1").send(plugin(one.url, auth=[auth]), LIST, {}, {})

    assert one.asked[0].header("authorization") is None
    assert (form(one.asked[0])["client_id"], form(one.asked[0])["client_secret"]) == ("client", "client-secret-1")


async def test_R_3_2_a_discovery_document_of_another_issuer_is_refused() -> None:
    async with authority() as one:
        one.issuer = "http://evil.example"
        with pytest.raises(StepFailed, match=r"names another issuer, http://evil\.example"):
            await sender(KEY="client-secret-1").send(plugin(one.url, auth=[one.auth(issuer=one.url)]), LIST, {}, {})

    assert (one.asked, one.used) == ([], [])


async def test_R_3_2_the_token_of_a_user_is_exchanged_for_one_of_the_api() -> None:
    async with authority() as one:
        auth = one.auth(grant="token_exchange", header="access-token", scheme="")
        sends = sender(trusted=[one.url.removeprefix("http://")], KEY="client-secret-1")
        for user in ("ann", "bob", "ann"):
            await sends.send(plugin(one.url, auth=[auth]), LIST, {}, {}, Principal(user), user_token=f"token-of-{user}")
        with pytest.raises(StepFailed, match="acts on behalf of the signed-in user") as failed:
            await sends.send(plugin(one.url, auth=[auth]), LIST, {}, {}, Principal("eve"))

    assert [form(asked)["subject_token"] for asked in one.asked] == ["token-of-ann", "token-of-bob"]
    assert form(one.asked[0])["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
    assert one.used == ["token-1", "token-2", "token-1"]
    assert failed.value.code == "secret_missing"


async def test_R_3_2_the_token_of_a_user_is_sent_only_to_hosts_that_the_operator_trusts() -> None:
    async with authority() as one:
        found = one.auth(grant="token_exchange", issuer=one.url)
        for auth in (one.auth(grant="token_exchange"), found):
            with pytest.raises(StepFailed, match=r"may not send user tokens to 127\.0\.0\.1") as failed:
                await sender(trusted=["id.example:443"], KEY="client-secret-1").send(
                    plugin(one.url, auth=[auth]), LIST, {}, {}, Principal("ann"), user_token="token-of-ann"
                )

    assert (failed.value.code, one.asked, one.used) == ("egress_blocked", [], [])


@pytest.mark.parametrize(("lasts", "after", "number"), [(300, 269, 1), (300, 271, 2), ("60", 31, 2), (None, 200, 1)])
async def test_R_3_3_a_token_is_cached_until_30_s_before_it_expires(lasts: object, after: float, number: int) -> None:
    now = 1000.0
    async with authority() as one:
        one.lasts = lasts
        sends = sender(clock=lambda: now, KEY="client-secret-1")
        await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})
        now += after
        await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})

    assert one.used == ["Bearer token-1", f"Bearer token-{number}"]


async def test_R_3_3_a_token_is_renewed_in_the_background_before_it_expires() -> None:
    now = 1000.0
    async with authority() as one:
        one.lasts = 3600
        sends = sender(clock=lambda: now, KEY="client-secret-1")
        await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})
        one.gate.clear()
        one.was_asked.clear()
        now += 3600 - RENEW_BEFORE_S
        await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})
        await one.was_asked.wait()
        one.gate.set()
        while one.used[-1] != "Bearer token-2":
            await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})

    assert one.used[:2] == ["Bearer token-1"] * 2
    assert len(one.asked) == 2


async def test_R_3_3_a_renewal_sends_the_newest_token_of_the_user() -> None:
    now = 1000.0
    async with authority() as one:
        auth = one.auth(grant="token_exchange")
        sends = sender(trusted=[one.url.removeprefix("http://")], clock=lambda: now, KEY="client-secret-1")
        for subject in ("ann-1", "ann-2"):
            await sends.send(plugin(one.url, auth=[auth]), LIST, {}, {}, Principal("ann"), user_token=subject)
            now += 300

    assert [form(asked)["subject_token"] for asked in one.asked] == ["ann-1", "ann-2"]


async def test_expired_tokens_are_removed_from_the_cache() -> None:
    now = 1000.0
    async with authority() as one:
        tokens = OidcTokens(UntrustedClient(), Secrets({}), Redactor("[secret]"), lambda: now)
        auth = Auth("oidc", {"token_url": f"{one.url}/token", "client_id": "client", "client_secret": "client-secret"})
        policy = AddressPolicy(allow=(one.url.removeprefix("http://"),))
        for number in range(3):
            await tokens.get(auth, TokenOwner(Identity(f"plugin-{number}", "1", ""), "ann"), policy)
        now += 300
        await tokens.get(auth, TokenOwner(Identity("another", "1", ""), "ann"), policy)

    assert len(tokens) == 1


async def test_R_3_3_each_set_of_scopes_has_its_own_token() -> None:
    async with authority() as one:
        sends = sender(KEY="client-secret-1")
        for scope in ("read", "write", "read"):
            await sends.send(plugin(one.url, auth=[one.auth(scope=scope)]), LIST, {}, {})

    assert [form(asked)["scope"] for asked in one.asked] == ["read", "write"]


async def test_R_3_3_concurrent_requests_share_one_fetch_even_if_the_first_is_cancelled() -> None:
    async with authority() as one:
        one.gate.clear()
        sends = sender(KEY="client-secret-1")
        tasks = [asyncio.create_task(sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})) for _ in range(5)]
        await one.was_asked.wait()
        tasks[0].cancel()
        one.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(results[0], asyncio.CancelledError)
    assert (len(one.asked), one.used) == (1, ["Bearer token-1"] * 4)


async def test_R_3_3_a_401_discards_the_token_and_the_request_is_retried_once() -> None:
    now = 1000.0
    async with authority() as one:
        sends = sender(clock=lambda: now, KEY="client-secret-1")
        await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})
        one.withdrawn.add("token-1")
        await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})
        one.withdrawn |= {"token-2", "token-3"}
        now += RETRY_INTERVAL_S
        with pytest.raises(StepFailed) as failed:
            await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})

    assert one.used == [f"Bearer token-{n}" for n in (1, 1, 2, 2, 3)]
    assert failed.value.upstream_status == 401


async def test_an_api_that_refuses_every_token_causes_one_token_fetch() -> None:
    async with authority() as one:
        one.withdrawn |= {"token-1", "token-2", "token-3"}
        sends = sender(KEY="client-secret-1")
        for _ in range(3):
            with pytest.raises(StepFailed):
                await sends.send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})

    assert one.used == [f"Bearer token-{n}" for n in (1, 2, 2, 2)]
    assert len(one.asked) == 2


async def test_a_refused_token_request_is_reported_without_the_secret() -> None:
    async with authority() as one:
        one.refuses = True
        with pytest.raises(StepFailed, match=r"127\.0\.0\.1 returned HTTP 401") as failed:
            await sender(KEY="client-secret-1").send(plugin(one.url, auth=[one.auth()]), LIST, {}, {})

    assert "client-secret-1" not in str(failed.value.details)
    assert one.used == []


async def test_R_7_5_token_requests_are_checked_for_private_addresses_too() -> None:
    async with authority() as one:
        auth = Auth("oidc", dict(one.auth().args) | {"token_url": "http://169.254.169.254/token"})
        with pytest.raises(StepFailed, match="link-local") as failed:
            await sender(KEY="client-secret-1").send(plugin(one.url, auth=[auth]), LIST, {}, {})

    assert (failed.value.code, one.used) == ("egress_blocked", [])
