"""The options of everything that sends requests: proxies and TLS certificates. `egress.network` applies them."""

from base64 import b64encode
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.config.urls import parse_base_url
from rightseat.parts import BesidePath

DIRECT = "direct"


class Proxy(NamedTuple):
    """`url` holds no credentials; `authorization` is the header that does."""

    url: str
    authorization: str | None


def read_proxy(text: str) -> Proxy:
    """Raises `ValueError`. Its message holds no part of the text: that may have a password in it."""
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host = parts.netloc.rpartition("@")[2]
        parse_base_url(f"{parts.scheme}://{host}")
    except ValueError:
        raise ValueError("should be the address of a proxy, such as http://user:password@proxy.example:3128") from None
    if parts.path not in ("", "/") or parts.query:
        raise ValueError("should be the address of a proxy, without a path")
    if parts.username is None:
        return Proxy(f"{parts.scheme}://{host}", None)
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(f"{parts.scheme}://{host}", f"Basic {b64encode(user.encode()).decode()}")


def _check_proxy(value: SecretStr) -> SecretStr:
    if value.get_secret_value() != DIRECT:
        try:
            read_proxy(value.get_secret_value())
        except ValueError as error:
            raise PydanticCustomError("proxy", "{text}", {"text": str(error)}) from None
    return value


ProxyAddress = Annotated[SecretStr, AfterValidator(_check_proxy)]
"""With a user and a password, where the proxy wants them."""


class TlsOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    ca: BesidePath | None = None
    """A file of certificates (PEM) that are trusted in place of the system's, such as those of your company."""
    certificate: BesidePath | None = None
    """A file with the client certificate (PEM) that the server requests, and its intermediate certificates."""
    key: BesidePath | None = None
    """A file with the private key of the client certificate. Unset: it is in the file `certificate`."""

    @model_validator(mode="after")
    def _key_of_a_certificate(self) -> Self:
        if self.key is not None and self.certificate is None:
            raise PydanticCustomError("tls", "`key` needs a `certificate`")
        return self


def _at_the_end(schema: dict[str, Any]) -> None:
    """In the reference, what a part is comes before how it is reached."""
    properties = schema["properties"]
    for name in ("proxy", "tls"):
        properties[name] = properties.pop(name)


class NetworkOptions(BaseModel):
    """What every part has that sends requests."""

    model_config = ConfigDict(frozen=True, json_schema_extra=_at_the_end)
    proxy: ProxyAddress | None = None
    """The proxy for the requests of this part, such as `http://user:password@proxy.example:3128`; `direct` is none.
    Unset: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment."""
    tls: TlsOptions | None = None
    """The certificates that are trusted, and the one that is shown. Unset: those of the system, and none."""
