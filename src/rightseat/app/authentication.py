"""Builds the authenticator from the keys and tokens of the configuration."""

from importlib import import_module
from types import ModuleType

from rightseat.access.attempts import WrongKeyLimit
from rightseat.access.authenticator import Authenticator, TokenVerifier
from rightseat.access.ended_sessions import EndedSessions
from rightseat.access.host_login import HostLogin
from rightseat.access.key_files import load_or_create_key
from rightseat.access.keys import AccessKey, Keys, digest, prefix_of
from rightseat.access.sessions import Sessions
from rightseat.access.sign_in.service import IdentityProvider, SignIn, SignInAddresses
from rightseat.access.stored_keys import StoredKeys
from rightseat.config import Access, ApiKey, Config, Jwt
from rightseat.core.errors import ConfigError
from rightseat.installation import install_command
from rightseat.operations.api_keys import ApiKeyStore
from rightseat.operations.ended_sessions import EndedSessionStore


def build_authenticator(
    access: Access,
    store: ApiKeyStore | None = None,
    ended_sessions: EndedSessionStore | None = None,
    host: HostLogin | None = None,
) -> Authenticator | None:
    """None if requests need no credential. `store` has further keys, and says which keys are revoked.

    Without a store of `ended_sessions` each process knows those that ended there. `host` is the login of the
    application around a copilot.
    """
    if not access.is_set:
        has_users = host is not None and host.has_users
        return Authenticator(Keys([]), has_credentials=False) if has_users else None
    if store is None and not access.keys and access.jwt is None and access.oidc is None:
        raise ConfigError("`access.required` needs keys, but `threads` stores none. Use `threads: {type: sql}`.")
    names = [key.name for key in access.keys]
    if duplicates := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"Two keys of `access` have the same name: {', '.join(sorted(duplicates))}. Rename one.")
    keys = [_build_key(key) for key in access.keys]
    if len({key.hash for key in keys}) < len(keys):
        raise ConfigError("Two entries of `access.keys` are the same key. Make another with `rightseat keys new NAME`.")
    tokens = _build_tokens(access.jwt) if access.jwt else None
    rules = _import_sign_in("grants").digest_rules(access.oidc) if access.oidc else ""
    stored = StoredKeys(store, cancels_runs=access.revoked_runs == "cancel") if store is not None else None
    attempts = WrongKeyLimit(access.max_wrong_keys_per_minute)
    ended = EndedSessions(ended_sessions)
    return Authenticator(Keys(keys), tokens, access.cookie, stored, attempts, rules, ended)


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


def build_identity_provider(config: Config) -> IdentityProvider | None:
    """None if the configuration has none. Raises `ConfigError` if authlib is not installed."""
    if config.access.oidc is None:
        return None
    found: IdentityProvider = _import_sign_in("provider").OpenIdProvider(
        config.access.oidc, find_sign_in_addresses(config).callback_url
    )
    return found


def build_sign_in(config: Config, provider: IdentityProvider) -> SignIn:
    """Its sessions are those of the face `operator`; the same secret encrypts the cookie of a sign-in in progress."""
    oidc, addresses = config.access.oidc, find_sign_in_addresses(config)
    if oidc is None:
        raise ConfigError("`access.oidc` is missing.")
    operator = next(face.options for face in config.faces if face.type == "operator")
    secret = load_or_create_key(operator.session_key)  # type: ignore[attr-defined]  # the options of this face
    hours = operator.session_hours  # type: ignore[attr-defined]  # the options of this face
    sessions = Sessions(secret, hours, addresses.public_url)
    purpose = f"{oidc.issuer} {oidc.client_id} {addresses.callback_url}"
    cipher = _import_sign_in("cipher").AttemptCipher(secret, purpose)
    rules = _import_sign_in("grants").digest_rules(oidc)
    return SignIn(oidc.display_name, provider, addresses, cipher, sessions, rules)


def find_sign_in_addresses(config: Config) -> SignInAddresses:
    """The routes are beside the face `operator`, where the console expects them."""
    paths = {face.type: str(getattr(face.options, "path", "")).rstrip("/") for face in reversed(config.faces)}
    if config.server.public_url is None or not {"operator", "console"} <= paths.keys():
        raise ConfigError("`access.oidc` needs `server.public_url` and the faces `operator` and `console`.")
    beside = paths["operator"].rpartition("/")[0]
    return SignInAddresses(config.server.public_url, f"{beside}/sign-in", paths["console"])


def _import_sign_in(name: str) -> ModuleType:
    """Imported only if a provider is configured: cryptography, joserfc and authlib are large imports."""
    try:
        return import_module(f"rightseat.access.sign_in.{name}")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"`access.oidc` needs the package {error.name!r}, which is not installed: {install_command('oidc')}"
        ) from error
