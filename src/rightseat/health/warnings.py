"""Warnings about a valid configuration: its security, deprecated keys, and what its parts warn of."""

from collections.abc import Iterator, Mapping

from rightseat.config import Config, ConfiguredPart, Server
from rightseat.config.deprecation import deprecation_warnings
from rightseat.limits.estimate import DEFAULT_RESERVE_TOKENS, max_output_tokens
from rightseat.parts import hint

MIN_KEY_CHARS = 20


def explain_missing_auth(config: Config) -> str | None:
    """Why this configuration may only be served on localhost; None if it may be served to other machines."""
    server = config.server
    if server.is_local or config.access.is_set or server.allow_unauthenticated:
        return None
    return (
        f"{_place(server)} can be reached from other machines, and no keys are configured: anyone could use your "
        "models. Create a key with `rightseat keys new NAME`, listen on 127.0.0.1, or set "
        "server.allow_unauthenticated: true."
    )


def _place(server: Server) -> str:
    return server.public_url or server.host


def warnings(config: Config) -> Iterator[str]:
    if not config.server.is_local:
        yield from _warn_about_network(config)
    if config.access.jwt and config.access.jwt.jwks.startswith("http://"):
        yield f"{config.access.jwt.jwks} is not encrypted: an attacker could replace its keys. Use https."
    yield from _warn_about_sign_in(config)
    yield from _warn_about_prices(config)
    yield from _warn_about_limits(config)
    yield from list_part_warnings("models", config.models)
    yield from deprecation_warnings(config)


def _warn_about_sign_in(config: Config) -> Iterator[str]:
    jwt, oidc = config.access.jwt, config.access.oidc
    if oidc is None:
        return
    if jwt is not None and jwt.issuer != oidc.issuer:
        yield (
            "access.jwt and access.oidc have different issuers: the same user id of both is the same user here. "
            "Choose claims in `user_claim` that cannot be equal for two people."
        )
    if not config.server.is_local and (config.server.public_url or "").startswith("http://"):
        yield f"{config.server.public_url} is not encrypted: an attacker could take over sign-ins. Use https."


def list_part_warnings(section: str, found: Mapping[str, ConfiguredPart]) -> Iterator[str]:
    """Warnings of parts about their own options."""
    for name, part in found.items():
        if warn := getattr(part.module, "warn", None):
            yield from (f"{section}.{name}: {line}" for line in warn(part.options))


def _warn_about_prices(config: Config) -> Iterator[str]:
    """A price that no model uses is usually misspelt: the cost of its model would not be shown."""
    known = {*config.models, *(str(getattr(part.options, "model", "")) for part in config.models.values())}
    known |= _transcription_models(config)
    for name in config.prices:
        if name not in known:
            meant = hint(name, known)
            yield f"prices.{name}: no model has this name, under `models` or at its provider.{meant} It is not used."


def _transcription_models(config: Config) -> set[str]:
    found = (getattr(face.options, "transcription", None) for face in config.faces)
    return {str(one.model) for one in found if one is not None}


def _warn_about_limits(config: Config) -> Iterator[str]:
    for limit in config.limits:
        if limit.subject in ("user", "key") and not config.access.is_set:
            same = "never applies" if limit.subject == "key" else "counts all clients as one user"
            cause = f"limits: {limit.name!r} is for each {limit.subject}, but there are no keys, so it {same}."
            yield f"{cause} Use `subject: address`."
    if any(limit.limits_cost for limit in config.limits):
        for name in sorted(_transcription_models(config) - config.prices.keys()):
            yield f"limits: transcriptions by {name!r} cost nothing, because it has no price. Add it under `prices`."
    if config.limits_webhook is not None and not any(limit.limits_calls for limit in config.limits):
        yield "limits_webhook: no limit caps tokens or cost, so nothing is sent to it."
    if any(limit.limits_calls for limit in config.limits):
        yield from _warn_about_reserve(config)
        yield from _warn_about_usage(config)
        for name, part in config.agents.items():
            if part.type not in ("loop", "flows"):
                cause = f"agents.{name}: its server calls the models, so tokens and cost are not counted."
                yield f"{cause} Limit its requests."


def _warn_about_reserve(config: Config) -> Iterator[str]:
    for name, part in config.models.items():
        own, reserve = max_output_tokens(part.options), config.limits_reserve.get(name, DEFAULT_RESERVE_TOKENS)
        if own is not None and own > reserve:
            yield (
                f"models.{name}: `max_tokens` is {own:,}, but where a limit of tokens or cost applies, answers end at "
                f"{reserve:,} tokens unless the request has `max_tokens`. Set `limits_reserve: {{{name}: {own}}}`."
            )


def _warn_about_usage(config: Config) -> Iterator[str]:
    for name, part in config.models.items():
        if getattr(part.options, "include_usage", True) is False:
            yield (
                f"models.{name}: `include_usage` is false, so limits of tokens and cost count an estimate instead of "
                "what the provider reports. Remove it if the server accepts `stream_options`."
            )


def _warn_about_network(config: Config) -> Iterator[str]:
    """Warnings for a server that other machines can reach."""
    server, access = config.server, config.access
    if refusal := explain_missing_auth(config):
        yield refusal
    elif not access.is_set:
        yield f"{_place(server)} IS OPEN TO THE NETWORK, without keys: anyone who reaches it can use your models."
    for face in config.faces:
        if access.is_set and face.access == "open":
            path = getattr(face.options, "path", "")
            yield f"{path} is open: anyone who reaches {_place(server)} can use its agents."
    for key in access.keys:
        if key.key is not None and len(key.key.get_secret_value()) < MIN_KEY_CHARS:
            yield f"the key {key.name!r} is short enough to be guessed. Create a better one with `rightseat keys new`."
    if not server.hosts and not server.public_url:
        yield "only requests for localhost and its own addresses are accepted. List its host names under server.hosts."
