"""`rightseat plugin try`"""

import asyncio
import base64
import json
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from rightseat import app
from rightseat.cli import start
from rightseat.cli.ask import Failed, wait_for
from rightseat.cli.plugin import lib_option
from rightseat.config import FILE, Config, has_openai_key, in_memory
from rightseat.config.variables import environment
from rightseat.core.ask import Answer
from rightseat.core.errors import ConfigError
from rightseat.core.events import Custom, Event, Interrupt, RunFinished, TextDelta, TextEnded
from rightseat.core.text import truncate
from rightseat.core.values import JsonValue
from rightseat.egress.door import Door
from rightseat.egress.redaction import Redactor
from rightseat.egress.secrets import PREFIX, Secrets
from rightseat.plugins import flows
from rightseat.plugins.cases.running import Plainly
from rightseat.plugins.definition import Plugin
from rightseat.plugins.flows import Means
from rightseat.plugins.loading import Operator, load
from rightseat.plugins.operations import Sender
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scene import Scene, Upload
from rightseat.plugins.speaking import ModelSpeaker
from rightseat.plugins.sql.databases import Databases


@click.command("try")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("flow")
@click.argument("question")
@start.file_option
@click.option("--model", default="default", show_default=True, help="Which of the configured models speaks.")
@click.option("--file", "files", type=click.Path(path_type=Path, exists=True), multiple=True, help="A file to hand in.")
@click.option("--dry-run", is_flag=True, help="Send, query and run nothing; show what would be sent.")
@click.option("--allow-private", is_flag=True, help="Let it reach the private addresses that it asks for.")
@lib_option
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
) -> None:
    """Run FLOW of the plugin in DIR with QUESTION.

    It runs here in the terminal, with a model of the configuration. Secrets are read from the environment
    (RIGHTSEAT_SECRET_…). Ends with 1 unless the flow succeeds.
    """
    start.set_up_logging()
    plugin = loaded(folder, allow_lib)
    found = plugin.flow(flow)
    if found is None:
        raise ConfigError(f"There is no flow {flow!r}. There are: {', '.join(plugin.flows) or 'none'}.")
    if path is None and not Path(FILE).exists() and not has_openai_key():
        click.echo(
            f"There is no {FILE}, so a model speaks that understands nothing. `rightseat init` writes one.", err=True
        )
    scene = Scene(question, files=tuple(map(uploaded, files)))

    async def run() -> JsonValue:
        async with ready(plugin, start.load(path), model, dry_run, allow_private, allow_lib) as means:
            progress, answer, end = None, None, None
            while True:
                asked: tuple[Interrupt, ...] = ()
                async for event in flows.run(plugin, found, scene, means, Plainly(), progress=progress, answer=answer):
                    tell(event)
                    asked = event.interrupts if isinstance(event, RunFinished) else ()
                    if isinstance(event, Custom) and event.name == "flow.finished":
                        end = event.value
                if not asked:
                    return end
                progress, answer = flows.read(asked[0].memo), put_to_person(asked[0])

    if dry_run:
        click.echo(
            "A dry run: nothing is sent, queried or run. What comes back is made up, and so is the answer.", err=True
        )
    check_end(flow, asyncio.run(run()))


def check_end(flow: str, end: JsonValue) -> None:
    """Raises `Failed` unless it succeeded."""
    match end:
        case {"status": "succeeded"}:
            return
        case {"status": str(status), "error": {"code": str(code), "message": str(message), "step": str(step)}}:
            advice = (
                " --allow-private lets it reach those that its plugin.json names." if code == "egress_blocked" else ""
            )
            raise Failed(f"The flow {flow} failed in its step {step} ({status}, {code}): {message}{advice}")
        case {"status": "cancelled"}:
            raise Failed(f"The flow {flow} was stopped.")
    raise Failed(f"The flow {flow} did not come to its end.")


def loaded(folder: Path, allow_lib: bool) -> Plugin:
    try:
        first = load(folder)
        digest = first.plugin.lib if first.plugin is not None and allow_lib else None
        found = load(folder, operator=Operator(lib=frozenset([digest]))) if digest else first
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
    if found.plugin is None:
        raise ConfigError(f"The plugin has errors: {found.errors[0]}")
    return found.plugin


@asynccontextmanager
async def ready(
    plugin: Plugin, config: Config, model: str, dry_run: bool, allow_private: bool, allow_lib: bool
) -> AsyncIterator[Means]:
    assembly = app.assemble(in_memory(config))
    redactor = Redactor()
    places = plugin.allow_private if allow_private else ()
    sender = Sender(Door(), Secrets(environment(PREFIX)), redactor, lambda plugin: places)
    tool_runner = ToolRunner([plugin.lib] if plugin.lib and allow_lib else [])
    with TemporaryDirectory() as state:
        async with assembly.opened(), Databases(Path(state)) as databases, tool_runner:
            models = assembly.runtime.models
            if model not in models:
                raise ConfigError(f"No model is named {model!r}. Configured: {', '.join(models) or 'none'}.")
            await wait_for([models[model]])
            yield Means(ModelSpeaker(models[model]), sender, redactor, databases, tool_runner, is_dry=dry_run)


def uploaded(file: Path) -> Upload:
    kind = mimetypes.guess_type(file.name)[0] or "text/plain"
    return Upload(str(file), file.name, kind, base64.b64encode(file.read_bytes()).decode())


def tell(event: Event) -> None:
    """Answers go to stdout, everything else to stderr."""
    if isinstance(event, TextDelta):
        click.echo(event.text, nl=False)
    elif isinstance(event, TextEnded):
        click.echo()
    elif isinstance(event, Custom):
        shown = json.dumps(event.value, ensure_ascii=False)
        click.echo(f"{event.name} {truncate(shown, 2000)}", err=True)


def put_to_person(asked: Interrupt) -> Answer:
    click.echo(asked.message, err=True)
    payload: JsonValue
    if asked.reason == "input_required":
        properties = asked.schema.get("properties") if isinstance(asked.schema, dict) else None
        names = list(properties) if isinstance(properties, dict) else []
        if wanting := [name for name in names if isinstance(properties, dict) and wants_a_file(properties[name])]:
            raise Failed(f"{', '.join(wanting)}: a file is needed, and there is none. Hand one in with --file.")
        payload = {name: read_value(click.prompt(name, err=True)) for name in names}
    elif asked.reason == "approval_required":
        payload = click.confirm("Allow it?", err=True)
    else:
        payload = click.prompt("repeat, skip or stop", type=click.Choice(["repeat", "skip", "stop"]), err=True)
    return Answer(asked.id, "resolved", payload, memo=asked.memo)


def wants_a_file(schema: JsonValue) -> bool:
    """Where no file was handed in, nothing fits."""
    inner = schema.get("items", schema) if isinstance(schema, dict) else None
    return isinstance(inner, dict) and inner.get("not") == {}


def read_value(text: str) -> JsonValue:
    """Numbers and the like as JSON, everything else as it was typed."""
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value
