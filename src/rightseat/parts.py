"""Finds the Python module that implements a `type` in the configuration.

A part is a module with `Options` (pydantic, `extra="forbid"`, frozen) and one function:

    models, logs, stores, engines    build(options) -> Model, Log, Threads, Engine; build(options, parts) for a model
                                     that is built from other models
    toolboxes, agents, guards        build(options, parts) -> Toolbox, Agent, Guard
    faces                            routes(runtime, options, auth) -> APIRouter, every route protected by `auth`

A face receives what its `routes` has further parameters for: `operations` (what operators see of all users),
`own_threads` (a search of one's own threads), `usage`, `feedback`, `memories`, `own_server`, `fingerprint`. No other
face can reach them.

Optional functions:

    models               explain(options) -> AsyncIterator[str]: lines that `rightseat check` prints
    models, toolboxes    warn(options) -> Iterator[str]: warnings that `rightseat check` prints; `rightseat serve` also
                         prints those of models
    faces                toolbox(options) -> Toolbox: tools for all agents, in asks that came through the face;
                         `routes` then receives this toolbox as its fourth argument
    faces                allowed_origins(options) -> access.origins.AllowedOrigins: the web pages that may call its
                         routes, beside the server's
    faces                refuse_path(method, path, status, options) -> Response: the response for a path below its own
                         (404), or a method (405), that no route serves
    faces                user_records(options) -> operations.users.UserRecords | None: what it stores about users
    stores               `store()` of the built threads -> operations.store.Store: what it stores beside them
    stores               build_beside(options) -> operations.users.UserStore, for commands that use it while servers run

`type: openai` of a model is the module `rightseat.models.openai`; `type: acme.groq` is the module `acme.groq`; any
other name without a dot is an entry point of another package, in the group `rightseat.models`.

A part that is built from others never imports them. Its options name them, as a `ModelName`, a `ToolboxName`, an
`AgentName` or a `Reference`, so that an unknown name is an error in the configuration; `Parts` returns them. Options
with such a name as a default set `validate_default=True`, because the name may not be configured.
"""

import ast
import difflib
import importlib
import importlib.util
import inspect
import os
import pkgutil
import stat
import traceback
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ValidationInfo
from pydantic_core import PydanticCustomError

from rightseat.core.agent import Agent
from rightseat.core.artifacts import Artifacts
from rightseat.core.errors import ConfigError
from rightseat.core.model import Model
from rightseat.core.tools import Toolbox
from rightseat.installation import install_command
from rightseat.operations.own_memories import OwnMemories
from rightseat.operations.pins import PinStore
from rightseat.operations.secret_uses import SecretUseStore

H = TypeVar("H")
PartKind = Literal["models", "toolboxes", "agents", "guards", "faces", "logs", "stores", "engines"]

NOUNS: dict[str, str] = {
    "models": "model",
    "toolboxes": "toolbox",
    "agents": "agent",
    "guards": "guard",
    "faces": "face",
    "logs": "log",
    "stores": "store",
    "engines": "engine",
}


class Parts(Protocol):
    """Returns the configured parts to a part that is built from others."""

    @property
    def artifacts(self) -> Artifacts:
        """The store for files and charts of runs."""
        ...

    @property
    def pins(self) -> PinStore | None:
        """The store for pins that several servers share; None if each server has its own pins."""
        ...

    @property
    def secret_uses(self) -> SecretUseStore | None:
        """The store for recorded uses of secrets that several servers share; None if each server has its own."""
        ...

    @property
    def memories(self) -> OwnMemories | None:
        """What users have memories in; None where there are no users, as in evaluations."""
        ...

    def model(self, name: str) -> Model:
        """The model with that name in the configuration."""
        ...

    def toolbox(self, name: str) -> Toolbox:
        """The toolbox with that name in the configuration."""
        ...

    def toolboxes(self, references: Iterable[str]) -> Sequence[Toolbox]:
        """The tools that the application adds to all agents, then the referenced toolboxes."""
        ...

    def agent(self, name: str) -> Agent:
        """The agent with that name in the configuration. Its description is available once all agents are built."""
        ...


