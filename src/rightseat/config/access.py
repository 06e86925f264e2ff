"""The keys of the section `access`: API keys, tokens, the cookie, and sign-in with an identity provider."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.config.network import NetworkOptions
from rightseat.config.urls import is_loopback, parse_base_url

CONFIG = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)
FaceAccess = Literal["open", "keys"]
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


def _access_error(text: str) -> PydanticCustomError:
    return PydanticCustomError("access", "{text}", {"text": text})


def _check_scope(scope: str) -> str:
    face, colon, agent = scope.partition(":")
    if scope != "*" and not (face and colon and agent):
        raise _access_error(f"should be `*` or `face:agent`, such as copilotkit:*, not {scope!r}.")
    return scope


def _check_secret(secret: SecretStr) -> SecretStr:
    """A header or a cookie must be able to carry it. Errors never show its value."""
    value = secret.get_secret_value()
    if not value or not all("!" <= character <= "~" for character in value):
        raise _access_error("should be one or more printable ASCII characters without spaces.")
    return secret


def _check_jwks(jwks: str) -> str:
    if "://" in jwks and urlsplit(jwks).scheme not in ("http", "https"):
        raise _access_error("should be a URL that begins with https://, or the path of a file.")
    return jwks


def _check_issuer(issuer: str) -> str:
    try:
        parts = parse_base_url(issuer)
    except ValueError as error:
        raise _access_error(f"{error}.") from None
    if parts.query or parts.fragment or "?" in issuer or "#" in issuer:
        raise _access_error("should be the exact issuer of the provider, without a query.")
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise _access_error("should begin with https://: http is only for a provider on this machine.")
    return issuer


def _check_request_scopes(scopes: tuple[str, ...]) -> tuple[str, ...]:
    if "openid" not in scopes or any(not scope or not scope.isascii() or " " in scope for scope in scopes):
        raise _access_error("should be a list of scopes of the provider, one of them openid.")
    return scopes


ScopeName = Annotated[str, AfterValidator(_check_scope)]


class ApiKey(BaseModel):
    """One key: its hash, as printed by `rightseat keys new`, or a secret of your own."""

    model_config = CONFIG
    name: str = Field(min_length=1)
    """The name of the key in the audit log."""
    prefix: str | None = Field(default=None, pattern="^[A-Za-z0-9]{8}$")
    """The public prefix of the key. `rightseat keys new` prints it, with the hash."""
    hash: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """The SHA-256 of the key; the key itself is not stored."""
    key: Annotated[SecretStr, AfterValidator(_check_secret)] | None = None
    """Instead of `prefix` and `hash`: a secret of your own, from the environment."""
    user: str | None = Field(default=None, min_length=1)
    """The user of the key, who owns its threads; tokens and other keys may have the same user. Default: a separate user
    for this key."""
    scopes: tuple[ScopeName, ...] = ("*",)
    """The faces and agents that it may use, as `face:agent`: `copilotkit:*`, `copilotkit:support`; `*` means all."""

    @model_validator(mode="after")
    def _has_one_secret(self) -> Self:
        if (self.key is None) == (self.prefix is None) or (self.prefix is None) != (self.hash is None):
            raise _access_error("should have `prefix` and `hash`, or else `key`.")
        return self


class Jwt(BaseModel):
    """Tokens of an identity provider."""

    model_config = CONFIG
    issuer: str = Field(min_length=1)
    """The required issuer: the exact `iss` of the token."""
    audience: str = Field(min_length=1)
    """The required audience: the `aud` of the token, or one of them."""
    jwks: Annotated[str, AfterValidator(_check_jwks)] = Field(min_length=1)
    """The issuer's public keys: a URL, or a file; a relative path is relative to the configuration."""
    algorithms: tuple[Algorithm, ...] = Field(default=("RS256", "PS256", "ES256", "EdDSA"), min_length=1)
    """The allowed signature algorithms, all of them asymmetric."""
    user_claim: str = Field(default="sub", min_length=1)
    """The claim with the user id. Choose one that the user cannot change."""
    scopes: tuple[ScopeName, ...] = ("*",)
    """The faces and agents that every token may use, as `face:agent`."""
    scopes_claim: str | None = None
    """A claim with the scopes of the token, instead of `scopes`: a list, or a text separated by spaces."""
    leeway_seconds: int = Field(default=30, ge=0, le=600)
    """The tolerated difference between clocks, in seconds."""


