"""A file → `Config`, or every problem in it at once."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from types import ModuleType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from rightseat import parts
from rightseat.config import document as documents
from rightseat.config import problems
from rightseat.config.access import Access, FaceAccess
from rightseat.config.document import Document, Path, Problem
from rightseat.config.shape import (
    DEFAULT_TYPES,
    Config,
    File,
    Part,
    default_agents,
    default_faces,
    default_models,
)
from rightseat.core.errors import ConfigError
from rightseat.parts import Kind

FILE = "rightseat.yaml"
IN_MEMORY = "{log: {type: memory}, threads: {type: memory}}"


def find(path: FilePath | None, environ: Mapping[str, str] | None = None) -> Config:
    """The file at `path`; without one, `rightseat.yaml` of this folder; without that, what a first start needs."""
    if path is not None:
        return read(path, environ)
    here = FilePath(FILE)
    return read(here, environ) if here.exists() else parse("", environ=environ)


def read(path: FilePath, environ: Mapping[str, str] | None = None) -> Config:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"There is no file {path}. `rightseat init` writes a {FILE}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return parse(text, path, environ)


def parse(text: str, path: FilePath | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Raises `ConfigError` with a line for each problem: `file:line:column: what is wrong`."""
    environ = os.environ if environ is None else environ
    try:
        document = documents.load(text, environ)
        config = _Reading(document, environ).config(path)
    except documents.Refused as refused:
        raise ConfigError(_line(path, refused.problem)) from refused
    if document.problems:
        raise ConfigError("\n".join(_line(path, problem) for problem in sorted(document.problems)))
    return config


def has_openai_key() -> bool:
    """Is there a key that a first configuration can use?"""
    return bool(os.environ.get("OPENAI_API_KEY"))


def in_memory(config: Config) -> Config:
    """The same, keeping nothing: for one question, beside a server that has the files."""
    plain = parse(IN_MEMORY, environ={})
    return replace(config, log=plain.log, threads=plain.threads)


def beside(access: Access, path: FilePath | None) -> Access:
    """With the file of an issuer's keys as one beside the configuration, unless its path is absolute."""
    if access.jwt is None or path is None or "://" in access.jwt.jwks:
        return access
    jwt = access.jwt.model_copy(update={"jwks": str(path.parent / access.jwt.jwks)})
    return access.model_copy(update={"jwt": jwt})


def _line(path: FilePath | None, problem: Problem) -> str:
    return f"{path or FILE}:{problem.place.line}:{problem.place.column}: {problem.text}"


BROKEN = Part("models", "", ModuleType("broken"), File())
"""Stands for a part that cannot be read. Nobody gets to see it: there is a problem, and that is raised instead."""


class _Reading:
    """Reads one document. What is wrong goes to the document's problems, and the reading goes on."""

    def __init__(self, document: Document, environ: Mapping[str, str]) -> None:
        self._document = document
        self._environ = environ
        self._names: dict[str, list[str]] = {}
        self._state = self._folder = FilePath()
        self._unread = {problem.place for problem in document.problems}

    def config(self, path: FilePath | None) -> Config:
        top, broken = self._top()
        models = top.models or default_models(self._environ)
        agents = top.agents or default_agents(models)
        faces = top.faces or default_faces(agents)
        known = {"models": list(models), "toolboxes": list(top.toolboxes), "agents": list(agents)}
        self._names = {kind: names for kind, names in known.items() if kind not in broken}
        self._folder = path.parent if path else FilePath()
        self._state = self._folder / top.server.state
        if not broken:
            self._check_access(top.access, faces)
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
            access=beside(top.access, path),
            telemetry=top.telemetry,
            path=path,
        )

    def _top(self) -> tuple[File, set[str]]:
        """The sections of the file, and which of them are so wrong that they are left out."""
        value = {} if self._document.value is None else self._document.value
        if not isinstance(value, dict):
            self._complain((), "the file should be a mapping with keys like models, agents, faces.")
            return File(), set(File.model_fields)
        said = {key: part for key, part in value.items() if part is not None or key not in File.model_fields}
        try:
            return File.model_validate(said, context={}), set()
        except ValidationError as error:
            self._explain(error, File, ())
            broken = {str(detail["loc"][0]) for detail in error.errors()}
            return File.model_validate({key: said[key] for key in said.keys() - broken}, context={}), broken

    def _part(self, kind: Kind, spec: Any, path: Path) -> Part:
        spec = {} if spec is None else spec
        if not isinstance(spec, dict):
            self._complain(path, f"{problems.name(path)} should be a mapping like {{type: …}}.")
            return BROKEN
        module = self._module(kind, spec.get("type", DEFAULT_TYPES.get(kind)), path)
        if module is None:
            return BROKEN
        options = parts.options(module)
        try:
            ours = ("type", "access") if kind == "faces" else ("type",)
            said = {key: value for key, value in spec.items() if key not in ours}
            checked = options.model_validate(said, context=self._context())
        except ValidationError as error:
            self._explain(error, options, path)
            return BROKEN
        access = spec.get("access") if kind == "faces" else None
        return Part(kind, spec.get("type") or DEFAULT_TYPES[kind], module, checked, access)

    def _context(self) -> dict[str, Any]:
        """What options may look at beside what is said of them: the validators in `parts` do."""
        return {**self._names, "state": self._state, "folder": self._folder}

    def _check_access(self, access: Access, faces: list[Any]) -> None:
        """What the options cannot see by themselves: what other sections say."""
        for number, face in enumerate(faces):
            asked = face.get("access") if isinstance(face, dict) else None
            if asked not in (None, *get_args(FaceAccess)):
                self._complain(("faces", number, "access"), f"faces[{number}].access: should be 'open' or 'keys'.")
            if asked == "keys" and not access.is_set:
                text = f"faces[{number}].access: there are no keys. `rightseat keys new NAME` makes one."
                self._complain(("faces", number, "access"), text)
        for number, key in enumerate(access.keys):
            self._check_scopes(("access", "keys", number, "scopes"), key.scopes)
        if access.jwt is not None:
            self._check_scopes(("access", "jwt", "scopes"), access.jwt.scopes)

    def _check_scopes(self, path: Path, scopes: Sequence[str]) -> None:
        known = self._names.get("agents", ())
        for number, scope in enumerate(scopes):
            agent = scope.partition(":")[2]
            if agent and agent != "*" and agent not in known:
                where = (*path, number)
                text = f"{problems.name(where)}: no agent is named {agent!r}.{parts.hint(agent, known)}"
                self._complain(where, text)

    def _module(self, kind: Kind, type: Any, path: Path) -> ModuleType | None:
        if not isinstance(type, str):
            known = ", ".join(parts.names(kind))
            self._complain(path, f"{problems.name(path)}.type should say what it is. Known: {known}.")
            return None
        try:
            module = parts.find(kind, type)
            parts.options(module)
        except ConfigError as error:
            self._complain((*path, "type"), f"{problems.name(path)}.type: {error}")
            return None
        return module

    def _explain(self, error: ValidationError, options: type[BaseModel], path: Path) -> None:
        for problem in problems.explain(error, options, self._document, path):
            self._add(problem)

    def _complain(self, path: Path, text: str) -> None:
        self._add(Problem(problems.nearest(self._document, path), text))

    def _add(self, problem: Problem) -> None:
        """Not where the value itself could not be read: what follows from that helps nobody."""
        if problem.place not in self._unread:
            self._document.problems.append(problem)
