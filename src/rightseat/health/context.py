"""What the checks look at: a configuration, its parts, and the application that serves them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from starlette.types import ASGIApp

from rightseat.config import Config, Server
from rightseat.core.agent import Agent
from rightseat.core.model import Model
from rightseat.core.tools import Toolbox
from rightseat.egress.redaction import Redactor

ModelTrial = Literal["none", "word", "word and call"]


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A rightseat that answers at the address of the configuration. `is_this_process`: it runs the checks itself."""

    url: str
    version: str
    is_this_process: bool = False


@dataclass(frozen=True, slots=True)
class CheckContext:
    """A configuration that cannot be loaded leaves `config` empty; `problems` are the lines of its error.

    `models`, `toolboxes` and `agents` are opened; `failures` are the errors of those that cannot be, by their place in
    the configuration (`toolboxes.docs`). `application` accepts `key`, and pages of `origin` are tried with it.
    `redactor` masks the secrets of the configuration in every finding. `trial` is what is asked of each
    model; with `none` no other server is asked for its clock either.
    """

    server: Server
    file: Path
    config: Config | None = None
    problems: Sequence[str] = ()
    models: Mapping[str, Model] = field(default_factory=dict)
    toolboxes: Mapping[str, Toolbox] = field(default_factory=dict)
    agents: Mapping[str, Agent] = field(default_factory=dict)
    failures: Mapping[str, Exception] = field(default_factory=dict)
    application: ASGIApp | None = None
    key: str | None = None
    origin: str | None = None
    running: RunningServer | None = None
    redactor: Redactor = field(default_factory=Redactor)
    trial: ModelTrial = "word and call"

    @property
    def state_dir(self) -> Path:
        return self.file.parent / self.server.state_dir