def find(kind: PartKind, name: str) -> ModuleType:
    """The module of a part. Raises `ConfigError` if there is none, or if a package that it needs is not installed."""
    example = _example(kind, name)
    if "." in name and not example:
        return _import(name, f"The {NOUNS[kind]} {name!r}")
    if name in _modules(kind):
        module = _import(f"rightseat.{kind}.{name}", f"The {NOUNS[kind]} {name!r}", extra=name)
        if is_part(module):
            return module
    for entry in metadata.entry_points(group=f"rightseat.{kind}", name=name):
        return _import(entry.module, f"The {NOUNS[kind]} {name!r}")
    known = names(kind)
    cure = example or hint(name, known)
    raise ConfigError(f"There is no {NOUNS[kind]} of type {name!r}.{cure} Known: {', '.join(known)}.")


def _example(kind: PartKind, name: str) -> str:
    """` Write …` for the name of a product that a part of another type serves, else nothing."""
    examples: Mapping[str, str] = getattr(importlib.import_module(f"rightseat.{kind}"), "EXAMPLES", {})
    example = examples.get(name.lower().replace("_", ""))
    return f" Write {example}." if example else ""


def names(kind: PartKind) -> list[str]:
    """The names of all parts of this kind, built in or from other packages."""
    entries = {entry.name for entry in metadata.entry_points(group=f"rightseat.{kind}")}
    return sorted(entries.union(builtin(kind)))


def builtin(kind: PartKind) -> list[str]:
    """The names of the built-in parts, without other modules in their package."""
    return sorted(name for name in _modules(kind) if _may_be_a_part(f"rightseat.{kind}.{name}"))


def options(module: ModuleType) -> type[BaseModel]:
    """The class of a part's options."""
    if not is_part(module):
        raise ConfigError(f"The module {module.__name__!r} is not a part: it has no `Options`.")
    found: type[BaseModel] = module.Options
    return found


def is_part(module: ModuleType) -> bool:
    found = getattr(module, "Options", None)
    return isinstance(found, type) and issubclass(found, BaseModel)


def load(reference: str) -> Any:
    """Import the object that `module:name` refers to. Raises `ConfigError`."""
    path, _, name = reference.partition(":")
    if not path or not name:
        raise ConfigError(f"{reference!r} cannot be imported. Write it as 'module:name'.")
    module = _import(path, repr(reference))
    try:
        return getattr(module, name)
    except AttributeError:
        public = [known for known in vars(module) if not known.startswith("_")]
        raise ConfigError(f"The module {path!r} has no {name!r}.{hint(name, public)}") from None


def require_async(hook: H) -> H:
    """Hooks are awaited, so a function that is not async is an error before the first request."""
    given: Any = hook
    if not callable(given) or (inspect.isroutine(given) and not inspect.iscoroutinefunction(given)):
        raise ConfigError(f"The hook {getattr(hook, '__name__', hook)!r} should be an async function.")
    return hook


def hint(name: str, known: Iterable[str]) -> str:
    """` Did you mean …?`, or nothing."""
    found = find_closest(name, known)
    return f" Did you mean {found!r}?" if found else ""


