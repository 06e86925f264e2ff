"""Loads a configuration file into a `Config`, or reports every problem in it at once."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from rightseat import parts
from rightseat.config import document as documents
from rightseat.config import problems
from rightseat.config.access import Access, FaceAccess
from rightseat.config.document import KeyPath, Problem, YamlDocument
from rightseat.config.evals import EvalOptions
from rightseat.config.live import LIVE_TYPE, LiveOptions, LivePart, describe_live, make_module
from rightseat.config.shape import (
    DEFAULT_TYPES,
    Config,
    ConfigFile,
    ConfiguredPart,
    Server,
    default_agents,
    default_faces,
    default_models,
)
from rightseat.core.errors import ConfigError
from rightseat.core.model import model_name
from rightseat.limits.options import LimitOptions
from rightseat.parts import PartKind

Section = TypeVar("Section", bound=BaseModel)

FILE = "rightseat.yaml"
IN_MEMORY = "{log: {type: memory}, threads: {type: memory}}"


def find(path: Path | None, environ: Mapping[str, str] | None = None) -> Config:
    """The file at `path`, else `rightseat.yaml` of the working folder, else the defaults for a first start."""
    if path is not None:
        return read(path, environ)
    here = Path(FILE)
    return read(here, environ) if here.exists() else parse("", environ=environ)


def read(path: Path, environ: Mapping[str, str] | None = None) -> Config:
    return parse(read_text(path), path, environ)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"There is no file {path}. `rightseat init` writes a {FILE}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Cannot read {path}: {error}") from error


def build(arguments: Mapping[str, Any], path: Path | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """The configuration of Python code: its `arguments` have the names and the shapes of the keys of a file.

    With `path` they are added to that file; an argument replaces the key. A part may be a `LivePart`. A `${NAME}` is
    expanded in the file only. Raises `ConfigError`, with `Copilot: message` for each problem of an argument.
    """
    return parse("" if path is None else read_text(path), path, environ, arguments)


def parse(
    text: str,
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Config:
    """Raises `ConfigError` with a line for each problem: `file:line:column: message`."""
    environ = os.environ if environ is None else environ
    try:
        document = documents.load(text, environ)
        if arguments:
            document.replace_keys(arguments)
        config = _ConfigLoader(document, environ).config(path)
    except documents.UnreadableDocument as refused:
        raise ConfigError(_line(path, refused.problem)) from refused
    if document.problems:
        raise ConfigError("\n".join(_line(path, problem) for problem in sorted(document.problems)))
    return config


def read_server(path: Path) -> Server:
    """The section `server` alone, of a file that has problems elsewhere; the defaults if it cannot be read."""
    return _read_section(path, "server", Server)


def read_evals_folder(path: Path) -> Path:
    """The folder of the datasets, for commands that need nothing else of a file that may have problems elsewhere."""
    folder = _read_section(path, "evals", EvalOptions).folder
    return path.parent / (folder or "evals")


def _read_section(path: Path, name: str, options: type[Section]) -> Section:
    try:
        document = documents.load(path.read_text(encoding="utf-8"), os.environ)
        return options.model_validate(document.value[name])
    except (OSError, UnicodeDecodeError, documents.UnreadableDocument, ValidationError, KeyError, TypeError):
        return options()


def written_value(path: Path, place: KeyPath) -> str:
    """The text at `place` as it is in the file, with `${…}`; empty if there is none."""
    try:
        value = documents.load(path.read_text(encoding="utf-8"), None).value
        for step in place:
            value = value[step]
    except (OSError, UnicodeDecodeError, documents.UnreadableDocument, LookupError, TypeError):
        return ""
    return value if isinstance(value, str) else ""


def has_openai_key() -> bool:
    """Whether OPENAI_API_KEY is set, for the first configuration."""
    return bool(os.environ.get("OPENAI_API_KEY"))


def in_memory(config: Config) -> Config:
    """The same without storage: for a command that runs beside the server that owns the files."""
    plain = parse(IN_MEMORY, environ={})
    return replace(config, log=plain.log, threads=plain.threads)


def resolve_jwks(access: Access, path: Path | None) -> Access:
    """Make the path of the issuer's keys relative to the configuration file, unless it is absolute or a URL."""
    if access.jwt is None or path is None or "://" in access.jwt.jwks:
        return access
    jwt = access.jwt.model_copy(update={"jwks": str(path.parent / access.jwt.jwks)})
    return access.model_copy(update={"jwt": jwt})


def _line(path: Path | None, problem: Problem) -> str:
    if problem.place == documents.ARGUMENT:
        return f"Copilot: {problem.text}"
    return f"{path or FILE}:{problem.place.line}:{problem.place.column}: {problem.text}"


def find_unpriced(models: Mapping[str, Any], prices: Collection[str]) -> list[str]:
    """The models without a price. A model that is composed of others needs none: each of them is counted."""
    leaves = {
        name: spec
        for name, spec in models.items()
        if isinstance(spec, LivePart) or (isinstance(spec, dict) and "models" not in spec)
    }
    return [name for name, spec in leaves.items() if name not in prices and find_provider_name(spec) not in prices]


