"""The workbench over the plugins of one registry: reports, drafts, dry runs, test cases, saving.

Files are read and checked in other threads, at most `MAX_THREADS` at a time, within a time limit.
"""

import asyncio
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from rightseat.concurrency import aclosing
from rightseat.core.ask import Answer, Principal
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import ConfigError
from rightseat.core.events import Event, RunFinished
from rightseat.core.model import Model
from rightseat.egress.addresses import is_listed
from rightseat.egress.secrets import Secrets
from rightseat.operations.workbench import (
    CaseOutcome,
    DraftFiles,
    DraftFlow,
    DraftReport,
    DraftTooSlow,
    DryAnswer,
    FileContent,
    FlowNotRunnable,
    NewPlugin,
    PluginCode,
    PluginExists,
    PluginFile,
    PluginFileChanged,
    PluginFileExists,
    PluginFileNotFound,
    PluginFileNotText,
    PluginFileProtected,
    PluginFolderMissing,
    PluginHasErrors,
    PluginNotFound,
    PluginProblem,
    PluginReport,
    PluginSecret,
    PrivateTarget,
    SavedFile,
)
from rightseat.plugins import flows, testing
from rightseat.plugins.ask_scope import find_script_language
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.diagnostics import Diagnostic
from rightseat.plugins.diagrams import build_graph
from rightseat.plugins.flows import Dependencies
from rightseat.plugins.flows.checkpoint import FlowCheckpoint
from rightseat.plugins.folder_files import (
    check_editable,
    compute_etag,
    create_file,
    find_file,
    is_editable,
    replace_file,
)
from rightseat.plugins.loading.files import Files
from rightseat.plugins.packaging import advice, scaffold
from rightseat.plugins.packaging.install import PermissionSummary, summarize
from rightseat.plugins.registry import PluginRegistry
from rightseat.plugins.scope import Scope

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_THREADS = 2
MAX_SHOWN_BYTES = 1_000_000
CHECK_TIMEOUT_S = 20.0
CASES_TIMEOUT_S = 60.0
ANY_ETAG = "*"


@dataclass(frozen=True, slots=True)
class WorkbenchSettings:
    """What the operator has set for the plugins, each by plugin id. Plugins that `users` does not name are for all."""

    secrets: Secrets = field(default_factory=Secrets)
    allow_private: Mapping[str, Sequence[str]] = field(default_factory=dict)
    allowed_lib_digests: Collection[str] = ()
    users: Mapping[str, Sequence[str]] = field(default_factory=dict)
    window: int = 32_768


