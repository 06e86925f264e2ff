"""An OpenID provider: its discovery document, the authorization code flow with PKCE, and the checks of its ID tokens.

authlib writes the requests and checks the claims of ID tokens; joserfc verifies their signatures.
"""

import asyncio
import hmac
import logging
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Annotated, Any, Self
from urllib.parse import quote_plus

import msgspec
from authlib.common.urls import add_params_to_uri  # type: ignore[import-untyped]  # it has no types
from authlib.oauth2.auth import ClientAuth  # type: ignore[import-untyped]  # it has no types
from authlib.oauth2.rfc6749.parameters import (  # type: ignore[import-untyped]  # it has no types
    prepare_grant_uri,
    prepare_token_request,
)
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]  # it has no types
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]  # it has no types
from joserfc.errors import ExpiredTokenError, InvalidClaimError

from rightseat.access.jwks import Jwks
from rightseat.access.scopes import AuthenticatedUser
from rightseat.access.sign_in.attempt import SignInAttempt, new_attempt
from rightseat.access.sign_in.grants import grant_scopes, lacks_claims
from rightseat.access.sign_in.provider_client import ProviderClient, check_endpoint, decode_response, quote_text
from rightseat.access.sign_in.refusal import SignInProblem, SignInRefused
from rightseat.access.tokens import MALFORMED, AllowedAlgorithms, UnknownKeyId, decode_signed, explain
from rightseat.config import Oidc
from rightseat.core.errors import IssuerUnavailable, Unauthenticated
from rightseat.egress.redaction import Redactor

logger = logging.getLogger(__name__)

DISCOVERY_PATH = "/.well-known/openid-configuration"
FRESH_S = 3600.0
RETRY_INTERVAL_S = 1.0
PROBLEMS: Mapping[str, SignInProblem] = {
    "access_denied": "denied",
    "login_required": "denied",
    "consent_required": "denied",
    "interaction_required": "denied",
    "server_error": "unavailable",
    "temporarily_unavailable": "unavailable",
}
"""By the provider's error code; any other is about the client or its request."""


