"""Summarises a configuration in a few lines."""

from collections.abc import Iterator

from rightseat.config import Config, ConfiguredPart
from rightseat.limits.options import LimitOptions
from rightseat.limits.refusal import describe_rule
from rightseat.limits.rules import DowngradePolicy, QueuePolicy

NO_KEY = "no key: built-in demo model, set OPENAI_API_KEY or run `rightseat init`"


def summarize(config: Config, url: str, setup_code: str | None = None) -> Iterator[str]:
    """Each line starts with a label. With a `setup_code` the console can write the first configuration."""
    base = config.server.public_url or url
    for console in (face for face in config.faces if face.type == "console"):
        yield _line("console", f"{base}{_path(console)}/{f'#/?setup={setup_code}' if setup_code else ''}")
    for face in (face for face in config.faces if face.type != "console"):
        yield _line("serves", f"{base}{_path(face)}  {face.type}{_describe_access(face, config)}")
    if base != url:
        yield _line("listens", url)
    for name, agent in config.agents.items():
        yield _line("agent", f"{name}  {agent.type}{_of(agent)}")
    for name, model in config.models.items():
        yield _line("model", f"{name}  {_model(model, config)}{_hidden(name, config)}")
    for name, toolbox in config.toolboxes.items():
        yield _line("tools", f"{name}  {toolbox.type}")
    for guard in config.guards:
        yield _line("guard", f"{guard.type}{_on(guard)}")
    if config.access.is_set:
        yield _line("keys", ", ".join(_credentials(config)))
    for limit in config.limits:
        yield _line("limit", _limit(limit, config))
    yield _line("threads", _describe_store(config.threads))
    if getattr(config.log.options, "url", None):
        yield _line("log", _describe_store(config.log))
    if config.engine.type != "local":
        yield _line("engine", _describe_store(config.engine))
    yield _line("origins", "; ".join([_origins(config), *_pages(config)]))


def _pages(config: Config) -> Iterator[str]:
    """The origins that faces allow by default."""
    for face in config.faces:
        if pages := getattr(face.module, "allowed_origins", None):
            allowed = pages(face.options)
            if allowed.is_closed:
                continue
            is_listed = config.server.origins is None and config.server.is_local
            local = ["pages of the user's own machine"] if allowed.allow_local and not is_listed else []
            yield f"for {face.type} also {', '.join([*allowed.origins, *local]) or 'none'}"


def _line(word: str, rest: str) -> str:
    return f"  {word:8} {rest}"


def _path(face: ConfiguredPart) -> str:
    return str(getattr(face.options, "path", ""))


def _describe_access(face: ConfiguredPart, config: Config) -> str:
    if not config.access.is_set:
        return ""
    return ", open to anyone" if face.access == "open" else ", with a key"


def _on(guard: ConfiguredPart) -> str:
    looked_at = getattr(guard.options, "applies_to", ())
    return f", looks at each {', '.join(looked_at)}" if looked_at else ""


def _credentials(config: Config) -> Iterator[str]:
    for key in config.access.keys:
        yield key.name
    if config.access.required:
        yield "those in the store"
    if config.access.jwt:
        yield f"tokens of {config.access.jwt.issuer}"
    if config.access.oidc:
        yield f"sign-in with {config.access.oidc.issuer}"


def _limit(limit: LimitOptions, config: Config) -> str:
    subject = "everyone" if limit.subject == "everyone" else f"each {limit.subject}"
    subject += f" {limit.match}" if limit.match != "*" else ""
    agents = f" at {', '.join(limit.agents)}" if limit.agents is not None else ""
    numbers = ", ".join(describe_rule(rule, config.currency) for rule in limit.rules(config.timezone))
    beyond = ""
    match limit.policy:
        case QueuePolicy(wait=wait):
            beyond = f"; others wait up to {wait:g} s"
        case DowngradePolicy(model=model):
            beyond = f"; then the model {model}"
    return f"{limit.name}  {subject}{agents}: {numbers}{beyond}"


def _of(agent: ConfiguredPart) -> str:
    model = getattr(agent.options, "model", None)
    return (f", model {model}" if model else "") + (", durable" if getattr(agent.options, "durable", False) else "")


def _model(model: ConfiguredPart, config: Config) -> str:
    if model.type == "scripted":
        return f"built-in demo model, configure a real one in {config.path}" if config.path else NO_KEY
    known_as = getattr(model.options, "model", None) or ", then ".join(getattr(model.options, "models", ()))
    where = getattr(model.options, "base_url", None)
    backend = getattr(getattr(model.options, "backend", None), "place", "")
    return " ".join(filter(None, (model.type, known_as, f"at {where}" if where else backend)))


def _hidden(name: str, config: Config) -> str:
    """On the OpenAI face a model can be called by its name, unless an agent has that name.

    Nothing is added if that agent uses this very model.
    """
    paths = [_path(face) for face in config.faces if face.type == "openai"]
    agent = config.agents.get(name)
    if not paths or agent is None or getattr(agent.options, "model", None) == name:
        return ""
    return f"; at {', '.join(paths)} that name is the agent's"


def _describe_store(part: ConfiguredPart) -> str:
    if getattr(part.options, "url", None):
        return f"{part.type}, on a server"
    path = getattr(part.options, "path", None)
    return f"{part.type}, in {path}" if path else f"{part.type}, lost when the server stops"


def _origins(config: Config) -> str:
    server = config.server
    if server.origins is not None:
        return ", ".join(server.origins) or "none: no web page may call"
    if server.is_local:
        return "pages of this machine: http://localhost:*, http://127.0.0.1:*"
    return "none: no web page may call; list those that may under server.origins"
