"""Plugins as their authors see them: files, problems, drafts, dry runs and test cases.

A draft is a set of changed files that are laid over the files of a plugin. Nothing of it is stored.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.core.events import Event
from rightseat.core.model import Model
from rightseat.core.types import JsonValue
from rightseat.operations.flows import FlowGraph

DraftFiles = Mapping[str, str]
"""The changed files: text by path, relative to the plugin's folder, with slashes."""


class PluginNotFound(RightseatError):
    code = "plugin_not_found"
    status = 404

    def __init__(self, plugin: str) -> None:
        super().__init__(f"There is no plugin {plugin!r} in the folders of this server.")


class PluginFileNotFound(RightseatError):
    code = "plugin_file_not_found"
    status = 404

    def __init__(self, plugin: str, path: str) -> None:
        super().__init__(f"The plugin {plugin} has no file {path!r}.")


class PluginFileNotText(RightseatError):
    code = "plugin_file_not_text"
    status = 415

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is not a text in UTF-8, or too large to show.")


class PluginFileProtected(RightseatError):
    """The workbench may not change this path."""

    code = "plugin_file_protected"
    status = 403

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r} cannot be changed here: {reason}.")


class PluginFileChanged(RightseatError):
    code = "plugin_file_changed"
    status = 412

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed meanwhile. Read it again, and save what should remain.")


class PluginFileExists(RightseatError):
    code = "plugin_file_exists"
    status = 412

    def __init__(self, path: str) -> None:
        super().__init__(f"There is already a file {path}. Choose another name.")


class PluginExists(RightseatError):
    code = "plugin_exists"
    status = 409

    def __init__(self, plugin: str) -> None:
        super().__init__(f"There is already a plugin {plugin!r}. Choose another name.")


class PluginFolderMissing(RightseatError):
    code = "plugin_folder_missing"
    status = 409

    def __init__(self) -> None:
        super().__init__(
            "This server has no folder for new plugins. Name an existing folder that holds plugins in `folders` of a "
            "toolbox of the type `plugins`."
        )


class PluginHasErrors(RightseatError):
    code = "plugin_has_errors"
    status = 422

    def __init__(self, plugin: str, first: str) -> None:
        super().__init__(f"The plugin {plugin} would have errors. The first is: {first}")


class DraftTooSlow(RightseatError):
    code = "draft_too_slow"
    status = 503

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The plugin was not processed within {seconds:g} seconds. Try again, or make it smaller.")


class FlowNotRunnable(RightseatError):
    code = "flow_not_runnable"
    status = 400


class PluginProblem(msgspec.Struct, frozen=True):
    """`line` and `column` start at 1, and are 0 for a whole file. `suggestion` may replace `found` at that place."""

    code: str
    severity: str
    file: str
    line: int
    column: int
    message: str
    hint: str = ""
    found: str = ""
    suggestion: str = ""


class PluginFile(msgspec.Struct, frozen=True):
    """`editable`: the workbench may save it. Code in `lib` and files of other types are changed elsewhere."""

    path: str
    size: int
    editable: bool


class PrivateTarget(msgspec.Struct, frozen=True):
    """A `host:port` in a private network that the plugin requests, and whether the operator has confirmed it."""

    target: str
    allowed: bool


class PluginSecret(msgspec.Struct, frozen=True):
    """The name of a secret, never its value."""

    name: str
    is_set: bool = msgspec.field(name="set")


class PluginCode(msgspec.Struct, frozen=True):
    """The code in `lib`: whether the operator has allowed this digest."""

    digest: str
    allowed: bool


class PluginReport(msgspec.Struct, frozen=True):
    """A plugin as it was last loaded, and the files of its folder now.

    `state` is `active`; `outdated` if the folder has errors and an earlier version stays active; `broken` if no version
    could be loaded. `users` is None if every user may use the plugin.
    """

    id: str
    name: str
    version: str
    digest: str
    state: str
    contacts: tuple[str, ...]
    private: tuple[PrivateTarget, ...]
    secrets: tuple[PluginSecret, ...]
    users: tuple[str, ...] | None
    lib: PluginCode | None
    files: tuple[PluginFile, ...]
    problems: tuple[PluginProblem, ...]


