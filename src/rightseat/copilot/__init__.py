"""Builds a copilot in Python code, for an application of its own: `rightseat.Copilot`.

agent_options  an agent as Python code describes it
arguments      arguments → keys of a configuration
serving        the parts that answer now, and who opens them
embedding      as a router, as a mounted application, around another application
stream         a run without a client, event by event
result         what it has answered
file_writer    the same copilot as a configuration file
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack, overload

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel
from starlette.types import ASGIApp

from rightseat import app, config, parts
from rightseat.access.host_login import Authenticate, HostLogin, check_principal
from rightseat.app import Assembly
from rightseat.config import Access, Server
from rightseat.config.evals import EvalOptions
from rightseat.config.live import LIVE_TYPE
from rightseat.config.shape import HookNames, PriceOptions
from rightseat.config.telemetry import Telemetry
from rightseat.config.webhook import WebhookOptions
from rightseat.copilot import mounts, storage
from rightseat.copilot.agent_options import AgentOptions
from rightseat.copilot.arguments import CopilotArguments, FaceName, read_arguments
from rightseat.copilot.file_writer import write_file
from rightseat.copilot.result import AskResult
from rightseat.copilot.serving import Serving
from rightseat.copilot.stream import AskStream
from rightseat.core.agent import Agent
from rightseat.core.ask import ANYONE, Principal
from rightseat.core.errors import ConfigError
from rightseat.core.guard import Guard
from rightseat.core.hooks import AfterRequest, BeforeRequest, OnError
from rightseat.core.model import Model
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Effect, Tool, Toolbox
from rightseat.limits.model_doubles import ModelDoubles, find_double
from rightseat.limits.options import LimitOptions
from rightseat.limits.prices import Prices
from rightseat.operations.memories import MemoryOptions
from rightseat.toolboxes.functions import Function, FunctionToolbox, ToolOptions, Translated

__all__ = ["Copilot"]

logger = logging.getLogger(__name__)

F = TypeVar("F", bound=Function)
B = TypeVar("B", bound=BeforeRequest)
A = TypeVar("A", bound=AfterRequest)
E = TypeVar("E", bound=OnError)
T = TypeVar("T")


class Copilot:
    """Agents with their tools, ready to be served inside of an application or to be asked by a program.

    Every key of a configuration file is an argument with the same name and shape. `model` with `instructions`, `tools`
    and `durable` describes the agent `default`; `tools` are those of all agents that have a model. `authenticate` says
    which user of the application calls; without it and without `access`, only this machine may call. Threads are in a
    file of `state_dir`, unless `database` is the URL of a PostgreSQL database, or "memory".

        copilot = Copilot("openai:gpt-4o-mini", instructions="Be brief.")
        app.include_router(copilot.router())
    """

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        tools: Iterable[Tool | Function] = (),
        instructions: str | None = None,
        max_turns: int = 16,
        durable: bool = False,
        path: str = "/copilotkit",
        authenticate: Authenticate | None = None,
        database: str | None = None,
        redis: str | None = None,
        state_dir: str | Path | None = None,
        public_url: str | None = None,
        allow_unauthenticated: bool = False,
        models: Mapping[str, Model | str | Mapping[str, Any]] | None = None,
        toolboxes: Mapping[str, Toolbox | Mapping[str, Any]] | None = None,
        agents: Mapping[str, AgentOptions | Agent | Mapping[str, Any]] | None = None,
        guards: Sequence[Guard | Mapping[str, Any]] | None = None,
        faces: Sequence[FaceName | BaseModel | Mapping[str, Any]] | None = None,
        server: Server | Mapping[str, Any] | None = None,
        access: Access | Mapping[str, Any] | None = None,
        log: Mapping[str, Any] | None = None,
        threads: Mapping[str, Any] | None = None,
        engine: Mapping[str, Any] | None = None,
        telemetry: Telemetry | Mapping[str, Any] | None = None,
        hooks: HookNames | Mapping[str, Any] | None = None,
        prices: Mapping[str, PriceOptions | Mapping[str, float]] | None = None,
        currency: str | None = None,
        limits: Sequence[LimitOptions | Mapping[str, Any]] | None = None,
        limits_reserve: Mapping[str, int] | None = None,
        limits_webhook: WebhookOptions | Mapping[str, Any] | None = None,
        timezone: str | None = None,
        memory: MemoryOptions | Mapping[str, Any] | None = None,
        evals: EvalOptions | Mapping[str, Any] | None = None,
    ) -> None:
        arguments = CopilotArguments(
            model=model,
            tools=tools,
            instructions=instructions,
            max_turns=max_turns,
            durable=durable,
            path=path,
            authenticate=authenticate,
            database=database,
            redis=redis,
            state_dir=state_dir,
            public_url=public_url,
            allow_unauthenticated=allow_unauthenticated,
            models=models,
            toolboxes=toolboxes,
            agents=agents,
            guards=guards,
            faces=faces,
            server=server,
            access=access,
            log=log,
            threads=threads,
            engine=engine,
            telemetry=telemetry,
            hooks=hooks,
            prices=prices,
            currency=currency,
            limits=limits,
            limits_reserve=limits_reserve,
            limits_webhook=limits_webhook,
            timezone=timezone,
            memory=memory,
            evals=evals,
        )
        self._setup(arguments, None)

    @classmethod
    def from_file(cls, file: str | Path = config.FILE, **arguments: Unpack[CopilotArguments]) -> Self:
        """Build the copilot of a configuration file. Arguments win; `tools` go to every agent with a model.

        copilot = Copilot.from_file("rightseat.yaml", tools=[my_orders], authenticate=principal)
        """
        copilot = cls.__new__(cls)
        copilot._setup(arguments, Path(file))
        return copilot

    def _setup(self, arguments: CopilotArguments, file: Path | None) -> None:
        self._arguments = arguments
        self._file = file
        self._overrides: dict[Function, Function] = {}
        self._doubles = ModelDoubles()
        self._functions = FunctionToolbox(arguments.get("tools") or (), overrides=self._overrides)
        self._configure()
        self._hooks = app.load_hooks(self._config.hooks)
        self._host = self._build_host(arguments.get("authenticate"))
        self._serving = Serving(self._assemble, self._prepare)
        self._serving.warns_of_siblings = self._config.threads.type == "memory"

    def _configure(self) -> None:
        keys = read_arguments(self._arguments, self._overrides, has_file=self._file is not None)
        self._missing = keys.missing
        self._config = config.build(keys.values, self._file)

    def _build_host(self, authenticate: Authenticate | None) -> HostLogin:
        server, access = self._config.server, self._config.access
        allows_everyone = access.is_set or server.allow_unauthenticated
        if authenticate is None and not allows_everyone and server.public_url and not server.is_local:
            raise ConfigError(
                f"Everyone could call {server.public_url}: there are no users. Set `authenticate=` or `access=`, or "
                "`allow_unauthenticated=True`."
            )
        host = HostLogin(authenticate, allows_everyone=allows_everyone)
        host.names, host.origins = server.names, server.origins or ()
        return host

    def _assemble(self, is_in_memory: bool) -> Assembly:
        """Files are shared: the workers of this application are processes that do not know each other."""
        found = storage.in_memory(self._config) if is_in_memory else self._config
        return app.assemble(
            found, [self._functions], is_worker=True, host=self._host, hooks=self._hooks, doubles=self._doubles
        )

    def _prepare(self) -> None:
        """What is checked at the start, and not where a module is imported: a test may replace it."""
        if self._missing and find_double(self._doubles) is None:
            if any(os.environ.get(variable) for variable in self._missing.values()):
                self._configure()
                self._serving.reset()
            for name, variable in self._missing.items():
                raise ConfigError(
                    f"The model {name!r} needs a key: set the environment variable {variable}. A test replaces the "
                    "model with `copilot.override(model=…)`."
                )
        if self._serving.is_own:
            storage.check(self._config)

    @property
    def runtime(self) -> Runtime:
        """To start, follow and cancel runs without a client, one level below `ask`."""
        return self._serving.current.assembly.runtime

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Open models, log and threads, to use the `runtime` in a program without a server."""
        return self._serving.opened()

    async def __aenter__(self) -> Self:
        self._opened = self.opened()
        await self._opened.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._opened.__aexit__(*raised)

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        approval: Translated | None = None,
        effect: Effect = "read",
        timeout: float | None = None,
        title: Translated = "",
    ) -> Callable[[F], F]: ...
    def tool(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        approval: Translated | None = None,
        effect: Effect = "read",
        timeout: float | None = None,
        title: Translated = "",
    ) -> F | Callable[[F], F]:
        """Let all agents with a model call this function: `@copilot.tool`, with the options of `@tool`. Returns it.

        @copilot.tool(approval="Cancel this order?", effect="write")
        def cancel_order(order_id: int) -> str: ...
        """
        options = ToolOptions(name, description, approval, effect, timeout, title)

        def add(function: F) -> F:
            if all(part.type == LIVE_TYPE for part in self._config.agents.values()):
                raise ConfigError("The agents of this copilot have tools of their own. Give it a `model` to add some.")
            self._functions.add(function, None if options == ToolOptions() else options)
            return function

        return add if function is None else add(function)

    def before_request(self, hook: B) -> B:
        """Call `hook(ask)` before every run. It may return another ask, or raise a `RightseatError` to refuse it."""
        self._hooks.before_request.append(parts.require_async(hook))
        return hook

    def after_request(self, hook: A) -> A:
        """Call `hook(ask, messages)` after every run, with its messages."""
        self._hooks.after_request.append(parts.require_async(hook))
        return hook

    def on_error(self, hook: E) -> E:
        """Call `hook(ask, failure)` when a run fails. `failure` has the cause, the agent, the node and the duration."""
        self._hooks.on_error.append(parts.require_async(hook))
        return hook

    # Inside of an application

    @property
    def lifespan(self) -> mounts.Lifespan:
        """Opens the copilot, for an application that mounts it: `FastAPI(lifespan=copilot.lifespan)`."""

        @asynccontextmanager
        async def open(application: Any) -> Any:
            self._warn_of_open_access()
            async with self._serving.opened(application):
                logger.info("threads are kept in %s", storage.describe(self._config))
                yield

        return open

    def router(self) -> APIRouter:
        """A router for `include_router` of a FastAPI application. It includes the lifespan.

        FastAPI runs dependencies of `FastAPI(…)`, `APIRouter(…)` and `include_router(…)` before each request. They can
        refuse it; `authenticate` says who the user is.

            app.include_router(copilot.router(), prefix="/ai")
        """
        return mounts.build_router_to_include(self._serving, self.lifespan, self._config.server.public_url)

    def asgi(self) -> ASGIApp:
        """An application to mount in another one, whose lifespan opens the copilot.

        app = Starlette(routes=[Mount("/ai", copilot.asgi())], lifespan=copilot.lifespan)
        """
        return mounts.build_mounted(self._serving, self.lifespan, self._config.server.public_url)

    def wrap(self, application: ASGIApp, *, path: str) -> ASGIApp:
        """An application with the copilot below `path`, for Django and others that have no lifespan.

        application = copilot.wrap(get_asgi_application(), path="/ai")
        """
        if not path.startswith("/") or not path.strip("/"):
            raise ConfigError(f"The path {path!r} should begin with a slash, such as '/ai'.")
        return mounts.WrappedApplication(application, self.asgi(), path.rstrip("/"), self.lifespan)

    def app(self, *, origins: Sequence[str] | None = None, hosts: Sequence[str] | None = None) -> FastAPI:
        """An application that is ready to be served.

        `origins` are the web pages that may call, `hosts` the accepted host names beside those of this machine.
        """
        settings = {"origins": origins, "hosts": hosts}
        changes = {name: value for name, value in settings.items() if value is not None}
        server = Server(**{**self._config.server.model_dump(), **changes})
        self._host.names, self._host.origins = server.names, server.origins or ()
        switched = mounts.build_switched_router(self._serving, self.lifespan, server.public_url)
        return app.application(self._serving.current.assembly, server, switched)

    def _warn_of_open_access(self) -> None:
        if self._host.is_only_local:
            logger.warning(
                "This copilot has neither `authenticate` nor `access`: only programs on this machine may call it, and "
                "all are the same user with the same threads. A reverse proxy on this machine that adds no X-Forwarded "
                "headers opens it to others."
            )
        elif not self._host.has_users and not self._config.access.is_set:
            logger.warning(
                "Everyone who reaches this copilot is the same user with the same threads. Set `authenticate=` to say "
                "who calls."
            )

    # Without HTTP

    @overload
    async def ask(
        self, text: str, *, agent: str | None = None, user: str | Principal | None = None, thread: str | None = None
    ) -> AskResult[str]: ...
    @overload
    async def ask(
        self,
        text: str,
        *,
        output_type: type[T],
        agent: str | None = None,
        user: str | Principal | None = None,
        thread: str | None = None,
    ) -> AskResult[T]: ...
    async def ask(
        self,
        text: str,
        *,
        output_type: type[Any] | None = None,
        agent: str | None = None,
        user: str | Principal | None = None,
        thread: str | None = None,
    ) -> AskResult[Any]:
        """Ask an agent and wait for its answer. Raises `RightseatError` if the run fails.

        `user` owns the thread, and may go on with it through every face. The answer continues `thread` if there is one.

            result = await copilot.ask("Summarize my week.", user="7")
        """
        stream = self._stream(text, output_type=output_type, agent=agent, user=user, thread=thread)
        loop = self._serving.loop
        if loop is None or loop is asyncio.get_running_loop():
            return await stream.read_all()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(stream.read_all(), loop))

    def ask_sync(
        self, text: str, *, agent: str | None = None, user: str | Principal | None = None, thread: str | None = None
    ) -> AskResult[str]:
        """Like `ask`, for a program without asyncio, or a thread of an application that is running."""
        if is_in_event_loop():
            raise ConfigError("`ask_sync` would block this event loop. Use `await copilot.ask(…)`.")
        loop = self._serving.loop
        if loop is not None:
            asked = self.ask(text, agent=agent, user=user, thread=thread)
            return asyncio.run_coroutine_threadsafe(asked, loop).result()
        return asyncio.run(self._ask_once(text, agent=agent, user=user, thread=thread))

    async def _ask_once(
        self, text: str, *, agent: str | None, user: str | Principal | None, thread: str | None
    ) -> AskResult[str]:
        async with self.opened():
            return await self.ask(text, agent=agent, user=user, thread=thread)

    @overload
    def stream(
        self, text: str, *, agent: str | None = None, user: str | Principal | None = None, thread: str | None = None
    ) -> AskStream[str]: ...
    @overload
    def stream(
        self,
        text: str,
        *,
        output_type: type[T],
        agent: str | None = None,
        user: str | Principal | None = None,
        thread: str | None = None,
    ) -> AskStream[T]: ...
    def stream(
        self,
        text: str,
        *,
        output_type: type[Any] | None = None,
        agent: str | None = None,
        user: str | Principal | None = None,
        thread: str | None = None,
    ) -> AskStream[Any]:
        """Ask an agent and read the events of its run as they come; `result` is there at the end.

        async for event in copilot.stream("Tell me more", thread=result.thread_id): ...
        """
        return self._stream(text, output_type=output_type, agent=agent, user=user, thread=thread)

    def _stream(
        self,
        text: str,
        *,
        output_type: type[Any] | None,
        agent: str | None,
        user: str | Principal | None,
        thread: str | None,
    ) -> AskStream[Any]:
        principal = Principal(user) if isinstance(user, str) else user or self._host.principal or ANYONE
        return AskStream(
            self._open_runtime,
            text,
            agent=agent,
            principal=check_principal(principal),
            thread_id=thread,
            output_type=output_type,
        )

    async def _open_runtime(self) -> tuple[Runtime, Prices]:
        await self._serving.keep_open()
        assembly = self._serving.current.assembly
        return assembly.runtime, assembly.prices

    # In tests

    @contextmanager
    def override(
        self,
        *,
        model: Model | None = None,
        principal: Principal | None = None,
        database: str | None = None,
        dependencies: Mapping[Function, Function] | None = None,
    ) -> Iterator[None]:
        """Replace the models, the user, the database or dependencies of tools, in every thread and task.

        `database` may be "memory", before the copilot is opened.

            with copilot.override(model=ScriptedModel([says("Hello.")]), database="memory"):
                assert (await copilot.ask("Hi")).text == "Hello."
        """
        if database not in (None, "memory"):
            raise ConfigError(f"An override of `database` should be 'memory', not {database!r}.")
        before = self._doubles.model, self._host.principal, dict(self._overrides)
        with ExitStack() as stack:
            if database is not None:
                stack.enter_context(self._serving.in_memory())
            self._doubles.model = model or self._doubles.model
            self._host.principal = principal or self._host.principal
            self._overrides.update(dependencies or {})
            try:
                yield
            finally:
                self._doubles.model, self._host.principal, replaced = before
                self._overrides.clear()
                self._overrides.update(replaced)

    def to_yaml(self) -> str:
        """The configuration file of the same copilot. Functions are `module:name`, secrets are `${NAME}`.

        Raises `ConfigError` for an object that a file cannot name.
        """
        if self._arguments.get("authenticate") is not None:
            raise ConfigError("A file has no key for `authenticate`. Pass it to `Copilot.from_file` beside the file.")
        return write_file(self._config, self._missing, self._functions)


def is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
