"""Credentials of a request: headers, cookies, query parameters and OIDC tokens, with secrets resolved or masked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from rightseat.egress import addresses
from rightseat.egress.addresses import parse_url
from rightseat.egress.redaction import MASK, MIN_SECRET_CHARS, Redactor
from rightseat.egress.secrets import PLACEHOLDER, find_placeholders
from rightseat.plugins.definition import Auth, Plugin


class SecretSource(Protocol):
    """The secrets that one plugin may use. Raises `SecretMissing`."""

    async def resolve(self, name: str, *, host: str, named_by: str = "") -> str: ...

    def check(self, name: str, *, host: str) -> None: ...


class SecretsByPlugin(Protocol):
    def of_plugin(self, plugin: str) -> SecretSource: ...


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    query: tuple[str, ...] = ()


def build_credentials(auths: Iterable[tuple[Auth, str]]) -> RequestCredentials:
    """Build them from each `auth` with its secrets resolved, and its OIDC token, if it has one."""
    headers: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    query: list[str] = []
    for auth, token in auths:
        match auth.type:
            case "header":
                headers += auth.args.items()
            case "cookie":
                cookies += auth.args.items()
            case "param":
                query += [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in auth.args.items()]
            case "oidc":
                scheme = auth.args.get("scheme", "Bearer")
                headers.append((auth.args.get("header", "Authorization"), f"{scheme} {token}".strip()))
    return RequestCredentials(tuple(headers), tuple(cookies), tuple(query))


def mask_credentials(plugin: Plugin) -> RequestCredentials:
    """Build the credentials with every secret masked, for the preview that people approve."""
    shown = build_credentials((mask_auth(auth), MASK) for auth in plugin.auth)
    return RequestCredentials(
        shown.headers, shown.cookies, tuple(pair.replace(quote(MASK), MASK) for pair in shown.query)
    )


def mask_auth(auth: Auth) -> Auth:
    """Mask values with and without placeholders; the arguments of OIDC are not sent to the API and stay."""
    if auth.type == "oidc":
        return auth
    return Auth(
        auth.type, {name: PLACEHOLDER.sub(MASK, v) if find_placeholders(v) else MASK for name, v in auth.args.items()}
    )


async def resolve_auth(auth: Auth, secrets: SecretSource, redactor: Redactor, host: str, named_by: str = "") -> Auth:
    """Replace placeholders by the secrets that may be sent to this host. Raises `SecretMissing`."""
    for name, value in auth.args.items():
        if (
            (auth.type != "oidc" or name == "client_secret")
            and not find_placeholders(value)
            and len(value) >= MIN_SECRET_CHARS
        ):
            redactor.add(value)  # a secret written in the plugin file is still a secret
    return Auth(
        auth.type,
        {name: await resolve_secrets(value, secrets, redactor, host, named_by) for name, value in auth.args.items()},
    )


async def resolve_secrets(text: str, secrets: SecretSource, redactor: Redactor, host: str, named_by: str = "") -> str:
    values: dict[str, str] = {}
    for name in find_placeholders(text):
        values[name] = await secrets.resolve(name, host=host, named_by=named_by)
        redactor.add(values[name])
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)


def format_host_port(url: str) -> str:
    """Return `host:port`, to which secrets are bound. Raises `AddressForbidden`."""
    return addresses.format_host_port(parse_url(url))


def find_token_server(auth: Auth) -> str | None:
    """Return the `host:port` that receives an OIDC client's secrets; None if they go to the API itself."""
    if auth.type != "oidc":
        return None
    return format_host_port(auth.args.get("token_url") or auth.args["issuer"])


def list_auth_names(plugin: Plugin) -> Iterator[tuple[str, str]]:
    """Yield (place, name) of everything `auth` sets, header names in lower case. Arguments may not set these."""
    for auth in plugin.auth:
        match auth.type:
            case "header":
                yield from (("header", name.lower()) for name in auth.args)
            case "cookie":
                yield from (("cookie", name) for name in auth.args)
            case "param":
                yield from (("query", name) for name in auth.args)
            case "oidc":
                yield "header", auth.args.get("header", "Authorization").lower()
