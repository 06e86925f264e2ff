"""What a configuration serves, in a few lines."""

from collections.abc import Iterator, Mapping

from rightseat.config import Config, Part

SHORT = 20  # characters

NO_KEY = "no key: built-in scripted model, set OPENAI_API_KEY or run `rightseat init`"


def summarize(config: Config, url: str) -> Iterator[str]:
    """Each line is a word that says what it is about, and the rest."""
    for face in config.faces:
        yield _line("serves", f"{url}{_path(face)}  {face.type}{_for_whom(face, config)}")
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
    yield _line("threads", _kept(config.threads))
    if getattr(config.log.options, "url", None):
        yield _line("log", _kept(config.log))
    if config.engine.type != "local":
        yield _line("engine", _kept(config.engine))
    yield _line("origins", "; ".join([_origins(config), *_pages(config)]))


def reason_to_stay_here(config: Config) -> str | None:
    """Why this configuration is not served to other machines; None if it may be."""
    server = config.server
    if server.is_local or config.access.is_set or server.open_to_the_network:
        return None
    return (
        f"{server.host} can be reached from other machines, and there are no keys: anyone could use your models. "
        "Make a key with `rightseat keys new NAME`, listen on 127.0.0.1, or say server.open_to_the_network: true."
    )


def warnings(config: Config) -> Iterator[str]:
    if not config.server.is_local:
        yield from _warnings_of_reach(config)
    if config.access.jwt and config.access.jwt.jwks.startswith("http://"):
        yield f"{config.access.jwt.jwks} is not encrypted: who can change its answer can sign tokens."
    yield from doubts_of("models", config.models)


def doubts_of(section: str, found: Mapping[str, Part]) -> Iterator[str]:
    """What parts warn of themselves, though they can be served."""
    for name, part in found.items():
        if warn := getattr(part.module, "warn", None):
            yield from (f"{section}.{name}: {line}" for line in warn(part.options))


def _warnings_of_reach(config: Config) -> Iterator[str]:
    """Of what others can do who reach the address."""
    server, access = config.server, config.access
    if closed := reason_to_stay_here(config):
        yield closed
    elif not access.is_set:
        yield f"{server.host} IS OPEN TO THE NETWORK, without keys: anyone who reaches it can use your models."
    for face in config.faces:
        if access.is_set and face.access == "open":
            yield f"{_path(face)} is open: anyone who reaches {server.host} can use its agents."
    for key in access.keys:
        if key.key is not None and len(key.key.get_secret_value()) < SHORT:
            yield f"the key {key.name!r} is short enough to be guessed. `rightseat keys new` makes better ones."
    if not server.hosts:
        yield "it answers for localhost and its own addresses only. List the names it is called by under server.hosts."


def _pages(config: Config) -> Iterator[str]:
    """Those that a face lets in by itself."""
    for face in config.faces:
        if pages := getattr(face.module, "pages", None):
            found = pages(face.options)
            is_said = config.server.origins is None and config.server.is_local
            here = ["pages of the user's own machine"] if found.this_machine and not is_said else []
            yield f"for {face.type} also {', '.join([*found.origins, *here]) or 'none'}"


def _line(word: str, rest: str) -> str:
    return f"  {word:8} {rest}"


def _path(face: Part) -> str:
    return str(getattr(face.options, "path", ""))


def _for_whom(face: Part, config: Config) -> str:
    if not config.access.is_set:
        return ""
    return ", open to anyone" if face.access == "open" else ", with a key"


def _on(guard: Part) -> str:
    looked_at = getattr(guard.options, "on", ())
    return f", looks at each {', '.join(looked_at)}" if looked_at else ""


def _credentials(config: Config) -> Iterator[str]:
    for key in config.access.keys:
        yield key.name
    if config.access.jwt:
        yield f"tokens of {config.access.jwt.issuer}"


def _of(agent: Part) -> str:
    model = getattr(agent.options, "model", None)
    return (f", model {model}" if model else "") + (", durable" if getattr(agent.options, "durable", False) else "")


def _model(model: Part, config: Config) -> str:
    if model.type == "scripted":
        return f"built-in scripted model, name a real one in {config.path}" if config.path else NO_KEY
    known_as = getattr(model.options, "model", None) or ", then ".join(getattr(model.options, "models", ()))
    where = getattr(model.options, "base_url", None)
    engine = getattr(getattr(model.options, "engine", None), "place", "")
    return " ".join(filter(None, (model.type, known_as, f"at {where}" if where else engine)))


def _hidden(name: str, config: Config) -> str:
    """A model can be asked by its name where OpenAI's API is spoken, unless an agent has that name.

    That the agent is one of this very model needs no word.
    """
    spoken = [_path(face) for face in config.faces if face.type == "openai"]
    agent = config.agents.get(name)
    if not spoken or agent is None or getattr(agent.options, "model", None) == name:
        return ""
    return f"; at {', '.join(spoken)} that name is the agent's"


def _kept(part: Part) -> str:
    if getattr(part.options, "url", None):
        return f"{part.type}, on a server"
    path = getattr(part.options, "path", None)
    return f"{part.type}, in {path}" if path else f"{part.type}, and gone when it stops"


def _origins(config: Config) -> str:
    server = config.server
    if server.origins is not None:
        return ", ".join(server.origins) or "none: no web page may call"
    if server.is_local:
        return "pages of this machine: http://localhost:*, http://127.0.0.1:*"
    return "none: no web page may call; list those that may under server.origins"
