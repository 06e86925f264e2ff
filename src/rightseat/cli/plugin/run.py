"""`rightseat plugin run`: runs one flow of a plugin in the terminal."""

import base64
import mimetypes
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from anyio.from_thread import start_blocking_portal

from rightseat import app
from rightseat.cli import setup
from rightseat.cli.conversation import CommandFailed, wait_for_models
from rightseat.cli.plugin import lib_option
from rightseat.cli.plugin.flow_printer import FlowPrinter
from rightseat.cli.progress import show_progress
from rightseat.cli.terminal_answers import prompt_for_answer
from rightseat.config import FILE, Config, has_openai_key, in_memory
from rightseat.config.variables import environment
from rightseat.core.ask import Answer
from rightseat.core.errors import ConfigError
from rightseat.core.events import Custom, Event, Interrupt, RunFinished
from rightseat.core.stream import codec
from rightseat.core.types import JsonValue
from rightseat.egress.redaction import Redactor
from rightseat.egress.secrets import EVERY_SECRET, PREFIX, SecretGrant, Secrets
from rightseat.egress.untrusted import UntrustedClient
from rightseat.plugins import flows
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.flows import Dependencies
from rightseat.plugins.flows.checkpoint import FlowCheckpoint
from rightseat.plugins.loading import OperatorSettings, load
from rightseat.plugins.model_calls import RoleModelCaller
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.operations.private_addresses import list_addresses
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scope import Scope, Upload
from rightseat.plugins.sql.databases import Databases
from rightseat.plugins.testing.case_runner import UnrecordedSteps


@click.command("run")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("flow")
@click.argument("question")
@setup.file_option
@click.option("--model", default="default", show_default=True, help="The configured model to use.")
@click.option("--file", "files", type=click.Path(path_type=Path, exists=True), multiple=True, help="Attach a file.")
@click.option("--dry-run", is_flag=True, help="Do not send, query or run anything; show what would be sent.")
@click.option("--allow-private", is_flag=True, help="Allow the addresses of its APIs even if they are private.")
@lib_option
@click.option("--json", "as_json", is_flag=True, help="Print each event of the run as one JSON object per line.")
def command(
    folder: Path,
    flow: str,
    question: str,
    path: Path | None,
    model: str,
    files: tuple[Path, ...],
    dry_run: bool,
    allow_private: bool,
    allow_lib: bool,
    as_json: bool,
) -> None:
    """Run FLOW of the plugin in DIR with QUESTION.

    It runs in the terminal, with a model of the configuration. The response goes to stdout, steps and questions to
    stderr. Secrets are read from the environment
    (RIGHTSEAT_SECRET_…). Exits with status 1 unless the flow succeeds.
    """
    setup.set_up_logging()
    plugin = load_plugin(folder, allow_lib)
    found = plugin.flow(flow)
    if found is None:
        raise ConfigError(f"The plugin has no flow {flow!r}. Its flows: {', '.join(plugin.flows) or 'none'}.")
    if path is None and not Path(FILE).exists() and not has_openai_key():
        click.echo(
            f"No {FILE} found; using the built-in demo model, which does not understand language. "
            "`rightseat init` writes one.",
            err=True,
        )
    if dry_run:
        click.echo(
            "Dry run: nothing is sent, queried or run. Results and the answer are made up from schemas.", err=True
        )
    scope = Scope(question, files=tuple(map(read_upload, files)))
    show = print_json if as_json else FlowPrinter(shows_data=dry_run).print
    with start_blocking_portal() as portal:  # prompts block this thread, not the event loop
        opened = open_dependencies(plugin, setup.load(path), model, dry_run, allow_private, allow_lib)
        with portal.wrap_async_context_manager(opened) as dependencies:
            flow_run = FlowRun(plugin, found, scope, dependencies, show)
            while interrupts := portal.call(flow_run.run):
                flow_run.answer(interrupts[0], prompt_for_answer(interrupts[0]))
    check_result(flow, flow_run.result)


class FlowRun:
    """One run of a flow, which may pause for answers. `result` is the value of its last event."""

    def __init__(
        self, plugin: Plugin, flow: Flow, scope: Scope, dependencies: Dependencies, show: Callable[[Event], None]
    ) -> None:
        self.result: JsonValue = None
        self._arguments = (plugin, flow, scope, dependencies)
        self._show = show
        self._checkpoint: FlowCheckpoint | None = None
        self._answer: Answer | None = None

    async def run(self) -> tuple[Interrupt, ...]:
        """Run to the end, or to the next question."""
        interrupts: tuple[Interrupt, ...] = ()
        events = flows.run(*self._arguments, UnrecordedSteps(), checkpoint=self._checkpoint, answer=self._answer)
        async for event in events:
            self._show(event)
            if isinstance(event, RunFinished):
                interrupts = event.interrupts
            elif isinstance(event, Custom) and event.name == "flow.finished":
                self.result = event.value
        return interrupts

    def answer(self, interrupt: Interrupt, answer: Answer) -> None:
        self._checkpoint, self._answer = flows.read_checkpoint(interrupt.memo), answer


def check_result(flow: str, result: JsonValue) -> None:
    """Raises `CommandFailed` unless the flow succeeded."""
    match result:
        case {"status": "succeeded"}:
            return
        case {"status": str(status), "error": {"code": str(code), "message": str(message), "step": str(step)}}:
            advice = (
                " --allow-private allows the addresses of its APIs even if they are private."
                if code == "egress_blocked"
                else ""
            )
            raise CommandFailed(f"The flow {flow} failed in step {step} ({status}, {code}): {message}{advice}")
        case {"status": "cancelled"}:
            raise CommandFailed(f"The flow {flow} was cancelled.")
    raise CommandFailed(f"The flow {flow} did not finish.")


def load_plugin(folder: Path, allow_lib: bool) -> Plugin:
    try:
        first = load(folder)
        digest = first.plugin.lib if first.plugin is not None and allow_lib else None
        found = load(folder, operator=OperatorSettings(lib=frozenset([digest]))) if digest else first
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
    if found.plugin is None:
        raise ConfigError(f"The plugin has errors: {found.errors[0]}")
    return found.plugin


@asynccontextmanager
async def open_dependencies(
    plugin: Plugin, config: Config, model: str, dry_run: bool, allow_private: bool, allow_lib: bool
) -> AsyncIterator[Dependencies]:
    assembly = app.assemble(in_memory(config))
    redactor = Redactor()
    allowed = list_addresses(plugin) if allow_private else ()
    secrets = Secrets(environment(PREFIX), grants=[SecretGrant(EVERY_SECRET)])  # those of the person who runs it
    sender = OperationClient(UntrustedClient(), secrets, redactor, lambda plugin: allowed)
    tool_runner = ToolRunner([plugin.lib] if plugin.lib and allow_lib else [])
    with TemporaryDirectory() as state:
        async with assembly.opened(), Databases(Path(state)) as databases, tool_runner:
            models = assembly.runtime.models
            if model not in models:
                raise ConfigError(f"No model is named {model!r}. Configured: {', '.join(models) or 'none'}.")
            with show_progress(f"Starting the model {model}"):
                await wait_for_models([models[model]])
            yield Dependencies(RoleModelCaller(models[model]), sender, redactor, databases, tool_runner, is_dry=dry_run)


def read_upload(file: Path) -> Upload:
    kind = mimetypes.guess_type(file.name)[0] or "text/plain"
    return Upload(str(file), file.name, kind, base64.b64encode(file.read_bytes()).decode())


def print_json(event: Event) -> None:
    click.echo(codec.encode(event))
