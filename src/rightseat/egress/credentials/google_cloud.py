"""Fetches tokens of Google Cloud for a service account, a signed-in user or the machine.

google-auth finds the credentials and creates the requests, which rightseat's own HTTP client sends. google-auth blocks,
so it runs in a thread. It is large, so it is imported with the first token.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from rightseat.core.errors import AddressForbidden, ModelRefusedKey, ModelUnreachable
from rightseat.egress.addresses import AddressPolicy, parse_url
from rightseat.egress.credentials.cache import DEFAULT_LIFETIME_S, BearerCredentials, Token
from rightseat.egress.credentials.library import FETCH_TIMEOUT_S, call_in_thread, require, summarize_error
from rightseat.egress.network import NetworkOptions
from rightseat.egress.untrusted import (
    FetchRequest,
    FetchResponse,
    RequestLimits,
    UntrustedClient,
    UntrustedRequestFailed,
)

logger = logging.getLogger(__name__)

LIMITS = RequestLimits(max_bytes=2**20, timeout=30.0, read_timeout=30.0)
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
KINDS = {
    "service_account": ("google.oauth2.service_account", "from_service_account_info"),
    "authorized_user": ("google.oauth2.credentials", "from_authorized_user_info"),
    "impersonated_service_account": ("google.auth.impersonated_credentials", "from_impersonated_service_account_info"),
    "external_account": ("google.auth.identity_pool", "from_info"),
}
"""google-auth's module and method for each type of credentials file."""
NO_TOKEN = "Google Cloud gives the server no token for its model."  # noqa: S105 - a sentence


def credentials(file: Path | None = None, *, network: NetworkOptions | None = None) -> BearerCredentials:
    """`file` contains one of `KINDS`. Without it, google-auth searches the default locations."""
    for module in ("google.auth", "requests"):
        require(module, "A model on Google Cloud", "vertex")
    return BearerCredentials(_Source(file, network).fetch, ())


class _Source:
    def __init__(self, file: Path | None, network: NetworkOptions | None = None) -> None:
        self._file = file
        self._found: Any = None
        self._client = UntrustedClient(network=network, is_operators=True)

    async def fetch(self) -> Token[str]:
        """Google's error messages only go to the server's log, because they may contain confidential details."""
        loop = asyncio.get_running_loop()
        errors = await call_in_thread(lambda: import_module("google.auth.exceptions"))
        requests = _Requests(self._client, loop, errors.TransportError)
        try:
            await call_in_thread(lambda: self._refresh(requests))
        except TimeoutError:
            logger.warning("No token of Google Cloud within %g s", FETCH_TIMEOUT_S)
            raise ModelUnreachable(f"Google Cloud gave no token for the model within {FETCH_TIMEOUT_S:g} s.") from None
        except errors.DefaultCredentialsError as error:
            logger.warning("there are no credentials of Google Cloud: %s", summarize_error(error))
            raise ModelRefusedKey(
                f"{NO_TOKEN} Check the file in `credentials`; without one, GOOGLE_APPLICATION_CREDENTIALS, "
                "`gcloud auth application-default login`, or the service account of the machine."
            ) from None
        except errors.TransportError as error:
            logger.warning("Google Cloud cannot be asked for a token: %s", summarize_error(error))
            raise ModelUnreachable("Google Cloud cannot be asked for a token for the model.") from None
        except errors.GoogleAuthError as error:
            logger.warning("Google Cloud gives no token: %s", summarize_error(error))
            raise ModelRefusedKey(f"{NO_TOKEN} Check that its account exists and its key is still valid.") from None
        return Token(self._found.token, lifetime(self._found.expiry))

    def _refresh(self, requests: "_Requests") -> None:
        if self._found is None and self._file is not None:
            self._found = read(self._file)
        elif self._found is None:
            self._found, _ = import_module("google.auth").default(scopes=[SCOPE], request=requests)
        self._found.refresh(requests)


def read(file: Path) -> Any:
    """Load credentials from a file. Google requires an explicit list of accepted types, because some run programs."""
    failure = import_module("google.auth.exceptions").DefaultCredentialsError
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
        kind = info["type"]
    except (OSError, ValueError, KeyError, TypeError):
        raise failure(f"{file} cannot be read as a file of credentials") from None
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise failure(f"{file} holds {kind!r}; these are read: {known}. GOOGLE_APPLICATION_CREDENTIALS takes others")
    module, method = KINDS[kind]
    try:
        return getattr(import_module(module).Credentials, method)(info, scopes=[SCOPE])
    except ValueError:  # an invalid key or a missing field
        raise failure(f"{file} is not whole: a field is missing in it, or its key is none") from None


@dataclass(frozen=True, slots=True)
class _Answer:
    """A response with the attributes that google-auth expects."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class _Requests:
    """The transport of google-auth, which calls it from its thread for each request."""

    def __init__(self, client: UntrustedClient, loop: asyncio.AbstractEventLoop, failure: type[Exception]) -> None:
        self._client = client
        self._loop = loop
        self._failure = failure

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: object,
    ) -> _Answer:
        sent = tuple((headers or {}).items())
        outgoing = FetchRequest(method, parse_url(url), sent, (body,) if body else (), len(body) if body else None)
        future = asyncio.run_coroutine_threadsafe(send(self._client, outgoing), self._loop)
        try:
            incoming = future.result(timeout or LIMITS.timeout)
        except TimeoutError as error:
            future.cancel()
            raise self._failure(f"{outgoing.target.host} gave no answer in time") from error
        except (UntrustedRequestFailed, AddressForbidden) as error:
            raise self._failure(str(error)) from error
        return _Answer(incoming.status, incoming.headers, incoming.content)


async def send(client: UntrustedClient, outgoing: FetchRequest) -> FetchResponse:
    """Send a request. Any address is allowed, because it comes from the operator or the operator's cloud."""
    target = outgoing.target
    host = f"[{target.host}]" if ":" in target.host else target.host
    return await client.send(outgoing, AddressPolicy(allow=(f"{host}:{target.port}",)), LIMITS)


def lifetime(expiry: datetime | None) -> float:
    """`expiry` is in UTC, but has no time zone."""
    return DEFAULT_LIFETIME_S if expiry is None else (expiry.replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds()
