"""A name in the configuration → the module that does it.

A part is a module that offers `Options` (pydantic, `extra="forbid"`, frozen) and one function:

    models, logs, stores, engines    build(options) -> Model, Log, Threads, Engine; build(options, parts) for a model
                                     that is built from other models
    toolboxes, agents, guards        build(options, parts) -> Toolbox, Agent, Guard
    faces                            routes(runtime, options, door) -> APIRouter, every route behind the door

A model may offer `explain(options) -> AsyncIterator[str]` besides: lines that `rightseat check` shows of it.
A model or a toolbox may offer `warn(options) -> Iterator[str]`: what `rightseat check` warns of, though it can be
served; `rightseat serve` warns of the models' too.
A face may offer more. `toolbox(options) -> Toolbox`: tools that all agents get, for asks that came through it;
`routes` then gets that toolbox as its fourth argument. `pages(options) -> access.pages.Pages`: web pages that may call
its routes, beside those that the server lets in everywhere. `user_records(options) -> core.users.UserRecords | None`:
what it keeps of users. A store may offer `build_beside(options) -> core.users.UserStore`, for commands that work on it
while servers run.

`type: openai` under a model is `rightseat.models.openai`; `type: acme.groq` is imported as it stands; a name without a
dot that we do not have may be an entry point of another package, in the group `rightseat.models`.

A part that is built from others never imports them. It names them in its options, as a `ModelName`, a `ToolboxName`, an
`AgentName` or a `Reference`, so that a wrong name is found when the configuration is read; and it gets them from
`Parts`. Options with such a name as a default set `validate_default=True`, because the name may not be configured.
"""

import difflib
import importlib
import importlib.util
import inspect
import os
import pkgutil
import stat
import traceback
from collections.abc import Iterable, Sequence
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
from rightseat.core.pins import PinStore
from rightseat.core.tools import Toolbox

H = TypeVar("H")
Kind = Literal["models", "toolboxes", "agents", "guards", "faces", "logs", "stores", "engines"]

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
    """What a part that is built from others may ask for."""

    @property
    def artifacts(self) -> Artifacts:
        """Where files and charts are kept that its runs make."""
        ...

    @property
    def pins(self) -> PinStore | None:
        """Where pins are kept that several servers share; None where each keeps its own."""
        ...

    def model(self, name: str) -> Model:
        """The model with that name in the configuration."""
        ...

    def toolbox(self, name: str) -> Toolbox:
        """The toolbox with that name in the configuration."""
        ...

    def toolboxes(self, references: Iterable[str]) -> Sequence[Toolbox]:
        """Those that are named, behind the tools that the application gives to all of its agents."""
        ...

    def agent(self, name: str) -> Agent:
        """The agent with that name in the configuration. It can be asked for its description once all are built."""
        ...


def find(kind: Kind, name: str) -> ModuleType:
    """The module of a part. Raises `ConfigError`: there is none, or a package that it needs is not installed."""
    if "." in name:
        return _import(name, f"The {NOUNS[kind]} {name!r}")
    if name in _modules(kind):
        module = _import(f"rightseat.{kind}.{name}", f"The {NOUNS[kind]} {name!r}", extra=name)
        if is_part(module):
            return module
    for entry in metadata.entry_points(group=f"rightseat.{kind}", name=name):
        return _import(entry.module, f"The {NOUNS[kind]} {name!r}")
    known = names(kind)
    raise ConfigError(f"There is no {NOUNS[kind]} of type {name!r}.{hint(name, known)} Known: {', '.join(known)}.")


def names(kind: Kind) -> list[str]:
    """Every name of a part that can be used here, ours and those of other packages."""
    entries = {entry.name for entry in metadata.entry_points(group=f"rightseat.{kind}")}
    return sorted(entries.union(builtin(kind)))


def builtin(kind: Kind) -> list[str]:
    """The names of our own parts. Modules beside them that are no parts are left out."""
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
    """What a `module:name` of the configuration names. Raises `ConfigError`."""
    path, _, name = reference.partition(":")
    if not path or not name:
        raise ConfigError(f"{reference!r} does not say what to import. It should look like 'module:name'.")
    module = _import(path, repr(reference))
    try:
        return getattr(module, name)
    except AttributeError:
        public = [known for known in vars(module) if not known.startswith("_")]
        raise ConfigError(f"The module {path!r} has no {name!r}.{hint(name, public)}") from None


def require_async(hook: H) -> H:
    """A hook is awaited. A function that cannot be is refused before the first request."""
    given: Any = hook
    if not callable(given) or (inspect.isroutine(given) and not inspect.iscoroutinefunction(given)):
        raise ConfigError(f"The hook {getattr(hook, '__name__', hook)!r} should be an async function.")
    return hook


def hint(name: str, known: Iterable[str]) -> str:
    """` Did you mean …?`, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _modules(kind: Kind) -> list[str]:
    """The modules of `rightseat.<kind>`, not imported."""
    try:
        package = importlib.import_module(f"rightseat.{kind}")
    except ModuleNotFoundError:
        return []
    return [module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")]


def _may_be_a_part(path: str) -> bool:
    try:
        return is_part(importlib.import_module(path))
    except ImportError:
        return True  # a package is missing, as `find` will say


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
    except Exception as error:  # it is somebody's code: anything can be wrong with it
        raise ConfigError(f"{what} cannot be imported: {_failure(error, path)}") from error


def _failure(error: Exception, path: str) -> str:
    """`…/tools.py:3: ValueError: …`, with the last line of the module itself that was run, or that is no Python."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    spec = importlib.util.find_spec(path)
    own = [frame for frame in frames if spec is not None and frame.filename == spec.origin]
    last = (own or frames)[-1]
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"


def _advice(missing: str, extra: str | None) -> str:
    ours = metadata.metadata("rightseat").get_all("Provides-Extra") or []
    package = f"'rightseat[{extra}]'" if extra in ours else missing.partition(".")[0]
    return f"pip install {package}"


def _known(kind: Kind) -> AfterValidator:
    """Checks a name against those that the file configures, where a file is being read."""

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
"""A file of ours: a relative path is one in the folder `server.state`. Options with a default for it set
`validate_default=True`."""


def _beside_the_file(path: Path, info: ValidationInfo) -> Path:
    folder: Path = (info.context or {}).get("folder", Path())
    return folder / path.expanduser()


BesidePath = Annotated[Path, AfterValidator(_beside_the_file)]
"""A file of the operator's: a relative path is one beside the configuration."""


def private_folder(path: Path) -> None:
    """Make the folder if it is not there: for this user alone, and kept out of git. There are conversations in it."""
    if path.exists():
        return
    try:
        for folder in reversed([path, *(one for one in path.parents if not one.exists())]):
            folder.mkdir(mode=0o700, exist_ok=True)  # `parents=True` would make those above by the umask
        private_file(path / ".gitignore")
        (path / ".gitignore").write_text("*\n")
    except OSError as error:
        raise ConfigError(f"The folder {path} cannot be made: {error.strerror}.") from error


def private_file(path: Path) -> None:
    """Make the file if it is not there, and let nobody but this user read it, whatever the umask and its folder say."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            if os.name == "posix" and stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
                os.fchmod(handle, 0o600)
        finally:
            os.close(handle)
    except PermissionError as error:
        if not path.exists():
            raise ConfigError(f"The file {path} cannot be made: {error.strerror}.") from error
        # It is another user's, who decides who may read it.
    except OSError as error:
        raise ConfigError(f"The file {path} cannot be made: {error.strerror}.") from error
