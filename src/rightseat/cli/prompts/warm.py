"""`rightseat prompts warm`: processes the beginning of prompts once, so that no request waits for it."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from rightseat.cli import setup
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.core.messages import Message, system
from rightseat.core.tools import Tool
from rightseat.core.types import JSON_ERRORS
from rightseat.faces.openai.decoder import RequestTool, read_tools
from rightseat.faces.openai.messages import RequestMessage, read_messages


class WarmRequest(msgspec.Struct):
    """The part of a chat completion request that conversations share."""

    messages: list[RequestMessage]
    tools: list[RequestTool] | None = None


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@setup.file_option
@click.option("--model", default="default", help="The configured model, or a GGUF file.  [default: default]")
def command(file: Path, path: Path | None, model: str) -> None:
    """Process the beginning of prompts in FILE and save it for the server.

    FILE is a text, which is the system message, or a chat completion request with `messages` and `tools`. Conversations
    that begin with it then start from what was saved. A running server finds it, too.
    """
    messages, tools = read_file(file)
    config, name = find_model(path, model)
    setup.set_up_logging()
    warmed = asyncio.run(warm(config, name, messages, tools))
    click.echo(f"Processed {warmed.tokens} tokens in {warmed.seconds:.1f} s and saved them as {warmed.name}.")


def read_file(file: Path) -> tuple[Sequence[Message], Sequence[Tool]]:
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    try:
        is_request = isinstance(json.loads(text), dict)
    except ValueError:
        is_request = False
    if not is_request:
        return (system(text.strip()),), ()
    try:
        request = msgspec.json.decode(text.encode(), type=WarmRequest)
    except JSON_ERRORS as error:
        raise ConfigError(f"{file} is JSON, but no chat completion request: {error}.") from error
    warnings: list[str] = []
    messages = read_messages(request.messages, warnings)
    for warning in warnings:
        click.echo(f"Warning: {warning}", err=True)
    return messages, [Tool.offered(offer) for offer in read_tools(request.tools or ())]


def find_model(path: Path | None, model: str) -> tuple[Config, str]:
    if path is None and model.endswith(".gguf"):
        return setup.load_model(Path(model)), "default"
    config = setup.load(path)
    if model not in config.models:
        raise ConfigError(f"There is no model {model!r}. Configured: {', '.join(config.models)}.")
    return config, model


async def warm(config: Config, name: str, messages: Sequence[Message], tools: Sequence[Tool]) -> Any:
    part = config.models[name]
    if part.type != "completion":
        raise ConfigError(f"The model {name!r} has the type {part.type!r}: only `completion` has a prompt cache here.")
    model = part.module.build(part.options)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(model)
        await model.wait_until_ready()
        return await model.warm(messages, tools)
