"""Tokens of OIDC servers: fetched once for all who need one, kept until shortly before they end."""

import asyncio
import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote_plus, urlencode

import msgspec

from rightseat.egress.addresses import Policy, read_url
from rightseat.egress.door import Incoming, Limits, Outgoing
from rightseat.egress.redaction import Redactor
from rightseat.plugins.definition import Auth, Identity
from rightseat.plugins.operations.authorizing import Secrets, place_of, revealed
from rightseat.plugins.results import StepFailed

EARLY = 30.0  # seconds before its end that a token is no longer used
UNSAID = 300.0  # seconds that a token lasts of which its server does not say it
LIMITS = Limits(size=2**20, seconds=30.0, silence=30.0)

NOBODY = (
    "This API acts for whoever is signed in with a token, and none is here: the request came without one, or the run "
    "goes on after its server died, and tokens are not kept. Sign in, and ask again."
)

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a kind of token


class Carrier(Protocol):
    """The one door out, or what plays its part. Raises `AddressForbidden` and `Unanswered`."""

    async def send(self, outgoing: Outgoing, policy: Policy, limits: Limits) -> Incoming: ...


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose token it is: a plugin's own, or a plugin's for one user, whose own token `subject` is.

    `places` are the `host:port` that may see that one, as the operator says.
    """

    plugin: Identity
    user: str
    subject: str | None = field(default=None, repr=False)
    places: tuple[str, ...] = ()


class Given(msgspec.Struct):
    access_token: str
    expires_in: float | str | None = None


class Discovered(msgspec.Struct):
    issuer: str
    token_endpoint: str
    token_endpoint_auth_methods_supported: list[str] = []


Key = tuple[Identity, str | None, tuple[tuple[str, str], ...]]


class Tokens:
    def __init__(
        self, carrier: Carrier, secrets: Secrets, redactor: Redactor, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._carrier = carrier
        self._secrets = secrets
        self._redactor = redactor
        self._clock = clock
        self._kept: dict[Key, tuple[str, float]] = {}
        self._fetching: dict[Key, asyncio.Task[str]] = {}

    async def get(self, auth: Auth, holder: Holder, policy: Policy) -> str:
        """Raises `StepFailed`, `SecretMissing`, and what the carrier raises."""
        key = key_of(auth, holder)
        token, ends = self._kept.get(key, ("", 0.0))
        if token and self._clock() < ends:
            return token
        if key not in self._fetching:
            fetching = asyncio.create_task(self._fetch(key, auth, holder, policy))
            self._fetching[key] = fetching
            fetching.add_done_callback(lambda done: self._fetched(key, done))
        return await asyncio.shield(self._fetching[key])  # who gives up does not end it for the others

    def discard(self, auth: Auth, holder: Holder, token: str) -> None:
        """It was refused. One that came in the meantime stays."""
        key = key_of(auth, holder)
        if self._kept.get(key, ("", 0.0))[0] == token:
            del self._kept[key]

    def _fetched(self, key: Key, done: "asyncio.Task[str]") -> None:
        del self._fetching[key]
        if not done.cancelled():
            done.exception()  # whoever waited has it; if nobody did, nobody needs it

    async def _fetch(self, key: Key, auth: Auth, holder: Holder, policy: Policy) -> str:
        check_subject(auth, holder)
        url, is_posted = await self._endpoint(auth, policy)
        check_place(auth, holder, url)
        ready = await revealed(auth, self._secrets, self._redactor, place_of(url))
        incoming = await self._carrier.send(write_request(url, ready, holder, is_posted), policy, LIMITS)
        given = read_token(url, incoming)
        self._redactor.learn(given.access_token, passing=True)
        now = self._clock()
        self._kept = {old: kept for old, kept in self._kept.items() if kept[1] > now}
        self._kept[key] = given.access_token, now + lasts(given) - EARLY
        return given.access_token

    async def _endpoint(self, auth: Auth, policy: Policy) -> tuple[str, bool]:
        """Where tokens are given, and whether the secret goes into the form rather than into a header."""
        if "token_url" in auth.args:
            return auth.args["token_url"], False
        issuer = auth.args["issuer"]
        url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        incoming = await self._carrier.send(Outgoing("GET", read_url(url)), policy, LIMITS)
        try:
            found = msgspec.json.decode(incoming.content if incoming.status == 200 else b"", type=Discovered)
        except msgspec.MsgspecError:
            message = f"{issuer} does not say where it gives tokens: it answered {incoming.status}."
            raise StepFailed("http_status", message, status=incoming.status) from None
        if found.issuer.rstrip("/") != issuer.rstrip("/"):
            raise StepFailed("egress_blocked", f"{issuer} says that it is {found.issuer}: its tokens are not used.")
        ways = found.token_endpoint_auth_methods_supported
        return found.token_endpoint, bool(ways) and "client_secret_basic" not in ways


def key_of(auth: Auth, holder: Holder) -> Key:
    """The secrets are in it by their names only."""
    is_for_user = auth.args.get("grant") == "token_exchange"
    return holder.plugin, holder.user if is_for_user else None, tuple(sorted(auth.args.items()))


def check_subject(auth: Auth, holder: Holder) -> None:
    if auth.args.get("grant") == "token_exchange" and not holder.subject:
        raise StepFailed("secret_missing", NOBODY, details={"sent": False})


def check_place(auth: Auth, holder: Holder, url: str) -> None:
    """A user's token is shown to nobody whom the operator has not named: a plugin could name anybody."""
    if auth.args.get("grant") == "token_exchange" and (place := place_of(url)) not in holder.places:
        message = (
            f"The plugin {holder.plugin.id} may not show users' tokens to {place}: the operator has to name it in "
            "`user_tokens`."
        )
        raise StepFailed("egress_blocked", message, details={"sent": False})


def write_request(url: str, auth: Auth, holder: Holder, is_posted: bool) -> Outgoing:
    form = {name: auth.args[name] for name in ("scope", "audience") if auth.args.get(name)}
    if auth.args.get("grant") == "token_exchange":
        form |= {"grant_type": EXCHANGE, "subject_token": holder.subject or "", "subject_token_type": ACCESS_TOKEN}
    else:
        form |= {"grant_type": "client_credentials"}
    headers = [("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json")]
    client, secret = auth.args.get("client_id", ""), auth.args.get("client_secret", "")
    if is_posted:
        form |= {"client_id": client, "client_secret": secret}
    else:
        pair = f"{quote_plus(client)}:{quote_plus(secret)}".encode()
        headers.append(("authorization", f"Basic {base64.b64encode(pair).decode()}"))
    body = urlencode(form).encode()
    return Outgoing("POST", read_url(url), tuple(headers), (body,), len(body))


def read_token(url: str, incoming: Incoming) -> Given:
    host = read_url(url).host
    if incoming.status != 200:
        message = f"{host} gives no token: it answered {incoming.status}."
        body = incoming.content[:2000].decode("utf-8", "replace")
        raise StepFailed("http_status", message, status=incoming.status, details={"sent": False, "body": body})
    try:
        given = msgspec.json.decode(incoming.content, type=Given)
    except msgspec.MsgspecError:
        raise StepFailed("http_status", f"{host} gives no token that can be read.", status=200) from None
    if not given.access_token.isprintable() or not given.access_token.isascii() or len(given.access_token) < 4:
        raise StepFailed("http_status", f"{host} gives a token that cannot be sent.", status=200)
    return given


def lasts(given: Given) -> float:
    try:
        return float(given.expires_in) if given.expires_in is not None else UNSAID
    except ValueError:
        return UNSAID
