"""Sends an API operation: builds the request, adds credentials, sends it, and redacts secrets in the result."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import unquote

import msgspec

from rightseat.core.ask import ANYONE, Principal
from rightseat.core.errors import AddressForbidden, ConfigError
from rightseat.core.types import JsonValue
from rightseat.egress.addresses import AddressPolicy, parse_url
from rightseat.egress.redaction import Redactor
from rightseat.egress.secrets import SecretMissing
from rightseat.egress.untrusted import FetchRequest, FetchResponse, Reason, RequestLimits, UntrustedRequestFailed
from rightseat.plugins.definition import Operation, Plugin
from rightseat.plugins.operations.auth import (
    RequestCredentials,
    SecretsByPlugin,
    build_credentials,
    find_token_server,
    format_host_port,
    list_auth_names,
    mask_credentials,
    resolve_auth,
)
from rightseat.plugins.operations.request import METHODS_WITH_BODY, RequestDraft, build_draft
from rightseat.plugins.operations.response import OperationResponse, read
from rightseat.plugins.operations.secret_uses import list_uses
from rightseat.plugins.operations.tokens import FetchClient, OidcTokens, TokenOwner
from rightseat.plugins.results import StepErrorCode, StepFailed, StepResult, StepUsage
from rightseat.plugins.scope import Upload

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT_S = 60.0
MAX_RESPONSE_BYTES = 10 * 2**20
MAX_URL_CHARS = 32 * 1024
SECRETS_UNREADABLE = "The server cannot read its secret store; its log has the details."
ERROR_CODES: dict[Reason, StepErrorCode] = {
    "connect": "connect",
    "broken": "connect",
    "timeout": "timeout",
    "too_large": "response_too_large",
}


class RequestPreview(msgspec.Struct, frozen=True):
    """A request with its secrets masked, for approval by people and for the run record."""

    method: str
    url: str
    headers: dict[str, str]
    body: JsonValue = None


@dataclass(frozen=True, slots=True)
class OperationCall:
    """One call of an operation. `token` is the token of the signed-in user."""

    plugin: Plugin
    operation: Operation
    draft: RequestDraft
    user: Principal
    timeout: float
    token: str | None = field(repr=False)


class OperationClient:
    """Sends operations. For each plugin, `allowed` returns the `host:port` of private networks that the operator has
    confirmed, and `trusted` those of token servers that may receive the signed-in user's token."""

    def __init__(
        self,
        client: FetchClient,
        secrets: SecretsByPlugin,
        redactor: Redactor,
        allowed: Callable[[Plugin], Sequence[str]] = lambda plugin: (),
        trusted: Callable[[Plugin], Sequence[str]] = lambda plugin: (),
        *,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._secrets = secrets
        self._redactor = redactor
        self._allowed = allowed
        self._trusted = trusted
        self._max_response_bytes = max_response_bytes
        self._tokens = OidcTokens(client, secrets, redactor, clock)

    def preview(
        self,
        plugin: Plugin,
        operation: Operation,
        arguments: Mapping[str, JsonValue],
        files: Mapping[str, Upload],
        user: Principal = ANYONE,
        *,
        idempotency_key: str | None = None,
    ) -> RequestPreview:
        """Return the request that `send` would send. Raises `StepFailed` if the request cannot be built."""
        written = self._build_draft(plugin, operation, arguments, files, idempotency_key)
        return self._build_preview(written, mask_credentials(plugin))

    def list_secret_problems(self, plugin: Plugin) -> list[str]:
        """Why `send` would refuse to send a secret of the plugin, for a dry run."""
        problems: list[str] = []
        for use in list_uses({plugin.id: plugin}):
            try:
                self._secrets.of_plugin(use.plugin).check(use.secret, host=use.host)
            except SecretMissing as error:
                problems.append(error.message)
            except ConfigError as error:
                logger.error("Cannot read the secret store: %s", error)
                return [SECRETS_UNREADABLE]
        return problems

    async def send(
        self,
        plugin: Plugin,
        operation: Operation,
        arguments: Mapping[str, JsonValue],
        files: Mapping[str, Upload],
        user: Principal = ANYONE,
        *,
        timeout: float = DEFAULT_TIMEOUT_S,  # noqa: ASYNC109 - it is a limit of the request
        idempotency_key: str | None = None,
        user_token: str | None = None,
    ) -> StepResult:
        """Raises `StepFailed`. Results and errors contain no secret, even if the API echoes the request.

        `idempotency_key` lets the API detect a repeated request; `user_token` is the signed-in user's token, for APIs
        that act on the user's behalf.
        """
        written = self._build_draft(plugin, operation, arguments, files, idempotency_key)
        call = OperationCall(plugin, operation, written, user, timeout, user_token)
        began = time.monotonic()
        if user_token and len(user_token) >= 4:
            self._redactor.add(user_token, is_temporary=True)
        try:
            response = await convert_errors(lambda: self._send(call))
            incoming = FetchResponse(response.status, response.headers, self._redactor.redact_bytes(response.content))
            reply = read(operation, written.url, incoming)
        except StepFailed as error:
            failure = self._redact_error(error)
        else:
            milliseconds = round((time.monotonic() - began) * 1000)
            return self._build_result(
                reply, self._build_preview(written, mask_credentials(plugin)), incoming, milliseconds
            )
        raise failure  # raised outside `except`, so that the unredacted error is not attached as its context

    def _build_draft(
        self,
        plugin: Plugin,
        operation: Operation,
        arguments: Mapping[str, JsonValue],
        files: Mapping[str, Upload],
        key: str | None,
    ) -> RequestDraft:
        written = build_draft(plugin, operation, arguments, files)
        if taken := set(list_auth_names(plugin)) & list_argument_names(written):
            raise StepFailed(
                "internal",
                f"{', '.join(name for _, name in taken)} is set by the plugin's `auth` and cannot be an argument.",
            )
        if key is None or operation.is_safe or ("header", "idempotency-key") in list_argument_names(written):
            return written
        headers = (*written.headers, ("Idempotency-Key", key))
        return RequestDraft(written.method, written.url, written.query, headers, written.cookies, written.content)

    async def _send(self, call: OperationCall) -> FetchResponse:
        """Send the request; if the API rejects the OIDC token with 401, retry once with a new one."""
        policy = AddressPolicy(allow=self._allowed(call.plugin))
        trusted = tuple(self._trusted(call.plugin))
        owner = TokenOwner(call.plugin.identity, call.user.id, call.token, trusted)
        auths = call.plugin.auth
        place, secrets = format_host_port(call.plugin.server), self._secrets.of_plugin(call.plugin.id)
        if format_host_port(call.draft.url) != place:  # the secrets are resolved for the server, and sent to the draft
            raise StepFailed("internal", f"The request would leave the server {place}.", details={"sent": False})
        ready = [await resolve_auth(a, secrets, self._redactor, find_token_server(a) or place) for a in auths]
        limits = RequestLimits(max_bytes=self._max_response_bytes, timeout=call.timeout, read_timeout=call.timeout)
        for is_last in (False, True):
            tokens = [await self._tokens.get(a, owner, policy) if a.type == "oidc" else "" for a in auths]
            shown = build_credentials(zip(ready, tokens, strict=True))
            incoming = await self._client.send(build_request(call.draft, shown), policy, limits)
            if incoming.status != 401 or is_last or not any(tokens):
                break
            used = [(auth, token) for auth, token in zip(auths, tokens, strict=True) if token]
            renewed = [self._tokens.discard(auth, owner, token) for auth, token in used]
            if not any(renewed):
                break
        return incoming

    def _build_preview(self, written: RequestDraft, shown: RequestCredentials) -> RequestPreview:
        headers = dict([*written.headers, *shown.headers])
        if cookies := (*written.cookies, *shown.cookies):
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
        body = written.content.shown if written.content else None
        url = "?".join(filter(None, (written.url, "&".join((*written.query, *shown.query)))))
        redact = self._redactor.redact_text
        covered = {name: redact(value) for name, value in headers.items()}
        return RequestPreview(written.method, redact(url), covered, self._redactor.redact_value(body))

    def _build_result(
        self, reply: OperationResponse, request: RequestPreview, incoming: FetchResponse, milliseconds: int
    ) -> StepResult:
        record: dict[str, JsonValue] = {"request": msgspec.to_builtins(request), "status": incoming.status}
        if reply.warnings:
            record["warnings"] = [self._redactor.redact_text(warning) for warning in reply.warnings]
        artifacts = tuple(
            msgspec.structs.replace(one, name=self._redactor.redact_text(one.name)) for one in reply.artifacts
        )
        return StepResult(
            self._redactor.redact_value(reply.output),
            f"{request.method} returned HTTP {incoming.status}.",
            artifacts,
            StepUsage(milliseconds=milliseconds),
            record=record,
        )

    def _redact_error(self, error: StepFailed) -> StepFailed:
        details = self._redactor.redact_value(error.details)
        code = cast(StepErrorCode, error.code)
        return StepFailed(
            code, self._redactor.redact_text(error.message), status=error.upstream_status, details=details
        )


async def convert_errors(work: Callable[[], Awaitable[FetchResponse]]) -> FetchResponse:
    """Convert errors of the outbound request to `StepFailed`."""
    try:
        return await work()
    except AddressForbidden as error:
        details: dict[str, JsonValue] = {"sent": False} | ({"blocked": error.blocked} if error.blocked else {})
        raise StepFailed("egress_blocked", error.message, details=details) from None
    except UntrustedRequestFailed as error:
        raise StepFailed(ERROR_CODES[error.reason], error.message, details={"sent": error.sent}) from None
    except SecretMissing as error:
        raise StepFailed("secret_missing", error.message, details={"sent": False}) from None
    except ConfigError as error:
        logger.error("Cannot read the secret store: %s", error)
        raise StepFailed("secret_missing", SECRETS_UNREADABLE, details={"sent": False}) from None
    except ValueError as error:
        raise StepFailed("internal", f"Cannot encode the request: {error}.", details={"sent": False}) from None


def build_request(written: RequestDraft, shown: RequestCredentials) -> FetchRequest:
    query = "&".join((*written.query, *shown.query))
    target = parse_url(f"{written.url}?{query}" if query else written.url, MAX_URL_CHARS)
    headers = [*written.headers, *shown.headers]
    if cookies := (*written.cookies, *shown.cookies):
        headers.append(("Cookie", "; ".join(f"{name}={value}" for name, value in cookies)))
    if written.content is not None:
        return FetchRequest(written.method, target, tuple(headers), written.content, written.content.length)
    return FetchRequest(
        written.method, target, tuple(headers), length=0 if written.method in METHODS_WITH_BODY else None
    )


def list_argument_names(written: RequestDraft) -> set[tuple[str, str]]:
    """Return (place, name) of everything that arguments have set."""
    return {
        *(("header", name.lower()) for name, _ in written.headers),
        *(("cookie", name) for name, _ in written.cookies),
        *(("query", unquote(pair.partition("=")[0])) for pair in written.query),
    }
