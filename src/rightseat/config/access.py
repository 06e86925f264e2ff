"""What the configuration may say about who may call."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

CONFIG = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)
FaceAccess = Literal["open", "keys"]
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


def _complaint(text: str) -> PydanticCustomError:
    return PydanticCustomError("access", "{text}", {"text": text})


def _check_scope(scope: str) -> str:
    face, colon, agent = scope.partition(":")
    if scope != "*" and not (face and colon and agent):
        raise _complaint(f"should be `*` or `face:agent`, such as copilotkit:*, not {scope!r}.")
    return scope


def _check_secret(secret: SecretStr) -> SecretStr:
    """A header or a cookie must be able to carry it. Its value is told to nobody."""
    value = secret.get_secret_value()
    if not value or not all("!" <= character <= "~" for character in value):
        raise _complaint("should be a line of plain characters without spaces, and not empty.")
    return secret


def _check_jwks(jwks: str) -> str:
    if "://" in jwks and urlsplit(jwks).scheme not in ("http", "https"):
        raise _complaint("should be an address that begins with https://, or the path of a file.")
    return jwks


Scope = Annotated[str, AfterValidator(_check_scope)]


class ApiKey(BaseModel):
    """One key: its hash, as `rightseat keys new` writes it, or a secret of yours."""

    model_config = CONFIG
    name: str = Field(min_length=1)
    """What the key is called in the log."""
    prefix: str | None = Field(default=None, pattern="^[A-Za-z0-9]{8}$")
    """What the key is found by. `rightseat keys new` prints it, with the hash."""
    hash: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """The SHA-256 of the key; the key itself is nowhere."""
    key: Annotated[SecretStr, AfterValidator(_check_secret)] | None = None
    """Instead of `prefix` and `hash`: a secret of your own, from the environment."""
    user: str | None = Field(default=None, min_length=1)
    """Whose threads it opens: the same user as that of tokens and other keys. Left out: a user of its own."""
    scopes: tuple[Scope, ...] = ("*",)
    """What it may use, as `face:agent`: `copilotkit:*`, `copilotkit:support`; `*` is everything."""

    @model_validator(mode="after")
    def _has_one_secret(self) -> Self:
        if (self.key is None) == (self.prefix is None) or (self.prefix is None) != (self.hash is None):
            raise _complaint("should have `prefix` and `hash`, or else `key`.")
        return self


class Jwt(BaseModel):
    """Tokens of an identity provider."""

    model_config = CONFIG
    issuer: str = Field(min_length=1)
    """Who must have made the token: its `iss`, to the letter."""
    audience: str = Field(min_length=1)
    """Whom the token must be for: its `aud`, or one of them."""
    jwks: Annotated[str, AfterValidator(_check_jwks)] = Field(min_length=1)
    """The issuer's public keys: an address, or a file; a relative path is one beside the configuration."""
    algorithms: tuple[Algorithm, ...] = Field(default=("RS256", "PS256", "ES256", "EdDSA"), min_length=1)
    """How tokens may be signed; always with a key pair."""
    user: str = Field(default="sub", min_length=1)
    """The claim that says who it is. Choose one that its user cannot change."""
    scopes: tuple[Scope, ...] = ("*",)
    """What every token may use."""
    scopes_claim: str | None = None
    """A claim that lists what the token may use, instead of `scopes`: a list, or a text with spaces between."""
    leeway: int = Field(default=30, ge=0, le=600)
    """How many seconds clocks may differ."""


class Access(BaseModel):
    model_config = CONFIG
    keys: tuple[ApiKey, ...] = ()
    """API keys, each with `name`, `prefix` and `hash` (or `key`), `user` and `scopes`."""
    jwt: Jwt | None = None
    """Tokens of an identity provider."""
    cookie: str | None = Field(default=None, pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
    """A cookie that may carry a key or a token, beside `Authorization: Bearer` and `X-Api-Key`."""

    @property
    def is_set(self) -> bool:
        """Is there any credential that is good?"""
        return bool(self.keys) or self.jwt is not None
