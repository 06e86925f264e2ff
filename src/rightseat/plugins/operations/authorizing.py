"""What shows who sends a request: headers, cookies, pairs of the query, and tokens of an OIDC server."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from rightseat.egress.addresses import read_url
from rightseat.egress.redaction import MASK, SHORTEST, Redactor
from rightseat.egress.secrets import PLACEHOLDER, named_in
from rightseat.plugins.definition import Auth, Plugin


class Secrets(Protocol):
    """Raises `SecretMissing`."""

    async def resolve(self, name: str, *, host: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Credentials:
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    query: tuple[str, ...] = ()


def credentials(auths: Iterable[tuple[Auth, str]]) -> Credentials:
    """From each `auth` with its secrets in it, and the token that its OIDC server gave, if it has one."""
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
    return Credentials(tuple(headers), tuple(cookies), tuple(query))


def masked(plugin: Plugin) -> Credentials:
    """The same, with nothing in it that is secret: for people who look at a request before it is sent."""
    shown = credentials((covered(auth), MASK) for auth in plugin.auth)
    return Credentials(shown.headers, shown.cookies, tuple(pair.replace(quote(MASK), MASK) for pair in shown.query))


def covered(auth: Auth) -> Auth:
    """A value without a placeholder is as secret as one with it; how an OIDC token is sent is not."""
    if auth.type == "oidc":
        return auth
    return Auth(auth.type, {name: PLACEHOLDER.sub(MASK, v) if named_in(v) else MASK for name, v in auth.args.items()})


async def revealed(auth: Auth, secrets: Secrets, redactor: Redactor, host: str) -> Auth:
    """With the values of its secrets, as far as they are for this host. Raises `SecretMissing`."""
    for name, value in auth.args.items():
        if (auth.type != "oidc" or name == "client_secret") and not named_in(value) and len(value) >= SHORTEST:
            redactor.learn(value)  # an author who wrote it into the plugin has not made it public
    return Auth(auth.type, {name: await reveal(value, secrets, redactor, host) for name, value in auth.args.items()})


async def reveal(text: str, secrets: Secrets, redactor: Redactor, host: str) -> str:
    values: dict[str, str] = {}
    for name in named_in(text):
        values[name] = await secrets.resolve(name, host=host)
        redactor.learn(values[name])
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)


def place_of(url: str) -> str:
    """`host:port`, as secrets are bound to it. Raises `AddressForbidden`."""
    target = read_url(url)
    return f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"


def shown_at(auth: Auth) -> str | None:
    """Where the secrets of an OIDC client go; None for those that go to the API itself."""
    if auth.type != "oidc":
        return None
    return place_of(auth.args.get("token_url") or auth.args["issuer"])


def names_of(plugin: Plugin) -> Iterator[tuple[str, str]]:
    """What `auth` sets, as place and name; the names of headers in lower case. No argument sets it as well."""
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
