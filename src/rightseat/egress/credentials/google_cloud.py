"""Tokens of Google Cloud: of a service account, of a user who has signed in, or of the machine.

google-auth knows where credentials are found and what each kind of them has to ask for; what it asks goes out by our
own door. It waits without asyncio, so it does its work in a thread. It is imported with the first token: it is large,
and a server that never needs one should not pay for it.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from rightseat.core.errors import AddressForbidden, ModelRefusedKey, ModelUnreachable
from rightseat.egress.addresses import Policy, read_url
from rightseat.egress.credentials.library import FETCH_TIMEOUT_S, call_in_thread, in_one_line, require
from rightseat.egress.credentials.renewing import UNSAID, Bearer, Token
from rightseat.egress.door import Door, Incoming, Limits, Outgoing, Unanswered
from rightseat.egress.network import NetworkOptions

logger = logging.getLogger(__name__)

LIMITS = Limits(size=2**20, seconds=30.0, silence=30.0)
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
KINDS = {
    "service_account": ("google.oauth2.service_account", "from_service_account_info"),
    "authorized_user": ("google.oauth2.credentials", "from_authorized_user_info"),
    "impersonated_service_account": ("google.auth.impersonated_credentials", "from_impersonated_service_account_info"),
    "external_account": ("google.auth.identity_pool", "from_info"),
}
"""Where google-auth reads each kind of file."""
NO_TOKEN = "Google Cloud gives the server no token for its model."  # noqa: S105 - a sentence


def credentials(
    file: Path | None = None, clock: Callable[[], float] = time.monotonic, *, network: NetworkOptions | None = None
) -> Bearer:
    """`file` holds one of `KINDS`; without it Google's libraries look around."""
    for module in ("google.auth", "requests"):
        require(module, "A model on Google Cloud", "vertex")
    return Bearer(_Source(file, network).fetch, (), clock)


class _Source:
    def __init__(self, file: Path | None, network: NetworkOptions | None = None) -> None:
        self._file = file
        self._found: Any = None
        self._door = Door(network=network, is_operators=True)

    async def fetch(self) -> Token[str]:
        """Google's words go to our log alone: they may hold more than a client should see."""
        loop = asyncio.get_running_loop()
        errors = await call_in_thread(lambda: import_module("google.auth.exceptions"))
        requests = _Requests(self._door, loop, errors.TransportError)
        try:
            await call_in_thread(lambda: self._refresh(requests))
        except TimeoutError:
            logger.warning("No token of Google Cloud within %g s", FETCH_TIMEOUT_S)
            raise ModelUnreachable(f"Google Cloud gave no token for the model within {FETCH_TIMEOUT_S:g} s.") from None
        except errors.DefaultCredentialsError as error:
            logger.warning("there are no credentials of Google Cloud: %s", in_one_line(error))
            raise ModelRefusedKey(
                f"{NO_TOKEN} Check the file in `credentials`; without one, GOOGLE_APPLICATION_CREDENTIALS, "
                "`gcloud auth application-default login`, or the service account of the machine."
            ) from None
        except errors.TransportError as error:
            logger.warning("Google Cloud cannot be asked for a token: %s", in_one_line(error))
            raise ModelUnreachable("Google Cloud cannot be asked for a token for the model.") from None
        except errors.GoogleAuthError as error:
            logger.warning("Google Cloud gives no token: %s", in_one_line(error))
            raise ModelRefusedKey(f"{NO_TOKEN} Check that its account exists and its key is still valid.") from None
        return Token(self._found.token, lasts(self._found.expiry))

    def _refresh(self, requests: "_Requests") -> None:
        if self._found is None and self._file is not None:
            self._found = read(self._file)
        elif self._found is None:
            self._found, _ = import_module("google.auth").default(scopes=[SCOPE], request=requests)
        self._found.refresh(requests)


def read(file: Path) -> Any:
    """Credentials of a file. Google wants whoever reads one to say which kinds of them are fine: some run programs."""
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
    except ValueError:  # a key that is none, a field that is missing
        raise failure(f"{file} is not whole: a field is missing in it, or its key is none") from None


@dataclass(frozen=True, slots=True)
class _Answer:
    """What google-auth expects of a response."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class _Requests:
    """What google-auth calls with each of its requests, from its thread."""

    def __init__(self, door: Door, loop: asyncio.AbstractEventLoop, failure: type[Exception]) -> None:
        self._door = door
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
        outgoing = Outgoing(method, read_url(url), sent, (body,) if body else (), len(body) if body else None)
        asked = asyncio.run_coroutine_threadsafe(send(self._door, outgoing), self._loop)
        try:
            incoming = asked.result(timeout or LIMITS.seconds)
        except TimeoutError as error:
            asked.cancel()
            raise self._failure(f"{outgoing.target.host} gave no answer in time") from error
        except (Unanswered, AddressForbidden) as error:
            raise self._failure(str(error)) from error
        return _Answer(incoming.status, incoming.headers, incoming.content)


async def send(door: Door, outgoing: Outgoing) -> Incoming:
    """To an address that the operator named, or the operator's cloud, wherever it is."""
    target = outgoing.target
    host = f"[{target.host}]" if ":" in target.host else target.host
    return await door.send(outgoing, Policy(allow=(f"{host}:{target.port}",)), LIMITS)


def lasts(expiry: datetime | None) -> float:
    """`expiry` is in UTC, without saying so."""
    return UNSAID if expiry is None else (expiry.replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds()
