"""`rightseat check`"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import click

from rightseat import app
from rightseat.cli import start
from rightseat.cli.summary import doubts_of, summarize, warnings
from rightseat.config import Config, schema
from rightseat.core.errors import ConfigError


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@start.file_option
@click.option("--schema", "wants_schema", is_flag=True, help="Print the JSON Schema of the file, for editors.")
def command(file: Path | None, path: Path | None, wants_schema: bool) -> None:
    """Say what FILE would serve, or all that is wrong with it.

    Without FILE it looks at rightseat.yaml of this folder, or at what is served without one. Engines are asked which
    model they have; none is started. Where code of plugins is allowed, the layers of its sandbox are tried and named.
    """
    if wants_schema:
        click.echo(json.dumps(schema.whole(), indent=2))
        return
    config = start.load(file or path)
    app.build(config)
    explained = list(explanations(config))
    doubts = [*warnings(config), *doubts_of("toolboxes", config.toolboxes)]
    found = f"errors 0, warnings {len(doubts)}" if doubts else "nothing is wrong"
    click.echo(f"{config.path or 'No file'}: {found}.")
    for line in summarize(config, f"http://{config.server.host}:{config.server.port}"):
        click.echo(line)
    for line in explained:
        click.echo(line)
    for line in doubts:
        click.echo(f"Warning: {line}", err=True)


def explanations(config: Config) -> Iterator[str]:
    """What models and toolboxes report of themselves, below their names."""
    for section, parts in (("models", config.models), ("toolboxes", config.toolboxes)):
        for name, part in parts.items():
            if explain := getattr(part.module, "explain", None):
                try:
                    lines = asyncio.run(_gather(explain(part.options)))
                except ConfigError as error:
                    raise ConfigError(f"{section}.{name}: {error.message}") from error
                if lines:
                    yield f"  {name}:"
                    yield from lines


async def _gather(lines: AsyncIterator[str]) -> list[str]:
    return [f"    {line}" async for line in lines]