class Grant(BaseModel):
    """Scopes for the users whose claim has this value. Without `claim` and `value`: for every user of the provider."""

    model_config = CONFIG
    claim: str | tuple[str, ...] | None = Field(default=None, min_length=1)
    """The name of a claim, such as `groups`; a list of names leads into claims that are mappings."""
    value: str | None = Field(default=None, min_length=1)
    """The exact value of the claim, or of one item if the claim is a list."""
    scopes: tuple[ScopeName, ...] = Field(min_length=1)
    """What these users may use, as `face:agent`: `*`, `operator:support`, and the rights of operators, such as
    `operator.read:*`."""

    @model_validator(mode="after")
    def _has_both_or_neither(self) -> Self:
        if (self.claim is None) != (self.value is None):
            raise _access_error("should have `claim` and `value`, or neither for every user of the provider.")
        return self

    @property
    def path(self) -> tuple[str, ...]:
        return (self.claim,) if isinstance(self.claim, str) else self.claim or ()


class Oidc(NetworkOptions):
    """Sign-in to the console with an OpenID provider: the authorization code flow with PKCE."""

    model_config = CONFIG
    name: str | None = Field(default=None, min_length=1, max_length=60)
    """The provider's name on the button *Sign in with …*. Default: the host of `issuer`."""
    issuer: Annotated[str, AfterValidator(_check_issuer)] = Field(min_length=1)
    """The issuer, exactly as the provider has it: its discovery document is below it, at
    `/.well-known/openid-configuration`."""
    client_id: str = Field(min_length=1)
    """The id of this server at the provider. Register `PUBLIC_URL/sign-in/callback` there as its redirect address."""
    client_secret: Annotated[SecretStr, AfterValidator(_check_secret)] | None = None
    """Its secret, from the environment. Unset: a public client, which PKCE alone protects."""
    request_scopes: Annotated[tuple[str, ...], AfterValidator(_check_request_scopes)] = ("openid", "profile")
    """The scopes that are requested from the provider; some providers send groups only with one of their own."""
    user_claim: str = Field(default="sub", min_length=1)
    """The claim with the user id. Choose one that the user cannot change."""
    grants: tuple[Grant, ...] = Field(min_length=1)
    """What users may do, by their claims. The scopes of all grants that apply are added up; a user without any is
    refused."""
    algorithms: tuple[Algorithm, ...] = Field(default=("RS256", "PS256", "ES256", "EdDSA"), min_length=1)
    """The allowed signature algorithms of ID tokens, all of them asymmetric."""
    leeway_seconds: int = Field(default=30, ge=0, le=600)
    """The tolerated difference between clocks, in seconds."""
    timeout: float = Field(default=10.0, gt=0)
    """Seconds within which the provider must respond to a request."""

    @property
    def display_name(self) -> str:
        return self.name or urlsplit(self.issuer).hostname or self.issuer


class Access(BaseModel):
    model_config = CONFIG
    keys: tuple[ApiKey, ...] = ()
    """API keys, each with `name`, `prefix` and `hash` (or `key`), `user` and `scopes`."""
    jwt: Jwt | None = None
    """Tokens of an identity provider."""
    oidc: Oidc | None = None
    """Sign-in to the console with an identity provider. Needs the extra `oidc`, and `server.public_url`."""
    required: bool = False
    """Require a key even if this file has none: keys are in the store of `threads`, where `rightseat keys new NAME`
    then adds them. Servers whose file has `keys`, `jwt` or `oidc` accept the keys of the store too."""
    revoked_runs: Literal["cancel", "finish"] = "cancel"
    """What becomes of the runs of an API key that is revoked: `cancel` ends them within 5 seconds, `finish` lets them
    go on. `rightseat keys revoke` can say it for one key, with `--now` or `--finish`."""
    max_wrong_keys_per_minute: int = Field(default=20, ge=0)
    """How many wrong keys a client address may send at once, and then per minute; further ones are refused with 429. 0
    means no limit. Clients on this machine are not limited."""
    cookie: str | None = Field(default=None, pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
    """The name of a cookie that may carry a key or a token, beside `Authorization: Bearer` and `X-Api-Key`."""

    @property
    def is_set(self) -> bool:
        """Whether requests need a credential."""
        return self.required or bool(self.keys) or self.jwt is not None or self.oidc is not None
