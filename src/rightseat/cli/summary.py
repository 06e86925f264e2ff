"""What a configuration serves, in a few lines."""

from collections.abc import Iterator

from rightseat.config import Config, Part

NO_KEY = "no key: built-in scripted model, set OPENAI_API_KEY or run `rightseat init`"


def summarize(config: Config, url: str) -> Iterator[str]:
    """Each line is a word that says what it is about, and the rest."""
    for face in config.faces:
        yield _line("serves", f"{url}{getattr(face.options, 'path', '')}  {face.type}")
    for name, agent in config.agents.items():
        yield _line("agent", f"{name}  {agent.type}{_of(agent)}")
    for name, model in config.models.items():
        yield _line("model", f"{name}  {_model(model, config)}")
    yield _line("origins", _origins(config))


def warnings(config: Config) -> Iterator[str]:
    if not config.server.is_local:
        yield (
            f"{config.server.host} can be reached from other machines, and there are no keys yet: "
            "anyone who reaches it can use your models."
        )


def _line(word: str, rest: str) -> str:
    return f"  {word:8} {rest}"


def _of(agent: Part) -> str:
    model = getattr(agent.options, "model", None)
    return f", model {model}" if model else ""


def _model(model: Part, config: Config) -> str:
    if model.type == "scripted":
        return f"built-in scripted model, name a real one in {config.path}" if config.path else NO_KEY
    known_as = getattr(model.options, "model", None)
    where = getattr(model.options, "base_url", None)
    return " ".join(filter(None, (model.type, known_as, f"at {where}" if where else "")))


def _origins(config: Config) -> str:
    server = config.server
    if server.origins is not None:
        return ", ".join(server.origins) or "none: no web page may call"
    if server.is_local:
        return "pages of this machine: http://localhost:*, http://127.0.0.1:*"
    return "none: no web page may call; list those that may under server.origins"