def find_provider_name(spec: Any) -> str | None:
    """The provider's name of a model."""
    if isinstance(spec, LivePart):
        return model_name(spec.value)
    return spec.get("model") if isinstance(spec, dict) else None


def find_model_name(agent: str, agents: Mapping[str, Any]) -> str | None:
    """The model that answers for an agent, or for a model that is asked by its name; None if it is elsewhere."""
    spec = agents.get(agent)
    if agent not in agents or not isinstance(spec, dict):
        return agent if agent not in agents else None
    return str(spec.get("model", "default")) if spec.get("type", "loop") == "loop" else None


INVALID_PART = ConfiguredPart("models", "", ModuleType("broken"), ConfigFile())
"""Placeholder for an invalid part. It is never returned, because its problem is raised instead."""


class _ConfigLoader:
    """Loads one document. Problems are collected in the document, and loading continues."""

    def __init__(self, document: YamlDocument, environ: Mapping[str, str]) -> None:
        self._document = document
        self._environ = environ
        self._names: dict[str, list[str]] = {}
        self._state = self._folder = Path()
        self._unreadable_places = {problem.place for problem in document.problems}

    def config(self, path: Path | None) -> Config:
        self._folder = path.parent if path else Path()
        top, broken = self._top()
        models = top.models or default_models(self._environ)
        agents = top.agents or default_agents(models)
        faces = top.faces or default_faces(agents)
        known = {"models": list(models), "toolboxes": list(top.toolboxes), "agents": list(agents)}
        self._names = {kind: names for kind, names in known.items() if kind not in broken}
        self._state = self._folder / top.server.state_dir
        if not broken:
            self._check_access(top.access, faces)
            self._check_limits(top, models)
            self._check_downgrades(top.limits, models, agents)
            self._check_sign_in(top.access, top.server, faces)
        return Config(
            models={name: self._part("models", spec, ("models", name)) for name, spec in models.items()},
            toolboxes={
                name: self._part("toolboxes", spec, ("toolboxes", name)) for name, spec in top.toolboxes.items()
            },
            agents={name: self._part("agents", spec, ("agents", name)) for name, spec in agents.items()},
            guards=tuple(self._part("guards", spec, ("guards", index)) for index, spec in enumerate(top.guards)),
            faces=tuple(self._part("faces", spec, ("faces", index)) for index, spec in enumerate(faces)),
            log=self._part("logs", top.log, ("log",)),
            threads=self._part("stores", top.threads, ("threads",)),
            engine=self._part("engines", top.engine, ("engine",)),
            server=top.server,
            hooks=top.hooks,
            access=resolve_jwks(top.access, path),
            telemetry=top.telemetry,
            prices=top.prices,
            currency=top.currency,
            limits=tuple(top.limits),
            limits_reserve=top.limits_reserve,
            limits_webhook=top.limits_webhook,
            timezone=top.timezone,
            memory=top.memory,
            evals=top.evals,
            path=path,
        )

    def _top(self) -> tuple[ConfigFile, set[str]]:
        """The valid sections of the file, and the names of the invalid ones."""
        value = {} if self._document.value is None else self._document.value
        if not isinstance(value, dict):
            self._report((), "the file should be a mapping with keys like models, agents, faces.")
            return ConfigFile(), set(ConfigFile.model_fields)
        given = {key: part for key, part in value.items() if part is not None or key not in ConfigFile.model_fields}
        context = {"folder": self._folder}
        try:
            return ConfigFile.model_validate(given, context=context), set()
        except ValidationError as error:
            self._explain(error, ConfigFile, ())
            broken = {str(detail["loc"][0]) for detail in error.errors()}
            return ConfigFile.model_validate(
                {key: given[key] for key in given.keys() - broken}, context=context
            ), broken

    def _part(self, kind: PartKind, spec: Any, path: KeyPath) -> ConfiguredPart:
        if isinstance(spec, LivePart):
            options = LiveOptions(python=describe_live(spec.value))
            return ConfiguredPart(kind, LIVE_TYPE, make_module(kind, spec.value), options)
        spec = {} if spec is None else spec
        if not isinstance(spec, dict):
            self._report(path, f"{problems.name(path)} should be a mapping like {{type: …}}.")
            return INVALID_PART
        module = self._module(kind, spec.get("type", DEFAULT_TYPES.get(kind)), path)
        if module is None:
            return INVALID_PART
        kept = parts.options(module)
        try:
            shared_keys = ("type", "access") if kind == "faces" else ("type",)
            given = {key: value for key, value in spec.items() if key not in shared_keys}
            checked = kept.model_validate(given, context=self._context())
        except ValidationError as error:
            self._explain(error, kept, path)
            return INVALID_PART
        access = spec.get("access") if kind == "faces" else None
        return ConfiguredPart(kind, spec.get("type") or DEFAULT_TYPES[kind], module, checked, access)

    def _context(self) -> dict[str, Any]:
        """Further values for the validators of options in `parts`."""
        return {**self._names, "state": self._state, "folder": self._folder}

    def _check_access(self, access: Access, faces: list[Any]) -> None:
        """Checks that concern several sections."""
        for number, face in enumerate(faces):
            face_access = face.get("access") if isinstance(face, dict) else None
            if face_access not in (None, *get_args(FaceAccess)):
                self._report(("faces", number, "access"), f"faces[{number}].access: should be 'open' or 'keys'.")
            if face_access == "keys" and not access.is_set:
                text = f"faces[{number}].access: there are no keys. `rightseat keys new NAME` makes one."
                self._report(("faces", number, "access"), text)
        for number, key in enumerate(access.keys):
            self._check_scopes(("access", "keys", number, "scopes"), key.scopes)
        if access.jwt is not None:
            self._check_scopes(("access", "jwt", "scopes"), access.jwt.scopes)

    def _check_limits(self, top: ConfigFile, models: Mapping[str, Any]) -> None:
        known, names = self._names.get("agents", ()), list[str]()
        for number, limit in enumerate(top.limits):
            if limit.name in names:
                self._report(
                    ("limits", number, "name"), f"limits[{number}].name: {limit.name!r} is the name of another limit."
                )
            names.append(limit.name)
            for place, agent in enumerate(limit.agents or ()):
                if agent not in (*known, *models):
                    text = f"limits[{number}].agents: no agent is named {agent!r}.{parts.hint(agent, known)}"
                    self._report(("limits", number, "agents", place), text)
        for number, limit in enumerate(top.limits):
            if limit.limits_cost and (unpriced := find_unpriced(models, top.prices)):
                text = (
                    f"limits[{number}] limits cost, but the model {unpriced[0]!r} has no price. Add it under `prices`."
                )
                self._report(("limits", number), text)

        for name in top.limits_reserve:
            if name not in models:
                text = f"limits_reserve.{name}: no model is named {name!r}.{parts.hint(name, models)}"
                self._report(("limits_reserve", name), text)

    def _check_downgrades(
        self, limits: Sequence[LimitOptions], models: Mapping[str, Any], agents: Mapping[str, Any]
    ) -> None:
        """A limit for all agents may downgrade to the model of some: it refuses asks of those."""
        for number, limit in enumerate(limits):
            model, path = limit.downgrade, ("limits", number, "downgrade")
            if model is None:
                continue
            if model not in models:
                text = f"limits[{number}].downgrade: no model is named {model!r}.{parts.hint(model, models)}"
                self._report(path, text)
                continue
            own = [name for name in limit.agents or agents if model == find_model_name(name, agents)]
            if own and (limit.agents is not None or len(own) == len(agents)):
                text = f"limits[{number}].downgrade: {model!r} is the model of the agent {own[0]!r} already."
                self._report(path, text)

    def _check_sign_in(self, access: Access, server: Server, faces: list[Any]) -> None:
        if access.oidc is None:
            return
        path = ("access", "oidc")
        if server.public_url is None:
            text = "access.oidc: set `server.public_url`: the provider sends browsers back to an address below it."
            self._report(path, text)
        known = {face.get("type"): face.get("access") for face in faces if isinstance(face, dict)}
        if missing := [type for type in ("operator", "console") if type not in known]:
            self._report(path, f"access.oidc: people sign in to the console. Add the face `{missing[0]}` to `faces`.")
        if known.get("operator") == "open":
            text = "access.oidc: the face `operator` has `access: open`, so it needs no sign-in. Remove one of the two."
            self._report(path, text)
        for number, grant in enumerate(access.oidc.grants):
            self._check_scopes((*path, "grants", number, "scopes"), grant.scopes)

    def _check_scopes(self, path: KeyPath, scopes: Sequence[str]) -> None:
        known = self._names.get("agents", ())
        for number, scope in enumerate(scopes):
            agent = scope.partition(":")[2]
            if agent and agent != "*" and agent not in known:
                where = (*path, number)
                text = f"{problems.name(where)}: no agent is named {agent!r}.{parts.hint(agent, known)}"
                self._report(where, text)

    def _module(self, kind: PartKind, type: Any, path: KeyPath) -> ModuleType | None:
        if not isinstance(type, str):
            known = ", ".join(parts.names(kind))
            self._report(path, f"{problems.name(path)}.type is missing. Known: {known}.")
            return None
        try:
            module = parts.find(kind, type)
            parts.options(module)
        except ConfigError as error:
            self._report((*path, "type"), f"{problems.name(path)}.type: {error}")
            return None
        return module

    def _explain(self, error: ValidationError, options: type[BaseModel], path: KeyPath) -> None:
        for problem in problems.explain(error, options, self._document, path):
            self._add(problem)

    def _report(self, path: KeyPath, text: str) -> None:
        self._add(Problem(problems.nearest(self._document, path), text))

    def _add(self, problem: Problem) -> None:
        """Ignores problems that only follow from a value that could not be read."""
        if problem.place not in self._unreadable_places:
            self._document.problems.append(problem)