class FileContent(msgspec.Struct, frozen=True):
    """`etag` is the SHA-256 of the content."""

    text: str
    etag: str
    editable: bool


class DraftReport(msgspec.Struct, frozen=True):
    """`flows` are the graphs of the flows that could be read, by file; empty if the draft has errors."""

    problems: tuple[PluginProblem, ...]
    flows: tuple["DraftFlow", ...]
    milliseconds: int


class DraftFlow(msgspec.Struct, frozen=True):
    """`file` is the path of the file that defines the flow; empty if it was made of an operation."""

    file: str
    graph: FlowGraph


class CaseOutcome(msgspec.Struct, frozen=True):
    """`differences` is empty if the case passed."""

    name: str
    passed: bool
    differences: tuple[str, ...] = ()


class DryAnswer(msgspec.Struct, frozen=True):
    """What a person answers to a question of a dry run."""

    status: Literal["resolved", "cancelled"]
    payload: JsonValue = None


class SavedFile(msgspec.Struct, frozen=True):
    """The file after it was saved, and the plugin after it was loaded anew."""

    etag: str
    plugin: PluginReport


class NewPlugin(msgspec.Struct, frozen=True):
    """`advice` names what is hard for a model in the OpenAPI document of the plugin."""

    plugin: PluginReport
    advice: tuple[str, ...] = ()


class PluginWorkbench(Protocol):
    """The plugins of one toolbox. Methods that name an unknown one raise `PluginNotFound`."""

    def has_plugin(self, plugin: str) -> bool: ...

    async def list_reports(self) -> Sequence[PluginReport]: ...

    async def report(self, plugin: str) -> PluginReport: ...

    async def read_file(self, plugin: str, path: str) -> FileContent:
        """Raises `PluginFileNotFound` and `PluginFileNotText`."""
        ...

    async def check(self, plugin: str, files: DraftFiles) -> DraftReport:
        """Load the draft from memory. Nothing of it is run. Raises `PluginFileProtected`."""
        ...

    def try_flow(
        self,
        plugin: str,
        files: DraftFiles,
        flow: str,
        question: str,
        user: Principal,
        model: Model | None = None,
        answers: Sequence[DryAnswer] = (),
    ) -> AsyncIterator[Event]:
        """A dry run: requests, queries and tools are not run; models are called. It goes on after each question for
        which it has an answer.

        Raises `PluginHasErrors`, and `FlowNotRunnable` if there is no such flow or its code is not allowed.
        """
        ...

    async def run_cases(self, plugin: str, files: DraftFiles) -> Sequence[CaseOutcome]:
        """Without a network and without a model. Raises an error with the code `bad_cases` if they cannot be read."""
        ...

    async def save_file(
        self, plugin: str, path: str, text: str, etag: str | None, *, allow_errors: bool = False
    ) -> SavedFile:
        """Write the file if it still has this `etag` (`*`: whatever it has), and load the plugin anew.

        Without an `etag` the file is new. Raises `PluginFileProtected`, `PluginFileNotFound`, `PluginFileChanged`,
        `PluginFileExists`, and `PluginHasErrors` without `allow_errors`.
        """
        ...

    def can_create(self) -> bool:
        """Whether there is a folder for new plugins. Reads the file system."""
        ...

    async def create_plugin(self, plugin: str, openapi: str | None = None) -> NewPlugin:
        """Create a plugin from an OpenAPI document, or a starter plugin, and load it.

        Raises `PluginExists`, `PluginFolderMissing`, `PluginHasErrors`, and an error with the code `not_a_document` for
        an id or a document that is invalid.
        """
        ...


@runtime_checkable
class SupportsWorkbench(Protocol):
    """A toolbox whose plugins can be edited."""

    @property
    def workbench(self) -> PluginWorkbench: ...
