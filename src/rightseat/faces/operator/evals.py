"""Pins a run as a case of a dataset, lists the cases, and runs a run again with changes."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from starlette.responses import Response

from rightseat.core.ask import includes_agent
from rightseat.core.errors import NotConfigured
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.faces.operator.reruns import RerunResponse
from rightseat.operations.evals import CaseRequest, CaseRules, DatasetLine, Evals
from rightseat.operations.reruns import RunChanges
from rightseat.operations.rights import OperatorNotFound, forbid
from rightseat.operations.service import Operations


class DatasetList(msgspec.Struct, frozen=True):
    datasets: Sequence[DatasetLine]
    rules: CaseRules


class EvalRoutes:
    def __init__(self, operations: Operations, evals: Callable[[], Evals | None] | None) -> None:
        self._operations = operations
        self._find_evals = evals

    def routes(self) -> Routes:
        return {
            ("POST", "runs/{run}/pin"): self.pin,
            ("GET", "runs/{run}/rerun"): self.describe_rerun,
            ("POST", "runs/{run}/rerun"): self.rerun,
            ("GET", "evals"): self.list,
        }

    @property
    def _evals(self) -> Evals:
        evals = self._find_evals() if self._find_evals is not None else None
        if evals is None:
            raise NotConfigured("The configured store of threads has no recordings. Use `threads: {type: sql}`.")
        return evals

    async def pin(self, request: OperatorRequest) -> Response:
        """Needs the right to author for the agent, and to read the text of the run."""
        run, _ = await self._check_author(request)
        wanted = request.read(CaseRequest)
        return json_response(await self._evals.pin(run, wanted), 200 if wanted.preview else 201)

    async def describe_rerun(self, request: OperatorRequest) -> Response:
        """What can be changed. Needs the rights of `rerun`."""
        run = await self._check_rerun(request)
        return json_response(await self._evals.describe_rerun(run))

    async def rerun(self, request: OperatorRequest) -> Response:
        """Needs the rights to author and to read for the agent, also for one's own run: the events have instructions,
        and the operator pays for model calls that no limit of its user counts."""
        run = await self._check_rerun(request)
        changes = request.read(RunChanges)
        return RerunResponse(await self._evals.start_rerun(run, changes, request.operator.id))

    async def _check_rerun(self, request: OperatorRequest) -> str:
        run, agent = await self._check_author(request)
        if not includes_agent(request.rights.read, agent):
            forbid("read", agent)
        return run

    async def _check_author(self, request: OperatorRequest) -> tuple[str, str]:
        """The run and its agent."""
        run = request.id("run")
        agent = await self._find_agent(request, run)
        if not includes_agent(request.rights.author, agent):
            forbid("author", agent)
        return run, agent

    async def _find_agent(self, request: OperatorRequest, run: str) -> str:
        with suppress(OperatorNotFound):
            return (await self._operations.find_run(request.operator, run, is_opened=True))[1].agent
        recording = await self._evals.find_recording(run)
        if recording is None or not request.operator.may_watch(recording.owner, recording.agent):
            raise OperatorNotFound(
                "There is no such run. Transient runs are recorded with `evals: {record: all}` only."
            )
        is_own = request.operator.is_own(recording.owner, recording.agent)
        if not is_own and not includes_agent(request.rights.read, recording.agent):
            forbid("read", recording.agent)
        return recording.agent

    async def list(self, request: OperatorRequest) -> Response:
        """Cases are of several users, so this needs the right to read for all agents."""
        request.operator.check_all("read")
        return json_response(DatasetList(await self._evals.list_datasets(), self._evals.rules))
