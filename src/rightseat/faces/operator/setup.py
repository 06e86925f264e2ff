"""The first start: proposes a configuration file, tries its model, writes it, and starts the server again.

All of it needs the code that `rightseat serve` prints, and a server that only this machine can reach. No key passes
through the page: it names the variable of a key.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.setup_code import SetupCode
from rightseat.config import FILE
from rightseat.config.starter import create_file
from rightseat.config.urls import is_loopback
from rightseat.core.errors import BadRequest, ConfigError, RightseatError
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.health import STATES, CheckState, FixLine, describe_fix
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.health.finding import CheckOutcome
from rightseat.health.local_models import ModelChoice, UnknownChoice, find_choices, write_choice
from rightseat.health.own_server import OwnServer
from rightseat.health.starter_trial import check_starter, try_starter
from rightseat.operations.audit_lines import write_line

CODE_HEADER = "x-rightseat-setup"
FILE_MODE = 0o600


class SetupUnavailable(RightseatError):
    code = "setup_unavailable"
    status = 409

    def __init__(self) -> None:
        super().__init__("The console can only set up a server of this machine that has no configuration file.")


class SetupCodeRefused(RightseatError):
    code = "setup_code_refused"
    status = 403

    def __init__(self) -> None:
        super().__init__(
            "The setup code is missing, wrong, used or older than ten minutes. `rightseat serve` prints a new one when "
            "it starts; `rightseat init` writes the file without one."
        )


class _Choice(msgspec.Struct, frozen=True):
    choice: str = ""
    model: str = ""
    code: str = ""
    is_tried: bool = msgspec.field(default=False, name="try")
    base_url: str = ""
    variable: str = ""


class SetupChoices(msgspec.Struct, frozen=True):
    """The models that the first configuration can have. `file` is its name."""

    file: str
    choices: Sequence[ModelChoice]


class TriedModel(msgspec.Struct, frozen=True):
    state: CheckState
    detail: str
    fix: FixLine | None


class ProposedFile(msgspec.Struct, frozen=True):
    """The file as it would be written. `tried` is null if its model was not asked."""

    file: str
    text: str
    tried: TriedModel | None


class WrittenFile(msgspec.Struct, frozen=True):
    file: str


class SetupRoutes:
    def __init__(self, own_server: OwnServer | None) -> None:
        self._own_server = own_server
        self._writing = asyncio.Lock()

    def routes(self) -> Routes:
        return {
            ("GET", "setup"): self.propose,
            ("POST", "setup/check"): self.check,
            ("POST", "setup/write"): self.write,
        }

    async def propose(self, request: OperatorRequest) -> Response:
        self._authorize(request)
        return json_response(SetupChoices(FILE, await find_choices()))

    async def check(self, request: OperatorRequest) -> Response:
        """The file as it would be written; with `try` its model is asked for one word and one tool call."""
        body = request.read(_Choice)
        own_server, _ = self._authorize(request, body.code)
        text = read_choice(body, own_server)
        outcome = await try_starter(text) if body.is_tried else None
        return json_response(ProposedFile(FILE, text, describe_trial(outcome) if outcome else None))

    async def write(self, request: OperatorRequest) -> Response:
        """Write the file, and start the server again. The response is still sent."""
        body = request.read(_Choice)
        async with self._writing:
            own_server, code = self._authorize(request, body.code)
            text = read_choice(body, own_server)
            await check_startable(text)
            await asyncio.to_thread(create_file, Path(FILE), text, FILE_MODE)
            code.use()
            if own_server.restart is not None:
                own_server.restart()
        write_line(f"%s wrote {FILE} with the setup code", request.principal.id)
        return json_response(WrittenFile(FILE), 202)

    def _authorize(self, request: OperatorRequest, code: str = "") -> tuple[OwnServer, SetupCode]:
        """Raises `SetupUnavailable` and `SetupCodeRefused`."""
        own_server = self._own_server
        if own_server is None or not own_server.can_be_set_up or not is_local_client(request.http):
            raise SetupUnavailable
        setup_code = own_server.setup_code
        if setup_code is None or not setup_code.matches(code or request.http.headers.get(CODE_HEADER, "")):
            raise SetupCodeRefused
        return own_server, setup_code


def describe_trial(outcome: CheckOutcome) -> TriedModel:
    return TriedModel(STATES[outcome.status], outcome.detail, describe_fix(outcome.fix))


def read_choice(body: _Choice, own_server: OwnServer) -> str:
    """The text of the file. Raises `BadRequest`."""
    try:
        port = own_server.port
        return write_choice(body.choice, body.model, base_url=body.base_url, variable=body.variable, port=port)
    except UnknownChoice as error:
        raise BadRequest(str(error)) from error


async def check_startable(text: str) -> None:
    """Raises `BadRequest`: a server that cannot start again would be gone."""
    try:
        await asyncio.to_thread(check_starter, text)
    except ConfigError as error:
        raise BadRequest(f"The server could not start with this file. {error.message}") from error


def is_local_client(request: Request) -> bool:
    return request.client is not None and is_loopback(request.client.host)