def find_closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled most alike, if one is similar enough."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def _modules(kind: PartKind) -> list[str]:
    """The names of the modules in `rightseat.<kind>`, without importing them."""
    try:
        package = importlib.import_module(f"rightseat.{kind}")
    except ModuleNotFoundError:
        return []
    return [module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")]


def _may_be_a_part(path: str) -> bool:
    try:
        return is_part(importlib.import_module(path))
    except ImportError:  # a package is missing, which `find` reports
        return _has_options_in_source(path)


def _has_options_in_source(path: str) -> bool:
    spec = importlib.util.find_spec(path)
    if spec is None or spec.origin is None:
        return False
    for statement in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        match statement:
            case ast.ClassDef(name="Options"):
                return True
            case ast.ImportFrom(names=names) if any((name.asname or name.name) == "Options" for name in names):
                return True
    return False


def _import(path: str, what: str, extra: str | None = None) -> ModuleType:
    if not all(name.isidentifier() for name in path.split(".")):
        raise ConfigError(f"{what} cannot be found: {path!r} is not the name of a module.")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        missing = error.name or path
        if f"{path}.".startswith(f"{missing}."):
            places = "It should be beside the configuration, or installed."
            raise ConfigError(f"{what} cannot be found: there is no module {missing!r}. {places}") from error
        raise ConfigError(f"{what} needs a package that is not installed: {_advice(missing, extra)}") from error
    except Exception as error:  # imported code may raise any exception
        raise ConfigError(f"{what} cannot be imported: {_failure(error, path)}") from error


def _failure(error: Exception, path: str) -> str:
    """`…/tools.py:3: ValueError: …`: the last executed line of the module itself, or the line with the syntax error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    spec = importlib.util.find_spec(path)
    own = [frame for frame in frames if spec is not None and frame.filename == spec.origin]
    last = (own or frames)[-1]
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"


def _advice(missing: str, extra: str | None) -> str:
    ours = metadata.metadata("rightseat").get_all("Provides-Extra") or []
    if extra is not None and extra in ours:
        return install_command(extra)
    return f"pip install {missing.partition('.')[0]}"


def _known(kind: PartKind) -> AfterValidator:
    """Checks that the name is configured, if a configuration file is being read."""

    def check(name: str, info: ValidationInfo) -> str:
        known: Sequence[str] | None = (info.context or {}).get(kind)
        if known is not None and name not in known:
            listed = ", ".join(sorted(known)) or "none"
            text = f"no {NOUNS[kind]} is named {name!r}.{hint(name, known)} Configured: {listed}."
            raise PydanticCustomError("unknown_name", "{text}", {"text": text})
        return name

    return AfterValidator(check)


def _check_reference(reference: str, info: ValidationInfo) -> str:
    if info.context is not None:
        try:
            load(reference)
        except ConfigError as error:
            raise PydanticCustomError("bad_reference", "{text}", {"text": error.message}) from error
    return reference


ModelName = Annotated[str, _known("models")]
"""The name of a model in the configuration."""

ToolboxName = Annotated[str, _known("toolboxes")]
"""The name of a toolbox in the configuration."""

AgentName = Annotated[str, _known("agents")]
"""The name of an agent in the configuration."""

Reference = Annotated[str, AfterValidator(_check_reference)]
"""A Python object, as `module:name`."""


def _in_state_folder(path: Path, info: ValidationInfo) -> Path:
    folder: Path = (info.context or {}).get("state", Path())
    return folder / path


StatePath = Annotated[Path, AfterValidator(_in_state_folder)]
"""A file of the server: a relative path is relative to `server.state_dir`. Options with a default for it set
`validate_default=True`."""


def _beside_the_file(path: Path, info: ValidationInfo) -> Path:
    folder: Path = (info.context or {}).get("folder", Path())
    return folder / path.expanduser()


BesidePath = Annotated[Path, AfterValidator(_beside_the_file)]
"""A file of the operator: a relative path is relative to the folder of the configuration."""


def private_folder(path: Path) -> None:
    """Create the folder if it is missing. It holds conversations, so only this user can read it, and git ignores it."""
    if path.exists():
        return
    try:
        for folder in reversed([path, *(one for one in path.parents if not one.exists())]):
            folder.mkdir(mode=0o700, exist_ok=True)  # `parents=True` would create the parents with the umask
        private_file(path / ".gitignore")
        (path / ".gitignore").write_text("*\n")
    except OSError as error:
        raise ConfigError(
            f"Cannot create the folder {path}: {error.strerror}. Make its parent writable and free some space, or set "
            "another folder in `server.state_dir`."
        ) from error


def private_file(path: Path) -> None:
    """Create the file if it is missing. Only this user can read it, regardless of the umask and the folder.

    An existing file is not opened: closing it would release the locks that SQLite holds on it in this process, and
    another process could then delete the write-ahead log.
    """
    try:
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)
    except PermissionError as error:
        if not path.exists():
            raise ConfigError(
                f"Cannot create the file {path}: {error.strerror}. Free some space, or set another folder in "
                "`server.state_dir`."
            ) from error
        # The file belongs to another user: its permissions stay as they are.
    except OSError as error:
        raise ConfigError(
            f"Cannot create the file {path}: {error.strerror}. Free some space, or set another folder in "
            "`server.state_dir`."
        ) from error
