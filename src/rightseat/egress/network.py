"""Proxies and TLS certificates of outbound requests.

`proxy` of a part applies to all of its requests; `direct` disables proxies. Without it, `HTTPS_PROXY`, `HTTP_PROXY` and
`NO_PROXY` of the environment apply, except to localhost and to metadata services. URLs that a client or a plugin
supplied only use a configured proxy.
"""

import ssl
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult

from rightseat.config.network import DIRECT, NetworkOptions, Proxy, ProxyAddress, TlsOptions, read_proxy
from rightseat.config.variables import proxy_variable
from rightseat.core.errors import ConfigError

__all__ = ["NetworkOptions", "Proxy", "ProxyAddress", "TlsOptions", "configured_proxy", "find_proxy", "make_tls"]


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


def make_unverified_tls() -> ssl.SSLContext:
    """Accepts any certificate: for a check that sends nothing secret, or that has reported the certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _no_password() -> str:
    """OpenSSL would ask for it at the terminal."""
    raise ValueError("the key is encrypted; store it without a password, readable by this user alone")
