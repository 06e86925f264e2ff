"""Fetches and caches OIDC tokens, one per plugin, `auth` and user, and renews them before they expire."""

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol
from urllib.parse import quote_plus, urlencode

import msgspec

from rightseat.core.types import JSON_ERRORS
from rightseat.egress.addresses import AddressPolicy, parse_url
from rightseat.egress.credentials.cache import DEFAULT_LIFETIME_S, Token, TokenCache, is_sendable
from rightseat.egress.redaction import Redactor
from rightseat.egress.untrusted import FetchRequest, FetchResponse, RequestLimits
from rightseat.plugins.definition import Auth, Identity
from rightseat.plugins.operations.auth import SecretsByPlugin, find_token_server, format_host_port, resolve_auth
from rightseat.plugins.results import StepFailed

LIMITS = RequestLimits(max_bytes=2**20, timeout=30.0, read_timeout=30.0)

MISSING_USER_MESSAGE = (
    "This API acts on behalf of the signed-in user, and no user token is available: the request had none, or the run "
    "was resumed after a restart, and tokens are not stored. Sign in and ask again."
)

EXCHANGE_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a token type


class FetchClient(Protocol):
    """The outbound client, or a test double. Raises `AddressForbidden` and `UntrustedRequestFailed`."""

    async def send(self, outgoing: FetchRequest, policy: AddressPolicy, limits: RequestLimits) -> FetchResponse: ...


@dataclass(frozen=True, slots=True)
class TokenOwner:
    """The owner of a token: a plugin, or a plugin on behalf of one user, whose own token is `subject`.

    `places` are the `host:port` of token servers that may receive `subject`, set by the operator.
    """

    plugin: Identity
    user: str
    subject: str | None = field(default=None, repr=False)
    places: tuple[str, ...] = ()


class TokenResponse(msgspec.Struct):
    access_token: str
    expires_in: float | str | None = None


class OidcMetadata(msgspec.Struct):
    issuer: str
    token_endpoint: str
    token_endpoint_auth_methods_supported: list[str] = []


TokenKey = tuple[Identity, str | None, tuple[tuple[str, str], ...]]


class OidcTokens:
    def __init__(
        self,
        client: FetchClient,
        secrets: SecretsByPlugin,
        redactor: Redactor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._secrets = secrets
        self._redactor = redactor
        self._clock = clock
        self._held: dict[TokenKey, TokenCache[str]] = {}

    def __len__(self) -> int:
        return len(self._held)

    async def get(self, auth: Auth, owner: TokenOwner, policy: AddressPolicy) -> str:
        """Raises `StepFailed`, `SecretMissing`, and the client's errors."""
        key = build_token_key(auth, owner)
        if key not in self._held:
            self._held = {old: token for old, token in self._held.items() if not token.is_expired}
            self._held[key] = TokenCache(self._clock)
        return await self._held[key].get(partial(self._fetch, auth, owner, policy))

    def discard(self, auth: Auth, owner: TokenOwner, token: str) -> bool:
        """Drop a token that the API rejected. False if a new one would be rejected as well."""
        held = self._held.get(build_token_key(auth, owner))
        return held is None or held.discard(token)

    async def _fetch(self, auth: Auth, owner: TokenOwner, policy: AddressPolicy) -> Token[str]:
        check_subject(auth, owner)
        url, is_posted = await self._endpoint(auth, policy)
        check_token_server(auth, owner, url)
        secrets, issuer = self._secrets.of_plugin(owner.plugin.id), find_token_server(auth) or ""
        ready = await resolve_auth(auth, secrets, self._redactor, format_host_port(url), issuer)
        incoming = await self._client.send(write_request(url, ready, owner, is_posted), policy, LIMITS)
        token = read_token(url, incoming)
        self._redactor.add(token.value, is_temporary=True)
        return token

    async def _endpoint(self, auth: Auth, policy: AddressPolicy) -> tuple[str, bool]:
        """Return the token endpoint, and whether the secret goes into the form instead of a header."""
        if "token_url" in auth.args:
            return auth.args["token_url"], False
        issuer = auth.args["issuer"]
        url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        incoming = await self._client.send(FetchRequest("GET", parse_url(url)), policy, LIMITS)
        try:
            found = msgspec.json.decode(incoming.content if incoming.status == 200 else b"", type=OidcMetadata)
        except JSON_ERRORS:
            message = f"{url} returned HTTP {incoming.status} without valid OIDC metadata."
            raise StepFailed("http_status", message, status=incoming.status) from None
        if found.issuer.rstrip("/") != issuer.rstrip("/"):
            raise StepFailed("egress_blocked", f"The OIDC metadata of {issuer} names another issuer, {found.issuer}.")
        ways = found.token_endpoint_auth_methods_supported
        return found.token_endpoint, bool(ways) and "client_secret_basic" not in ways


def build_token_key(auth: Auth, owner: TokenOwner) -> TokenKey:
    """Secrets are part of the key by name only."""
    is_for_user = auth.args.get("grant") == "token_exchange"
    return owner.plugin, owner.user if is_for_user else None, tuple(sorted(auth.args.items()))


def check_subject(auth: Auth, owner: TokenOwner) -> None:
    if auth.args.get("grant") == "token_exchange" and not owner.subject:
        raise StepFailed("secret_missing", MISSING_USER_MESSAGE, details={"sent": False})


def check_token_server(auth: Auth, owner: TokenOwner, url: str) -> None:
    """Send a user's token only to servers that the operator has listed; a plugin could name any server."""
    if auth.args.get("grant") == "token_exchange" and (place := format_host_port(url)) not in owner.places:
        message = (
            f"The plugin {owner.plugin.id} may not send user tokens to {place}: the operator has to list it in "
            "`user_tokens`."
        )
        raise StepFailed("egress_blocked", message, details={"sent": False})


def write_request(url: str, auth: Auth, owner: TokenOwner, is_posted: bool) -> FetchRequest:
    form = {name: auth.args[name] for name in ("scope", "audience") if auth.args.get(name)}
    if auth.args.get("grant") == "token_exchange":
        form |= {
            "grant_type": EXCHANGE_GRANT_TYPE,
            "subject_token": owner.subject or "",
            "subject_token_type": ACCESS_TOKEN_TYPE,
        }
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
    return FetchRequest("POST", parse_url(url), tuple(headers), (body,), len(body))


def read_token(url: str, incoming: FetchResponse) -> Token[str]:
    host = parse_url(url).host
    if incoming.status != 200:
        message = f"The token server {host} returned HTTP {incoming.status}."
        body = incoming.content[:2000].decode("utf-8", "replace")
        raise StepFailed("http_status", message, status=incoming.status, details={"sent": False, "body": body})
    try:
        response = msgspec.json.decode(incoming.content, type=TokenResponse)
    except JSON_ERRORS:
        raise StepFailed(
            "http_status", f"The token server {host} returned no valid token response.", status=200
        ) from None
    if not is_sendable(response.access_token):
        raise StepFailed(
            "http_status",
            f"The token of the token server {host} has characters that cannot be sent in a header.",
            status=200,
        )
    try:
        lifetime = DEFAULT_LIFETIME_S if response.expires_in is None else float(response.expires_in)
    except ValueError:
        lifetime = DEFAULT_LIFETIME_S
    return Token(response.access_token, lifetime)
