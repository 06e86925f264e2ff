"""Proxies and TLS certificates of outbound requests.

`proxy` of a part applies to all of its requests; `direct` disables proxies. Without it, `HTTPS_PROXY`, `HTTP_PROXY` and
`NO_PROXY` of the environment apply, except to localhost and to metadata services. URLs that a client or a plugin
supplied only use a configured proxy.
"""

import ssl
from base64 import b64encode
from ipaddress import ip_address, ip_network
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.config.variables import proxy_variable
from rightseat.core.errors import ConfigError
from rightseat.egress.request import parse_base_url
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


def find_proxy(parts: SplitResult, options: NetworkOptions | None) -> Proxy | None:
    """For an address that the operator named. Raises `ConfigError` where the environment has no proper address."""
    configured = configured_proxy(options)
    if configured is not None or (options is not None and options.proxy is not None):
        return configured
    host = parts.hostname or ""
    text = proxy_variable(parts.scheme)
    if not text or is_local(host) or is_bypassed(host, parts.port, proxy_variable("no")):
        return None
    try:
        return read_proxy(text)
    except ValueError as error:
        raise ConfigError(f"The variable {parts.scheme.upper()}_PROXY {error}.") from None


def configured_proxy(options: NetworkOptions | None) -> Proxy | None:
    """For an address that a client, a plugin or a document named."""
    if options is None or options.proxy is None or options.proxy.get_secret_value() == DIRECT:
        return None
    return read_proxy(options.proxy.get_secret_value())


def is_local(host: str) -> bool:
    """This machine, or what its cloud serves to it alone: no proxy reaches either."""
    try:
        return ip_address(host).is_loopback or ip_address(host).is_link_local
    except ValueError:
        return host in ("localhost", "metadata.google.internal") or host.endswith(".localhost")


def is_bypassed(host: str, port: int | None, no_proxy: str) -> bool:
    """By `NO_PROXY`: `*`, hosts with those below them, `host:port`, and networks (`10.0.0.0/8`)."""
    for entry in filter(None, (one.strip().lower() for one in no_proxy.split(","))):
        name, _, only = entry.rpartition(":") if entry.rpartition(":")[2].isdecimal() else (entry, "", "")
        name = name.removeprefix("*").removeprefix(".")
        if only and only != str(port):
            continue
        if entry == "*" or host == name or (name and host.endswith(f".{name}")) or is_in_network(host, entry):
            return True
    return False


def is_in_network(host: str, entry: str) -> bool:
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        return False


def make_tls(options: NetworkOptions | None) -> ssl.SSLContext:
    """Raises `ConfigError`, with the file that cannot be used."""
    tls = options.tls if options is not None else None
    ca = tls.ca if tls is not None else None
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as error:  # of which `SSLError` is one
        raise ConfigError(f"The certificates in {ca} cannot be used: {error.strerror or error}.") from None
    context.set_alpn_protocols(["http/1.1"])
    if tls is not None and tls.certificate is not None:
        try:
            context.load_cert_chain(tls.certificate, tls.key, password=_no_password)
        except (OSError, ValueError) as error:
            files = " and ".join(str(file) for file in (tls.certificate, tls.key) if file)
            raise ConfigError(f"The client certificate in {files} cannot be used: {error}.") from None
    return context


def _no_password() -> str:
    """OpenSSL would ask for it at the terminal."""
    raise ValueError("the key is encrypted; store it without a password, readable by this user alone")
