"""Builds the authenticator from the keys and tokens of the configuration."""

from importlib import import_module

from rightseat.access.attempts import WrongKeyLimit
from rightseat.access.authenticator import Authenticator, TokenVerifier
from rightseat.access.keys import AccessKey, Keys, digest, prefix_of
from rightseat.access.stored_keys import StoredKeys
from rightseat.config import Access, ApiKey, Jwt
from rightseat.core.api_keys import ApiKeyStore, StoresApiKeys
from rightseat.core.errors import ConfigError
from rightseat.core.threads import Threads


def build_authenticator(access: Access, store: ApiKeyStore | None = None) -> Authenticator | None:
    """None if requests need no credential. `store` has further keys, and says which keys are revoked."""
    if not access.is_set:
        return None
    if store is None and not access.keys and access.jwt is None:
        raise ConfigError("`access.required` needs keys, but `threads` stores none. Use `threads: {type: sql}`.")
    names = [key.name for key in access.keys]
    if duplicates := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"Two keys of `access` have the same name: {', '.join(sorted(duplicates))}. Rename one.")
    keys = [_build_key(key) for key in access.keys]
    if len({key.hash for key in keys}) < len(keys):
        raise ConfigError("Two entries of `access.keys` are the same key. Make another with `rightseat keys new NAME`.")
    tokens = _build_tokens(access.jwt) if access.jwt else None
    stored = StoredKeys(store) if store is not None else None
    return Authenticator(Keys(keys), tokens, access.cookie, stored, WrongKeyLimit(access.max_wrong_keys_per_minute))


def api_keys_of(threads: Threads) -> ApiKeyStore | None:
    """The API keys of the thread store; None for a store in memory."""
    return threads.api_keys if isinstance(threads, StoresApiKeys) else None


def _build_key(key: ApiKey) -> AccessKey:
    user = key.user or f"key:{key.name}"
    if key.key is not None:
        secret = key.key.get_secret_value()
        return AccessKey(key.name, prefix_of(secret), digest(secret), user, key.scopes)
    return AccessKey(key.name, key.prefix or "", key.hash or "", user, key.scopes)


def _build_tokens(jwt: Jwt) -> TokenVerifier:
    """Imported only if tokens are configured: joserfc is a large import."""
    jwks, tokens = (import_module(f"rightseat.access.{name}") for name in ("jwks", "tokens"))
    found: TokenVerifier = tokens.Tokens(tokens.Rules(**jwt.model_dump(exclude={"jwks"})), jwks.Jwks(jwt.jwks))
    return found
