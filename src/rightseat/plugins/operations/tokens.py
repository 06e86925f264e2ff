"""Tokens of OIDC servers: one for each plugin, `auth` and user, shared by all requests and renewed before it ends."""

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol
from urllib.parse import quote_plus, urlencode

import msgspec

from rightseat.core.values import JSON_ERRORS
from rightseat.egress.addresses import Policy, read_url
from rightseat.egress.credentials.renewing import UNSAID, Renewed, Token, is_sendable
from rightseat.egress.door import Incoming, Limits, Outgoing
from rightseat.egress.redaction import Redactor
from rightseat.plugins.definition import Auth, Identity
from rightseat.plugins.operations.authorizing import Secrets, place_of, revealed
from rightseat.plugins.results import StepFailed

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
        self._held: dict[Key, Renewed[str]] = {}

    def __len__(self) -> int:
        return len(self._held)

    async def get(self, auth: Auth, holder: Holder, policy: Policy) -> str:
        """Raises `StepFailed`, `SecretMissing`, and what the carrier raises."""
        key = key_of(auth, holder)
        if key not in self._held:
            self._held = {old: token for old, token in self._held.items() if not token.is_over}
            self._held[key] = Renewed(self._clock)
        return await self._held[key].get(partial(self._fetch, auth, holder, policy))

    def discard(self, auth: Auth, holder: Holder, token: str) -> bool:
        """It was refused. False where a new one would be as well."""
        held = self._held.get(key_of(auth, holder))
        return held is None or held.discard(token)

    async def _fetch(self, auth: Auth, holder: Holder, policy: Policy) -> Token[str]:
        check_subject(auth, holder)
        url, is_posted = await self._endpoint(auth, policy)
        check_place(auth, holder, url)
        ready = await revealed(auth, self._secrets, self._redactor, place_of(url))
        incoming = await self._carrier.send(write_request(url, ready, holder, is_posted), policy, LIMITS)
        token = read_token(url, incoming)
        self._redactor.learn(token.value, passing=True)
        return token

    async def _endpoint(self, auth: Auth, policy: Policy) -> tuple[str, bool]:
        """Where tokens are given, and whether the secret goes into the form rather than into a header."""
        if "token_url" in auth.args:
            return auth.args["token_url"], False
        issuer = auth.args["issuer"]
        url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        incoming = await self._carrier.send(Outgoing("GET", read_url(url)), policy, LIMITS)
        try:
            found = msgspec.json.decode(incoming.content if incoming.status == 200 else b"", type=Discovered)
        except JSON_ERRORS:
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


def read_token(url: str, incoming: Incoming) -> Token[str]:
    host = read_url(url).host
    if incoming.status != 200:
        message = f"{host} gives no token: it answered {incoming.status}."
        body = incoming.content[:2000].decode("utf-8", "replace")
        raise StepFailed("http_status", message, status=incoming.status, details={"sent": False, "body": body})
    try:
        given = msgspec.json.decode(incoming.content, type=Given)
    except JSON_ERRORS:
        raise StepFailed("http_status", f"{host} gives no token that can be read.", status=200) from None
    if not is_sendable(given.access_token):
        raise StepFailed("http_status", f"{host} gives a token that cannot be sent.", status=200)
    try:
        lasts = UNSAID if given.expires_in is None else float(given.expires_in)
    except ValueError:
        lasts = UNSAID
    return Token(given.access_token, lasts)
