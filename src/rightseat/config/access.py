"""The keys of the section `access`: API keys, tokens and the cookie."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

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


class Access(BaseModel):
    model_config = CONFIG
    keys: tuple[ApiKey, ...] = ()
    """API keys, each with `name`, `prefix` and `hash` (or `key`), `user` and `scopes`."""
    jwt: Jwt | None = None
    """Tokens of an identity provider."""
    required: bool = False
    """Require a key even if this file has none: keys are in the store of `threads`, where `rightseat keys new NAME`
    then adds them. Servers whose file has `keys` or `jwt` accept the keys of the store too."""
    max_wrong_keys_per_minute: int = Field(default=20, ge=0)
    """How many wrong keys a client address may send at once, and then per minute; further ones are refused with 429. 0
    means no limit. Clients on this machine are not limited."""
    cookie: str | None = Field(default=None, pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
    """The name of a cookie that may carry a key or a token, beside `Authorization: Bearer` and `X-Api-Key`."""

    @property
    def is_set(self) -> bool:
        """Whether requests need a credential."""
        return self.required or bool(self.keys) or self.jwt is not None
