"""Who knows the keys and tokens that are good here, from what the configuration says of them."""

from importlib import import_module

from rightseat.access.door import Doorman, Tokens
from rightseat.access.keys import Key, Keys, digest, prefix_of
from rightseat.config import Access, ApiKey, Jwt
from rightseat.core.errors import ConfigError


def hire(access: Access) -> Doorman | None:
    """Who knows the keys and tokens that are good here; nobody, if there are none."""
    if not access.is_set:
        return None
    named = [key.name for key in access.keys]
    if twice := {name for name in named if named.count(name) > 1}:
        raise ConfigError(f"Two keys have one name, and the log could not tell them apart: {', '.join(sorted(twice))}.")
    keys = [read_key(key) for key in access.keys]
    if len({key.hash for key in keys}) < len(keys):
        raise ConfigError("Two keys of `access` are one and the same. Make another with `rightseat keys new NAME`.")
    return Doorman(Keys(keys), read_tokens(access.jwt) if access.jwt else None, access.cookie)


def read_key(key: ApiKey) -> Key:
    user = key.user or f"key:{key.name}"
    if key.key is not None:
        secret = key.key.get_secret_value()
        return Key(key.name, prefix_of(secret), digest(secret), user, key.scopes)
    return Key(key.name, key.prefix or "", key.hash or "", user, key.scopes)


def read_tokens(jwt: Jwt) -> Tokens:
    """What reads tokens is large, so only a server that takes tokens imports it."""
    jwks, tokens = (import_module(f"rightseat.access.{name}") for name in ("jwks", "tokens"))
    found: Tokens = tokens.Tokens(tokens.Rules(**jwt.model_dump(exclude={"jwks"})), jwks.Jwks(jwt.jwks))
    return found
