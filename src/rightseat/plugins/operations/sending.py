"""Sends an operation: writes the request, adds who sends it, and lets it out through the one door."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import unquote

import msgspec

from rightseat.core.ask import ANYONE, Principal
from rightseat.core.errors import AddressForbidden, ConfigError
from rightseat.core.values import JsonValue
from rightseat.egress.addresses import Policy, read_url
from rightseat.egress.door import Incoming, Limits, Outgoing, Reason, Unanswered
from rightseat.egress.redaction import Redactor
from rightseat.egress.secrets import SecretMissing
from rightseat.plugins.definition import Operation, Plugin
from rightseat.plugins.operations.authorizing import (
    Credentials,
    Secrets,
    credentials,
    masked,
    names_of,
    place_of,
    revealed,
    shown_at,
)
from rightseat.plugins.operations.reading import Reply, read
from rightseat.plugins.operations.tokens import Carrier, Holder, Tokens
from rightseat.plugins.operations.writing import WITH_BODY, Draft, draft
from rightseat.plugins.results import Code, Result, StepFailed, Usage
from rightseat.plugins.scene import Upload

logger = logging.getLogger(__name__)

TIMEOUT = 60.0  # seconds
LARGEST = 10 * 2**20  # bytes of an answer
LONGEST = 32 * 1024  # characters of an address
CODES: dict[Reason, Code] = {
    "connect": "connect",
    "broken": "connect",
    "timeout": "timeout",
    "too_large": "response_too_large",
}


class Request(msgspec.Struct, frozen=True):
    """A request as people see it before it is sent, and as the run record keeps it: secrets are covered."""

    method: str
    url: str
    headers: dict[str, str]
    body: JsonValue = None


@dataclass(frozen=True, slots=True)
class Sending:
    """`token` is that of whoever is signed in."""

    plugin: Plugin
    operation: Operation
    draft: Draft
    user: Principal
    timeout: float
    token: str | None = field(repr=False)


class Sender:
    """`allowed` gives, for a plugin, the `host:port` of private networks that the operator has confirmed for it, and
    `trusted` those of token servers that may see the token of whoever is signed in."""

    def __init__(
        self,
        carrier: Carrier,
        secrets: Secrets,
        redactor: Redactor,
        allowed: Callable[[Plugin], Sequence[str]] = lambda plugin: (),
        trusted: Callable[[Plugin], Sequence[str]] = lambda plugin: (),
        *,
        largest: int = LARGEST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._carrier = carrier
        self._secrets = secrets
        self._redactor = redactor
        self._allowed = allowed
        self._trusted = trusted
        self._largest = largest
        self._tokens = Tokens(carrier, secrets, redactor, clock)

    def preview(
        self,
        plugin: Plugin,
        operation: Operation,
        arguments: Mapping[str, JsonValue],
        files: Mapping[str, Upload],
        user: Principal = ANYONE,
        *,
        idempotency_key: str | None = None,
    ) -> Request:
        """The request that `send` would send. Raises `StepFailed` where it would not send one."""
        written = self._draft(plugin, operation, arguments, files, idempotency_key)
        return self._shown(written, masked(plugin))

    async def send(
        self,
        plugin: Plugin,
        operation: Operation,
        arguments: Mapping[str, JsonValue],
        files: Mapping[str, Upload],
        user: Principal = ANYONE,
        *,
        timeout: float = TIMEOUT,  # noqa: ASYNC109 - it is a limit of the request
        idempotency_key: str | None = None,
        user_token: str | None = None,
    ) -> Result:
        """Raises `StepFailed`. No secret is in what it gives or raises, even if the API echoes what it was sent.

        `idempotency_key` lets the API notice that the same request comes twice; `user_token` is that of whoever is
        signed in, for APIs that act in their name.
        """
        written = self._draft(plugin, operation, arguments, files, idempotency_key)
        sending = Sending(plugin, operation, written, user, timeout, user_token)
        began = time.monotonic()
        if user_token and len(user_token) >= 4:
            self._redactor.learn(user_token, passing=True)
        try:
            heard = await told(lambda: self._send(sending))
            incoming = Incoming(heard.status, heard.headers, self._redactor.content(heard.content))
            reply = read(operation, written.url, incoming)
        except StepFailed as error:
            failure = self._covered(error)
        else:
            milliseconds = round((time.monotonic() - began) * 1000)
            return self._result(reply, self._shown(written, masked(plugin)), incoming, milliseconds)
        raise failure  # out here, so that what it covers does not go along as its context

    def _draft(
        self,
        plugin: Plugin,
        operation: Operation,
        arguments: Mapping[str, JsonValue],
        files: Mapping[str, Upload],
        key: str | None,
    ) -> Draft:
        written = draft(plugin, operation, arguments, files)
        if taken := set(names_of(plugin)) & named(written):
            raise StepFailed("internal", f"{', '.join(name for _, name in taken)} is set by the plugin's `auth` alone.")
        if key is None or operation.is_safe or ("header", "idempotency-key") in named(written):
            return written
        headers = (*written.headers, ("Idempotency-Key", key))
        return Draft(written.method, written.url, written.query, headers, written.cookies, written.content)

    async def _send(self, sending: Sending) -> Incoming:
        """With a token that was refused, once more with a new one."""
        policy = Policy(allow=self._allowed(sending.plugin))
        trusted = tuple(self._trusted(sending.plugin))
        holder = Holder(sending.plugin.identity, sending.user.id, sending.token, trusted)
        auths = sending.plugin.auth
        place = place_of(sending.plugin.server)
        ready = [await revealed(a, self._secrets, self._redactor, shown_at(a) or place) for a in auths]
        limits = Limits(size=self._largest, seconds=sending.timeout, silence=sending.timeout)
        for is_last in (False, True):
            tokens = [await self._tokens.get(a, holder, policy) if a.type == "oidc" else "" for a in auths]
            shown = credentials(zip(ready, tokens, strict=True))
            incoming = await self._carrier.send(outgoing(sending.draft, shown), policy, limits)
            if incoming.status != 401 or is_last or not any(tokens):
                break
            used = [(auth, token) for auth, token in zip(auths, tokens, strict=True) if token]
            renewed = [self._tokens.discard(auth, holder, token) for auth, token in used]
            if not any(renewed):
                break
        return incoming

    def _shown(self, written: Draft, shown: Credentials) -> Request:
        headers = dict([*written.headers, *shown.headers])
        if cookies := (*written.cookies, *shown.cookies):
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
        body = written.content.shown if written.content else None
        url = "?".join(filter(None, (written.url, "&".join((*written.query, *shown.query)))))
        redact = self._redactor.text
        covered = {name: redact(value) for name, value in headers.items()}
        return Request(written.method, redact(url), covered, self._redactor.value(body))

    def _result(self, reply: Reply, request: Request, incoming: Incoming, milliseconds: int) -> Result:
        record: dict[str, JsonValue] = {"request": msgspec.to_builtins(request), "status": incoming.status}
        if reply.warnings:
            record["warnings"] = [self._redactor.text(warning) for warning in reply.warnings]
        artifacts = tuple(msgspec.structs.replace(one, name=self._redactor.text(one.name)) for one in reply.artifacts)
        return Result(
            self._redactor.value(reply.output),
            f"{request.method} answered {incoming.status}.",
            artifacts,
            Usage(milliseconds=milliseconds),
            record=record,
        )

    def _covered(self, error: StepFailed) -> StepFailed:
        details = self._redactor.value(error.details)
        code = cast(Code, error.code)
        return StepFailed(code, self._redactor.text(error.message), status=error.upstream_status, details=details)


async def told(work: Callable[[], Awaitable[Incoming]]) -> Incoming:
    """What goes wrong on the way, in the words of a flow. Raises `StepFailed`."""
    try:
        return await work()
    except AddressForbidden as error:
        raise StepFailed("egress_blocked", error.message, details={"sent": False}) from None
    except Unanswered as error:
        raise StepFailed(CODES[error.reason], error.message, details={"sent": error.sent}) from None
    except SecretMissing as error:
        raise StepFailed("secret_missing", error.message, details={"sent": False}) from None
    except ConfigError as error:
        logger.error("The secrets cannot be read: %s", error)
        message = "The secrets of this server cannot be read; its log says why."
        raise StepFailed("secret_missing", message, details={"sent": False}) from None
    except ValueError as error:
        raise StepFailed("internal", f"The request cannot be written: {error}.", details={"sent": False}) from None


def outgoing(written: Draft, shown: Credentials) -> Outgoing:
    query = "&".join((*written.query, *shown.query))
    target = read_url(f"{written.url}?{query}" if query else written.url, LONGEST)
    headers = [*written.headers, *shown.headers]
    if cookies := (*written.cookies, *shown.cookies):
        headers.append(("Cookie", "; ".join(f"{name}={value}" for name, value in cookies)))
    if written.content is not None:
        return Outgoing(written.method, target, tuple(headers), written.content, written.content.length)
    return Outgoing(written.method, target, tuple(headers), length=0 if written.method in WITH_BODY else None)


def named(written: Draft) -> set[tuple[str, str]]:
    """What arguments have set."""
    return {
        *(("header", name.lower()) for name, _ in written.headers),
        *(("cookie", name) for name, _ in written.cookies),
        *(("query", unquote(pair.partition("=")[0])) for pair in written.query),
    }
