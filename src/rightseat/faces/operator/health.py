"""The checks of `rightseat doctor` for this server, over HTTP.

With `?deep` each model is asked for one word.
"""

import asyncio
from collections.abc import Mapping
from typing import Literal

import msgspec
from starlette.responses import Response

from rightseat.core.errors import RightseatError
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.permissions import forbid
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.health.checks import run_checks
from rightseat.health.finding import Finding, Fix, Status
from rightseat.health.own_server import OwnServer

MAX_CHECK_S = 30.0
"""A check without a result by then has failed, also one that may take longer in `rightseat doctor`."""

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
    """Requests at the same time get the result of one round of checks."""

    def __init__(self, own_server: OwnServer | None) -> None:
        self._own_server = own_server
        self._rounds: dict[bool, asyncio.Task[list[Finding]]] = {}  # by `is_deep`

    def routes(self) -> Routes:
        return {("GET", "health"): self.check}

    async def check(self, request: OperatorRequest) -> Response:
        """The findings are about all agents, so the right to watch only some of them is not enough."""
        if request.rights.watch is not None:
            forbid("watch", "*")
        if self._own_server is None:
            raise ChecksNotSupported
        findings = await asyncio.shield(
            self._start_round(self._own_server, is_deep="deep" in request.http.query_params)
        )
        return json_response([describe(finding) for finding in findings])

    def _start_round(self, own_server: OwnServer, *, is_deep: bool) -> asyncio.Task[list[Finding]]:
        """The current round, which goes on if the client that started it disconnects; a new one if there is none."""
        current = self._rounds.get(is_deep)
        if current is None or current.done():
            current = self._rounds[is_deep] = asyncio.create_task(run_round(own_server, is_deep=is_deep))
        return current


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
