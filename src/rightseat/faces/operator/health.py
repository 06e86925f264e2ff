"""The checks of `rightseat doctor` for this server, over HTTP.

With `?deep` each model is asked for one word, at most once in a minute, however many keys ask: the calls cost money,
and reading is all that these keys may do. The calls count for the user who caused them, with the purpose `health`.
"""

import asyncio
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec
from starlette.responses import Response

from rightseat.core.admission import Admission
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.health.checks import run_checks
from rightseat.health.finding import Finding, Fix, Status
from rightseat.health.own_server import OwnServer
from rightseat.operations.rights import forbid

MAX_CHECK_S = 30.0
"""A check without a result by then has failed, also one that may take longer in `rightseat doctor`."""

DEEP_INTERVAL_S = 60.0
PURPOSE = "health"

CheckState = Literal["fine", "look", "broken", "note"]
STATES: Mapping[Status, CheckState] = {"ok": "fine", "warning": "look", "error": "broken", "skipped": "note"}


class FixLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """`command` is for a shell, `yaml` for the configuration; `docs` is a page of the documentation."""

    text: str
    command: str | None = None
    yaml: str | None = None
    docs: str | None = None


class CheckLine(msgspec.Struct, frozen=True):
    """The result of a check. `subject` is the checked part, such as `models.default`."""

    id: str
    subject: str
    state: CheckState
    title: str
    detail: str
    fix: FixLine | None
    milliseconds: int


class ChecksNotSupported(RightseatError):
    code = "checks_not_supported"
    status = 501

    def __init__(self) -> None:
        super().__init__("This server was built in Python, without a configuration that could be checked.")


class HealthRoute:
    """Requests at the same time get the result of one round of checks; deep ones also later, with its age."""

    def __init__(self, own_server: OwnServer | None, admission: Admission) -> None:
        self._own_server = own_server
        self._admission = admission
        self._rounds: dict[bool, Round] = {}  # by `is_deep`

    def routes(self) -> Routes:
        return {("GET", "health"): self.check}

    async def check(self, request: OperatorRequest) -> Response:
        """The findings are about all agents, so the right to watch only some of them is not enough."""
        if request.rights.watch is not None:
            forbid("watch", "*")
        if self._own_server is None:
            raise ChecksNotSupported
        started = self._start_round(self._own_server, request.principal, "deep" in request.http.query_params)
        findings = await asyncio.shield(started.task)
        age = int(asyncio.get_running_loop().time() - started.at)
        return json_response([describe(finding) for finding in findings], headers={"age": str(age)})

    def _start_round(self, own_server: OwnServer, principal: Principal, is_deep: bool) -> "Round":
        """The current round, which goes on if the client that started it disconnects; a new one if there is none."""
        current, now = self._rounds.get(is_deep), asyncio.get_running_loop().time()
        if current is None or (current.task.done() and not (is_deep and current.is_recent(now))):
            with self._admission.meter_calls(principal, PURPOSE):
                task = asyncio.create_task(run_round(own_server, is_deep=is_deep))
            current = self._rounds[is_deep] = Round(task, now)
        return current


class Round(NamedTuple):
    """`at` is when it began, by the clock of the loop."""

    task: asyncio.Task[list[Finding]]
    at: float

    def is_recent(self, now: float) -> bool:
        return now < self.at + DEEP_INTERVAL_S and not self.task.cancelled() and self.task.exception() is None


async def run_round(own_server: OwnServer, *, is_deep: bool) -> list[Finding]:
    with own_server.open_context(is_deep=is_deep) as context:
        return [finding async for finding in run_checks(context, MAX_CHECK_S)]


def describe(finding: Finding) -> CheckLine:
    return CheckLine(
        id=finding.id,
        subject=finding.subject,
        state=STATES[finding.state],
        title=finding.title,
        detail=finding.detail,
        fix=describe_fix(finding.fix),
        milliseconds=finding.milliseconds,
    )


def describe_fix(fix: Fix | None) -> FixLine | None:
    return None if fix is None else FixLine(fix.text, fix.command, fix.yaml, fix.docs)
