"""Runs a page as a reader would: writes its files, starts its server, enters each command, compares what is printed.

- A `yaml` block without a title is the configuration. A block with a title is the file of that name, and so is a Python
  block whose first line is `# NAME.py, beside the configuration`.
- A `console` block has commands behind `$ `, and below each what it prints; without output nothing is compared. `…`
  stands for any text, at the end of a line also for all that follows on it.
- `rightseat serve` starts the server of the configuration above it, in this process; with `--model` the command itself
  is run. Commands reach it at the address that the page names.
- A model of the type `openai` is the demo model behind OpenAI's API, at another address than the page's.
- A block that is marked as an excerpt is left out.
"""

import asyncio
import re
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rightseat import app, config
from tests.conftest import Serve
from tests.docs.blocks import ROOT, Block, read_blocks

CONFIGURATION = "rightseat.yaml"
NOT_RUN = ("pip install", "npm ", "npx ", "uvicorn ", "brew ", "export ", "git clone", "langgraph ")
"""Beginnings of commands that install or start what the test has or replaces."""
SERVER = re.compile(r"http://(?:localhost|127\.0\.0\.1):(?:8000|7777|8080)")
PROVIDER = """
server: {state_dir: provider}
threads: {type: memory}
models: {default: {type: scripted, chunk_delay: 0}}
faces: [{type: openai, path: /v1}]
"""
MODULE = re.compile(r"# (\w+\.py), beside the configuration\n")
TIMEOUT_S = 60


class Step(NamedTuple):
    """A command of a `console` block, and what the page says that it prints."""

    place: str
    command: str
    output: str


@dataclass
class Reader:
    """Somebody who follows a page in an empty folder."""

    folder: Path
    serve: Serve
    provider: str
    prepare: Callable[[str], str] = str
    """What else is replaced in a configuration: addresses of other servers of the page."""
    url: str = ""
    commands: list[str] = field(default_factory=list)
    """The commands that were run."""

    async def follow(self, page: Path) -> None:
        async with AsyncExitStack() as servers:
            for block in read_blocks(page):
                if block.is_excerpt:
                    continue
                self.write(block)
                for step in steps(block):
                    await self.do(step, servers)

    def write(self, block: Block) -> None:
        name = block.title
        if block.language == "yaml" and name is None:
            name = CONFIGURATION
        elif block.language == "python" and name is None and (match := MODULE.match(block.code)):
            name = match[1]
        if name is None or block.language in ("console", "sh", "text"):
            return
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.configuration(block.code) if name == CONFIGURATION else block.code)

    def configuration(self, text: str) -> str:
        return self.prepare(text).replace(
            "type: openai, model:", f'type: openai, base_url: "{self.provider}/v1", model:'
        )

    async def do(self, step: Step, servers: AsyncExitStack) -> None:
        if step.command.startswith("rightseat serve"):
            await servers.aclose()
            self.url = await servers.enter_async_context(self.start(step.command))
        elif not step.command.startswith(NOT_RUN):
            self.commands.append(step.command)
            printed = await self.run(step.command)
            assert matches(step.output, printed), f"{step.place}: $ {step.command}\nprinted:\n{printed}"

    def start(self, command: str) -> AbstractAsyncContextManager[str]:
        if "--model" in command:
            return start_program(command, self.folder)
        return self.serve(app.build(config.read(self.folder / CONFIGURATION)))

    async def run(self, command: str) -> str:
        command = SERVER.sub(self.url, command) if self.url else command
        program = await asyncio.create_subprocess_exec(
            "bash", "-c", command, cwd=self.folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        async with asyncio.timeout(TIMEOUT_S):
            output, _ = await program.communicate()
        text = output.decode()
        return text.replace(self.url, "http://localhost:8000") if self.url else text


@asynccontextmanager
async def start_program(command: str, folder: Path) -> AsyncIterator[str]:
    """The address of the server that a command starts, at any free port, once its model is loaded."""
    command = re.sub(r" --port \d+", "", command) + " --port 0"
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(*shlex.split(command), cwd=folder, stdout=pipe, stderr=pipe)
    assert program.stdout is not None
    assert program.stderr is not None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            summary = await read_until(program.stdout, "  serves ")
            await read_until(program.stderr, "is loaded")
        yield summary.split()[1].rpartition("/")[0]
    finally:
        program.terminate()
        await program.communicate()


async def read_until(stream: asyncio.StreamReader, words: str) -> str:
    """The first line with these words."""
    while line := (await stream.readline()).decode():
        if words in line:
            return line
    raise AssertionError(f"The server ended before it printed {words!r}.")


def steps(block: Block) -> Iterator[Step]:
    if block.language != "console":
        return
    for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        command, output = split_command(part)
        yield Step(block.place, command, output)


def split_command(text: str) -> tuple[str, str]:
    """The command ends with the first line after which its quotes are closed and no backslash joins the next."""
    lines = text.splitlines()
    for number in range(1, len(lines) + 1):
        command = "\n".join(lines[:number])
        if is_whole(command):
            return command, "\n".join(lines[number:])
    raise AssertionError(f"This command does not end: {text}")


def is_whole(command: str) -> bool:
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def matches(expected: str, printed: str) -> bool:
    """`…` is any text. Ends of lines count, blanks at the end of one and blank lines do not."""
    if not expected.strip():
        return True
    pattern = ".*?".join(re.escape(part) for part in re.sub(r"\n…(?=\n|$)", "…", tidy(expected)).split("…"))
    return re.fullmatch(pattern, SERVER.sub("http://localhost:8000", tidy(printed)), re.DOTALL) is not None


def tidy(text: str) -> str:
    lines = (line.rstrip() for line in SERVER.sub("http://localhost:8000", text).replace("\r\n", "\n").splitlines())
    return "\n".join(line for line in lines if line)


@asynccontextmanager
async def reader(folder: Path, serve: Serve) -> AsyncIterator[Reader]:
    async with serve(app.build(config.parse(PROVIDER, environ={}))) as provider:
        yield Reader(folder, serve, provider)


def page(name: str) -> Path:
    return ROOT / "docs" / "how-to" / f"{name}.md"