class ProviderMetadata(msgspec.Struct, frozen=True):
    """The part of a discovery document that is used, in its own words."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    code_challenge_methods_supported: tuple[str, ...] | None = None
    authorization_response_iss_parameter_supported: bool = False


class _TokenResponse(msgspec.Struct):
    """The access token is sent back in a header: RFC 6749 allows visible characters and blanks."""

    id_token: str
    access_token: Annotated[str, msgspec.Meta(pattern=r"\A[ -~]+\Z")] | None = None


class OpenIdProvider:
    """`redirect_url` is where the provider sends browsers back to. It is used inside of its context."""

    def __init__(self, options: Oidc, redirect_url: str) -> None:
        self._options = options
        self._redirect_url = redirect_url
        self._client = ProviderClient(options, options.timeout)
        self._algorithms = AllowedAlgorithms(algorithms=options.algorithms, strict_check_header=False)
        self._lock = asyncio.Lock()
        self._metadata: ProviderMetadata | None = None
        self._jwks: Jwks | None = None
        self._read_at = self._failed_at = float("-inf")
        self._failure: tuple[SignInProblem, str] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()
        if self._jwks is not None:
            await self._jwks.__aexit__(kind, error, trace)
            self._jwks = None
        self._metadata = None

    async def begin(self) -> tuple[str, SignInAttempt]:
        """The address at the provider that the browser goes to, and what it must keep. Raises `SignInRefused`."""
        metadata = await self.read_metadata()
        attempt = new_attempt()
        url: str = prepare_grant_uri(
            metadata.authorization_endpoint,
            self._options.client_id,
            "code",
            redirect_uri=self._redirect_url,
            scope=" ".join(self._options.request_scopes),
            state=attempt.state,
            nonce=attempt.nonce,
            code_challenge=create_s256_code_challenge(attempt.verifier),
            code_challenge_method="S256",
        )
        return url, attempt

    async def finish(self, attempt: SignInAttempt, response: Mapping[str, str]) -> AuthenticatedUser:
        """Check the query that the provider sent the browser back with. Raises `Unauthenticated`."""
        if not hmac.compare_digest(attempt.state.encode(), response.get("state", "").encode()):
            raise SignInRefused(
                "expired", "the response belongs to another sign-in: its state is not that of the cookie"
            )
        metadata = await self.read_metadata()
        self._check_response(metadata, response)
        tokens = await self._redeem(metadata, response["code"], attempt.verifier)
        claims = await self._verify(metadata, tokens, attempt.nonce)
        if metadata.userinfo_endpoint and tokens.access_token and lacks_claims(self._options, claims):
            claims = await self._read_user_info(metadata.userinfo_endpoint, tokens.access_token, claims)
        return grant_scopes(self._options, claims)

    async def find_sign_out_url(self, return_url: str) -> str | None:
        """The address that ends the session at the provider; None if it has none. Raises `SignInRefused`."""
        endpoint = (await self.read_metadata()).end_session_endpoint
        query = [("client_id", self._options.client_id), ("post_logout_redirect_uri", return_url)]
        return str(add_params_to_uri(endpoint, query)) if endpoint else None

    async def read_metadata(self) -> ProviderMetadata:
        """Read again after an hour; if that fails, the old document is used. Raises `SignInRefused`."""
        async with self._lock:
            now = time.monotonic()
            if self._metadata is not None and now - self._read_at < FRESH_S:
                return self._metadata
            if self._failure is not None and now - self._failed_at < RETRY_INTERVAL_S:
                raise SignInRefused(*self._failure)
            try:
                await self._use(await self._discover())
            except SignInRefused as error:
                if self._metadata is None:
                    self._failure, self._failed_at = (error.problem, error.message), time.monotonic()
                    raise
                logger.warning(
                    "sign-in: the discovery document of %s is not up to date: %s", self._options.issuer, error
                )
            self._read_at = time.monotonic()
            assert self._metadata is not None  # noqa: S101  # for the type checker
            return self._metadata

    async def _discover(self) -> ProviderMetadata:
        url = self._options.issuer.rstrip("/") + DISCOVERY_PATH
        found = decode_response(await self._client.send("GET", url), ProviderMetadata)
        if found.issuer != self._options.issuer:
            text = f"{url} names the issuer {found.issuer!r}, but `access.oidc.issuer` is {self._options.issuer!r}"
            raise SignInRefused("misconfigured", text)
        for name in (
            "authorization_endpoint",
            "token_endpoint",
            "jwks_uri",
            "userinfo_endpoint",
            "end_session_endpoint",
        ):
            if (address := getattr(found, name)) is not None:
                check_endpoint(name, address, self._options.issuer)
        return found

    async def _use(self, metadata: ProviderMetadata) -> None:
        if self._metadata is None or self._jwks is None or metadata.jwks_uri != self._metadata.jwks_uri:
            if self._jwks is not None:
                await self._jwks.__aexit__(None, None, None)
            self._jwks = await Jwks(
                metadata.jwks_uri, network=self._options, timeout=self._options.timeout
            ).__aenter__()
        self._metadata, self._read_at = metadata, time.monotonic()

    def _check_response(self, metadata: ProviderMetadata, response: Mapping[str, str]) -> None:
        """RFC 6749, 4.1.2, and RFC 9207: a response of another issuer is refused (mix-up)."""
        issuer = response.get("iss")
        if issuer is None and metadata.authorization_response_iss_parameter_supported:
            raise SignInRefused("invalid_response", "the response lacks `iss`, which the provider always sends")
        if issuer is not None and issuer != metadata.issuer:
            raise SignInRefused("invalid_response", f"the response is of another issuer: {issuer[:200]!r}")
        if error := response.get("error"):
            text = Redactor().summarize(f"{error} {response.get('error_description', '')}")
            raise SignInRefused(PROBLEMS.get(error, "misconfigured"), f"the provider refused: {text!r}")
        if not response.get("code"):
            raise SignInRefused("invalid_response", "the response has neither a code nor an error")

    async def _redeem(self, metadata: ProviderMetadata, code: str, verifier: str) -> _TokenResponse:
        """Exchange the code for tokens. The provider accepts a code once."""
        body = prepare_token_request(
            "authorization_code", code=code, redirect_uri=self._redirect_url, code_verifier=verifier
        )
        url, headers, body = self._authenticate(metadata).prepare("POST", metadata.token_endpoint, {}, body)
        response = await self._client.send("POST", url, body, headers)
        if response.status == 400 and b"invalid_grant" in response.body:
            text = quote_text(response, Redactor("[secret]", (code, verifier)))
            raise SignInRefused("expired", f"{url} does not accept the code: it is used up or too old{text}")
        return decode_response(response, _TokenResponse, Redactor("[secret]", (code, verifier)))

    def _authenticate(self, metadata: ProviderMetadata) -> Any:
        """RFC 6749, 2.3.1: id and secret are form-encoded inside of a Basic header, which authlib leaves to callers."""
        secret = self._options.client_secret
        if secret is None:
            return ClientAuth(self._options.client_id, None, "none")
        id, value = self._options.client_id, secret.get_secret_value()
        if "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
            return ClientAuth(quote_plus(id), quote_plus(value), "client_secret_basic")
        return ClientAuth(id, value, "client_secret_post")

    async def _verify(self, metadata: ProviderMetadata, tokens: _TokenResponse, nonce: str) -> Mapping[str, Any]:
        """OpenID Connect Core, 3.1.3.7."""
        assert self._jwks is not None  # noqa: S101  # set with the metadata
        required = {
            "iss": {"essential": True, "value": metadata.issuer},
            "aud": {"essential": True, "value": self._options.client_id},
        }
        expected = {"nonce": nonce, "client_id": self._options.client_id, "access_token": tokens.access_token}
        try:
            token = await decode_signed(tokens.id_token, self._jwks, self._algorithms)
            claims = CodeIDToken(token.claims, token.header, required, expected)
            claims.validate(now=int(time.time()), leeway=self._options.leeway_seconds)
        except IssuerUnavailable as error:
            raise SignInRefused("unavailable", f"the keys at {metadata.jwks_uri} cannot be read") from error
        except MALFORMED as error:
            raise explain_token(error) from None  # its text may quote the token
        return token.claims

    async def _read_user_info(self, url: str, access_token: str, claims: Mapping[str, Any]) -> Mapping[str, Any]:
        """The claims of the ID token and of the user info; those of the token, which is signed, count first."""
        response = await self._client.send("GET", url, headers={"authorization": f"Bearer {access_token}"})
        found = decode_response(response, dict[str, Any], Redactor("[secret]", (access_token,)))
        if found.get("sub") != claims["sub"]:
            raise SignInRefused("invalid_response", f"{url} describes another user than the ID token")
        return {**found, **claims}


def explain_token(error: Exception) -> Unauthenticated:
    match error:
        case UnknownKeyId():
            return SignInRefused("unknown_key", "the ID token is signed by a key that the provider does not publish")
        case ExpiredTokenError() | InvalidClaimError(claim="exp" | "nbf" | "iat"):
            text = "the ID token has expired already or is not valid yet: check the clocks of both servers"
            return SignInRefused("clock", text)
        case InvalidClaimError(claim=str(claim)):
            return SignInRefused("invalid_response", f"the claim {claim!r} of the ID token is not the expected one")
        case _:
            return SignInRefused("invalid_response", f"the ID token is refused: {explain(error)}")
