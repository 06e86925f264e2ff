"""The server of this process: what a face needs to check it, and to start it again with another configuration."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from rightseat.access.authenticator import Authenticator
from rightseat.access.setup_code import SetupCode
from rightseat.access.sign_in.service import SignIn
from rightseat.access.stored_keys import StoredKeys
from rightseat.config import FILE, Config
from rightseat.core.agent import Agent
from rightseat.core.model import Model
from rightseat.core.tools import Toolbox
from rightseat.egress.redaction import Redactor
from rightseat.health.context import CheckContext, RunningServer


class OwnServer:
    """The configuration of this server and its opened parts.

    `application` is set when it is built. `rightseat serve` sets `url`, the address it listens on, and `restart`, which
    shuts down in good order and starts again with the same arguments; other programs that serve it have neither. With
    a `setup_code`, a page that has it may write the missing configuration file. `sign_in` is set with the routes if the
    configuration has an identity provider.
    """

    def __init__(
        self,
        config: Config,
        models: Mapping[str, Model],
        toolboxes: Mapping[str, Toolbox],
        agents: Mapping[str, Agent],
        authenticator: Authenticator | None,
        redactor: Redactor,
    ) -> None:
        self.config = config
        self.application: ASGIApp | None = None
        self.url: str | None = None
        self.restart: Callable[[], None] | None = None
        self.setup_code: SetupCode | None = None
        self.sign_in: SignIn | None = None
        self.redactor = redactor
        self._models = models
        self._toolboxes = toolboxes
        self._agents = agents
        self._authenticator = authenticator

    @property
    def file(self) -> Path:
        """The configuration file, or where it would be."""
        return self.config.path or Path(FILE)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return (urlsplit(self.url).port if self.url else None) or self.config.server.port

    @property
    def stored_keys(self) -> StoredKeys | None:
        """The API keys of the store; None if requests need no credential, or the store has no keys."""
        return self._authenticator.stored if self._authenticator else None

    @property
    def last_uses(self) -> Mapping[str, float]:
        """When keys were last used, as far as this process knows."""
        return self._authenticator.last_uses if self._authenticator else {}

    @property
    def can_be_set_up(self) -> bool:
        """Whether there is no configuration file, and only this machine reaches the server."""
        has_code = self.setup_code is not None and self.setup_code.is_valid
        return has_code and self.config.server.is_local and self.config.path is None and not self.file.exists()

    @property
    def is_without_file(self) -> bool:
        """As `can_be_set_up`, and until this process ends after the console has written the file: a page that waits for
        the server to start again asks for this."""
        is_restarting = self.setup_code is not None and self.setup_code.is_used
        return is_restarting or self.can_be_set_up

    @contextmanager
    def open_context(self, *, is_deep: bool) -> Iterator[CheckContext]:
        """What the checks look at. Its key is valid inside of the block only."""
        lent = self._authenticator.lend_key("health checks") if self._authenticator else nullcontext()
        with lent as key:
            server = self.config.server
            url = self.url or f"http://{server.host}:{server.port}"
            yield CheckContext(
                server,
                self.file,
                self.config,
                models=self._models,
                toolboxes=self._toolboxes,
                agents=self._agents,
                application=self.application,
                key=key,
                running=RunningServer(url, metadata.version("rightseat"), is_this_process=True),
                redactor=self.redactor,
                trial="word" if is_deep else "none",
            )
