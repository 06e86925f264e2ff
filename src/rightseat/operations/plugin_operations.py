"""The plugins of a server, for operators: reports, files, drafts, dry runs, test cases and saving.

Plugins are not divided by agent, so the rights must be for all agents.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from rightseat.core.events import Event
from rightseat.core.model import Model
from rightseat.operations.activity import Activity, PluginActivity
from rightseat.operations.audit_lines import write_line
from rightseat.operations.rights import Operator, forbid
from rightseat.operations.workbench import (
    CaseOutcome,
    DraftFiles,
    DraftReport,
    DryAnswer,
    FileContent,
    NewPlugin,
    PluginExists,
    PluginFolderMissing,
    PluginNotFound,
    PluginReport,
    PluginWorkbench,
    SavedFile,
)

MAX_ID_CHARS = 100


class PluginOperations:
    """Every method raises `InsufficientScope`, and `PluginNotFound` for an unknown plugin."""

    def __init__(self, workbenches: Sequence[PluginWorkbench], activity: Activity) -> None:
        self._workbenches = workbenches
        self._activity = activity

    async def list_reports(self, operator: Operator) -> Sequence[PluginReport]:
        check_watching(operator)
        found: dict[str, PluginReport] = {}
        for workbench in self._workbenches:
            for report in await workbench.list_reports():
                found.setdefault(report.id, report)
        return [found[id] for id in sorted(found)]

    async def report(self, operator: Operator, plugin: str) -> PluginReport:
        check_watching(operator)
        return await (await self._find(plugin)).report(plugin)

    async def read_file(self, operator: Operator, plugin: str, path: str) -> FileContent:
        operator.check_all("author")
        return await (await self._find(plugin)).read_file(plugin, path)

    async def check(self, operator: Operator, plugin: str, files: DraftFiles) -> DraftReport:
        operator.check_all("author")
        return await (await self._find(plugin)).check(plugin, files)

    async def run_cases(self, operator: Operator, plugin: str, files: DraftFiles) -> Sequence[CaseOutcome]:
        operator.check_all("author")
        return await (await self._find(plugin)).run_cases(plugin, files)

    async def try_flow(
        self,
        operator: Operator,
        plugin: str,
        files: DraftFiles,
        flow: str,
        question: str,
        model: Model | None = None,
        answers: Sequence[DryAnswer] = (),
    ) -> AsyncIterator[Event]:
        operator.check_all("author")
        workbench = await self._find(plugin)
        return workbench.try_flow(plugin, files, flow, question, operator.principal, model, answers)

    async def save_file(
        self, operator: Operator, plugin: str, path: str, text: str, etag: str | None, *, allow_errors: bool = False
    ) -> SavedFile:
        operator.check_all("author")
        saved = await (await self._find(plugin)).save_file(plugin, path, text, etag, allow_errors=allow_errors)
        write_line("%s saved %s of plugin %s", operator.id, path, plugin)
        self._announce(saved.plugin)
        return saved

    async def create_plugin(self, operator: Operator, plugin: str, openapi: str | None = None) -> NewPlugin:
        operator.check_all("author")
        if await self._locate(plugin.lower()) is not None:
            raise PluginExists(plugin)
        for workbench in self._workbenches:
            if await asyncio.to_thread(workbench.can_create):
                created = await workbench.create_plugin(plugin, openapi)
                write_line("%s created plugin %s", operator.id, created.plugin.id)
                self._announce(created.plugin)
                return created
        raise PluginFolderMissing

    def _announce(self, report: PluginReport) -> None:
        self._activity.change_plugin(PluginActivity(report.id, report.digest, len(report.problems)))

    async def _find(self, plugin: str) -> PluginWorkbench:
        found = await self._locate(plugin)
        if found is None:
            raise PluginNotFound(plugin[:MAX_ID_CHARS])
        return found

    async def _locate(self, plugin: str) -> PluginWorkbench | None:
        for workbench in self._workbenches:
            if await asyncio.to_thread(workbench.has_plugin, plugin):
                return workbench
        return None


def check_watching(operator: Operator) -> None:
    """Authors see the same as watchers. Raises `InsufficientScope`."""
    if operator.rights.watch is not None and operator.rights.author is not None:
        forbid("watch", "*")