class Workbench:
    """`dependencies` builds the dependencies of a flow for a model; `model` is used where a dry run names none."""

    def __init__(
        self,
        registry: PluginRegistry,
        dependencies: Callable[[Model], Dependencies],
        model: Model,
        settings: WorkbenchSettings,
    ) -> None:
        self._registry = registry
        self._dependencies = dependencies
        self._model = model
        self._settings = settings
        self._threads = asyncio.Semaphore(MAX_THREADS)
        self._saving = asyncio.Lock()

    def has_plugin(self, plugin: str) -> bool:
        return plugin in self._registry.folders()

    async def list_reports(self) -> list[PluginReport]:
        return await self._in_thread(lambda: [self._report(*one) for one in self._registry.folders().items()])

    async def report(self, plugin: str) -> PluginReport:
        return await self._in_thread(lambda: self._report(plugin, self._folder(plugin)))

    async def read_file(self, plugin: str, path: str) -> FileContent:
        return await self._in_thread(lambda: self._read_file(plugin, path))

    async def check(self, plugin: str, files: DraftFiles) -> DraftReport:
        changed = encode_files(files)
        return await self._in_thread(lambda: self._check(plugin, changed))

    async def try_flow(
        self,
        plugin: str,
        files: DraftFiles,
        flow: str,
        question: str,
        user: Principal,
        model: Model | None = None,
        answers: Sequence[DryAnswer] = (),
    ) -> AsyncIterator[Event]:
        async with self._stored_draft(plugin, files) as draft:
            found = find_runnable_flow(draft, flow)
            dependencies = replace(self._dependencies(model or self._model), is_dry=True)
            scope = Scope(question, user=user, window=self._settings.window, language=find_script_language(question))
            checkpoint, answer = FlowCheckpoint(draft.identity, found.name, question), None
            for following in (*answers, None):
                asked = None
                source = flows.run(
                    draft, found, scope, dependencies, DirectSteps(), checkpoint=checkpoint, answer=answer
                )
                async with aclosing(source) as events:
                    async for event in events:
                        if isinstance(event, RunFinished) and event.interrupts and following is not None:
                            asked = event.interrupts[0]
                            break
                        yield event
                if asked is None or following is None:
                    return
                answer = Answer(asked.id, following.status, following.payload)

    async def run_cases(self, plugin: str, files: DraftFiles) -> list[CaseOutcome]:
        async with self._stored_draft(plugin, files) as draft:
            reports = await self._in_thread(
                lambda: asyncio.run(run_cases_in_time(draft, self._settings.allowed_lib_digests)), CASES_TIMEOUT_S + 1
            )
        return [CaseOutcome(one.name, one.passed, one.problems) for one in reports]

    async def save_file(
        self, plugin: str, path: str, text: str, etag: str | None, *, allow_errors: bool = False
    ) -> SavedFile:
        check_editable(path)
        changed = encode_files({path: text})
        async with self._saving:
            saved = await self._in_thread(lambda: self._save(plugin, path, changed, etag, allow_errors=allow_errors))
            await self._registry.reload(plugin)
        return SavedFile(saved, await self.report(plugin))

    def can_create(self) -> bool:
        return self._registry.find_parent() is not None

    async def create_plugin(self, plugin: str, openapi: str | None = None) -> NewPlugin:
        scaffold.check_id(plugin)
        async with self._saving:
            found = await self._in_thread(lambda: self._create(plugin, openapi))
            await self._registry.reload(plugin)
        return NewPlugin(await self.report(plugin), found)

    async def _in_thread(self, work: Callable[[], T], timeout_s: float = CHECK_TIMEOUT_S) -> T:
        """A thread that takes too long is not waited for; the limits of plugins bound its work."""
        try:
            async with asyncio.timeout(timeout_s), self._threads:
                return await asyncio.to_thread(work)
        except TimeoutError:
            raise DraftTooSlow(timeout_s) from None

    @asynccontextmanager
    async def _stored_draft(self, plugin: str, files: DraftFiles) -> AsyncIterator[Plugin]:
        """The draft, loaded from a temporary folder. Raises `PluginHasErrors`."""
        changed = encode_files(files)
        with tempfile.TemporaryDirectory() as folder:
            into = Path(folder) / plugin
            loaded = await self._in_thread(lambda: self._registry.store_draft(self._folder(plugin), changed, into))
            if loaded.plugin is None:
                raise PluginHasErrors(plugin, str(loaded.errors[0]))
            yield loaded.plugin

    # Everything below runs in a thread

    def _folder(self, plugin: str) -> Path:
        """Raises `PluginNotFound`."""
        found = self._registry.folders().get(plugin)
        if found is None:
            raise PluginNotFound(plugin)
        return found

    def _report(self, id: str, folder: Path) -> PluginReport:
        active, diagnostics = self._registry.plugins().get(id), self._registry.diagnostics(id)
        has_errors = any(one.severity == "error" for one in diagnostics)
        needs = PermissionSummary() if active is None else summarize(active, {})
        confirmed, users = self._settings.allow_private.get(id, ()), self._settings.users.get(id)
        return PluginReport(
            id,
            active.texts.name if active else id,
            active.identity.version if active else "",
            active.identity.digest if active else "",
            "broken" if active is None else "outdated" if has_errors else "active",
            needs.hosts,
            tuple(PrivateTarget(one, is_listed(one, confirmed)) for one in needs.private),
            tuple(PluginSecret(name, self._has_secret(name)) for name in needs.secrets),
            None if users is None else tuple(users),
            PluginCode(needs.lib, needs.lib in self._settings.allowed_lib_digests) if needs.lib else None,
            tuple(PluginFile(path, size, is_editable(path)) for path, size in self._list_files(folder)),
            tuple(describe_problem(one) for one in diagnostics),
        )

    def _list_files(self, folder: Path) -> list[tuple[str, int]]:
        try:
            return self._registry.list_files(folder)
        except OSError as error:
            logger.warning("The files of the plugin folder %s cannot be listed: %s", folder, error)
            return []

    def _has_secret(self, name: str) -> bool:
        try:
            return self._settings.secrets.has(name)
        except ConfigError as error:
            logger.warning("%s", error)
            return False

    def _read_file(self, plugin: str, path: str) -> FileContent:
        content = self._read_bytes(plugin, path)
        try:
            if len(content) > MAX_SHOWN_BYTES or b"\0" in content:
                raise PluginFileNotText(path)
            return FileContent(content.decode(), compute_etag(content), is_editable(path))
        except UnicodeDecodeError:
            raise PluginFileNotText(path) from None

    def _read_bytes(self, plugin: str, path: str) -> bytes:
        place = find_file(self._folder(plugin), path)
        if place is None:
            raise PluginFileNotFound(plugin, path)
        return place.read_bytes()

    def _check(self, plugin: str, changed: Files) -> DraftReport:
        began = time.monotonic()
        loaded = self._registry.load_draft(self._folder(plugin), changed)
        found = loaded.plugin
        graphs = [DraftFlow(one.file, build_graph(found, one)) for one in found.flows.values()] if found else []
        problems = tuple(describe_problem(one) for one in loaded.diagnostics)
        return DraftReport(problems, tuple(graphs), round((time.monotonic() - began) * 1000))

    def _save(self, plugin: str, path: str, changed: Files, etag: str | None, *, allow_errors: bool) -> str:
        folder = self._folder(plugin)
        self._check_etag(plugin, path, etag)
        loaded = self._registry.load_draft(folder, changed)
        if loaded.errors and not allow_errors:
            raise PluginHasErrors(plugin, str(loaded.errors[0]))
        try:
            if etag is None:
                create_file(folder, path, changed[path])
            else:
                replace_file(folder / path, changed[path])
        except FileExistsError:
            raise PluginFileExists(path) from None
        except OSError as error:
            raise PluginFileProtected(path, f"it cannot be written ({error.strerror})") from error
        return compute_etag(changed[path])

    def _check_etag(self, plugin: str, path: str, etag: str | None) -> None:
        if etag is None:
            if find_file(self._folder(plugin), path) is not None:
                raise PluginFileExists(path)
        elif etag not in (compute_etag(self._read_bytes(plugin, path)), ANY_ETAG):
            raise PluginFileChanged(path)

    def _create(self, plugin: str, openapi: str | None) -> tuple[str, ...]:
        """The advice about the OpenAPI document."""
        if plugin in self._registry.folders():  # first: a document of 20,000 operations takes seconds to read
            raise PluginExists(plugin)
        if openapi is None:
            draft = scaffold.create_blank(plugin)
        else:
            draft = scaffold.create_from_openapi(openapi.encode(errors="replace"), id=plugin)
        into, loaded = self._registry.find_parent(), self._registry.load_new(plugin, draft.files)
        if into is None:
            raise PluginFolderMissing
        if loaded.plugin is None:
            raise PluginHasErrors(plugin, str(loaded.errors[0]))
        try:
            scaffold.write(draft, into)
        except FileExistsError:
            raise PluginExists(plugin) from None
        except OSError as error:
            raise PluginFileProtected(plugin, f"the folder cannot be written ({error.strerror})") from error
        return tuple(advice.advise(loaded.plugin)) if openapi is not None else ()


def encode_files(files: DraftFiles) -> dict[str, bytes]:
    """Raises `PluginFileProtected` for a path that the workbench may not change."""
    for path in files:
        check_editable(path)
    return {path: text.encode(errors="replace") for path, text in files.items()}


def find_runnable_flow(plugin: Plugin, name: str) -> Flow:
    """Raises `FlowNotRunnable`."""
    flow = plugin.flow(name)
    if flow is None:
        raise FlowNotRunnable(f"The plugin has no flow {name!r}. Its flows: {', '.join(plugin.flows) or 'none'}.")
    if not flow.enabled:
        raise FlowNotRunnable(f"The flow {name} needs the code in lib: allow its digest {plugin.lib}.")
    return flow


def describe_problem(one: Diagnostic) -> PluginProblem:
    found, suggestion = (one.replacement.found, one.replacement.text) if one.replacement else ("", "")
    return PluginProblem(
        one.code, one.severity, one.file, one.line, one.column, one.message, one.hint, found, suggestion
    )


async def run_cases_in_time(plugin: Plugin, allowed_lib_digests: Collection[str]) -> list[testing.CaseReport]:
    async with asyncio.timeout(CASES_TIMEOUT_S):
        return await testing.run_plugin(plugin, allowed_lib_digests)
