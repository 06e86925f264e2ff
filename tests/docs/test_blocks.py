"""Every code block of README and the documentation: it runs or is valid, or is marked as an excerpt."""

import ast
import configparser
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from rightseat import config
from rightseat.cli import main
from tests.clients import test_react_app
from tests.docs.blocks import BLOCK, PAGES, ROOT, Block, find_blocks, forget_module

CHECKED = {"caddy", "console", "ini", "json", "jsx", "nginx", "python", "sh", "toml", "tsx", "yaml"}
PROSE = {"diff", "markdown", "sql", "text"}
"""Diagrams, output, and languages whose blocks other tests run."""
INLINE_COMMAND = re.compile(r"(?<!`)`(rightseat [^`]+)`(?!`)")
MODULES = Path(__file__).parent / "modules"
PARSE = """
import { readFileSync } from "node:fs";
import { parseAst } from "rolldown/parseAst";
const failures = {};
for (const { place, language, code } of JSON.parse(readFileSync(0))) {
  try { parseAst(code, { lang: language }); } catch (error) { failures[place] = error.message; }
}
console.log(JSON.stringify(failures));
"""


def each(*languages: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", [pytest.param(block, id=block.place) for block in find_blocks(*languages)])


def test_every_block_has_a_language_that_is_checked() -> None:
    assert [block.place for block in find_blocks() if block.language not in CHECKED | PROSE] == []


@each("yaml")
def test_a_configuration_is_valid(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    if block.title:
        assert yaml.load(block.code, yaml.CSafeLoader)
        return
    write_modules(block, monkeypatch)
    for name in re.findall(r"\${(\w+)}", block.code):
        monkeypatch.setenv(name, "value")
    file = Path("rightseat.yaml")
    file.write_text(block.code)
    config.read(file)


def write_modules(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules that the configuration names have the page's Python, or else that of `tests/docs/modules`."""
    page = block.place.partition(":")[0]
    python = "\n".join(one.code for one in find_blocks("python") if one.place.startswith(f"{page}:"))
    for module, name in set(re.findall(r"\b(my_\w+):(\w+)", block.code)):
        forget_module(module, monkeypatch)
        if re.search(rf"\bdef {name}\b", python):
            Path(f"{module}.py").write_text(python)
    monkeypatch.syspath_prepend(MODULES)
    monkeypatch.syspath_prepend(Path.cwd())


@each("python")
def test_python_compiles_and_its_imports_exist(block: Block) -> None:
    tree = ast.parse(block.code)
    compile(block.code, block.place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    for module, name in imported_names(tree):
        found = importlib.import_module(module)
        assert name is None or hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}"), f"{module}.{name}"


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Of rightseat and of packages that are installed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if is_installed(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and is_installed(node.module):
            yield from ((node.module, alias.name) for alias in node.names)


def is_installed(module: str) -> bool:
    top = module.partition(".")[0]
    return top == "rightseat" or importlib.util.find_spec(top) is not None


@each("json")
def test_json_can_be_parsed(block: Block) -> None:
    json.loads(block.code)


@each("sh", "console")
def test_commands_of_rightseat_exist_with_their_options(block: Block) -> None:
    for arguments in rightseat_commands(block):
        parse_command(arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_rightseat_in_a_sentence_exist_with_their_options(page: Path) -> None:
    for command in INLINE_COMMAND.findall(BLOCK.sub("", page.read_text())):
        for arguments in split_commands(command.replace("…", "")):
            parse_command(arguments)


@each("sh")
def test_a_shell_accepts_a_block_that_has_no_prompts(block: Block) -> None:
    checked = subprocess.run(["bash", "-n"], input=block.code, capture_output=True, text=True, check=False)

    assert checked.stderr == ""
    assert not [line for line in block.code.splitlines() if line.startswith(("$ ", "> "))]


def rightseat_commands(block: Block) -> Iterator[list[str]]:
    lines = block.code.replace("\\\n", " ").splitlines()
    if block.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for line in lines:
        if "rightseat" in line:
            yield from split_commands(line)


def split_commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    command: list[str] = []
    for word in [*lexer, ";"]:
        if not set(word) <= set("();<>|&"):
            command.append(word)
        elif command:
            yield from find_rightseat(command)
            command = []


def find_rightseat(command: list[str]) -> Iterator[list[str]]:
    """The arguments, if the program is rightseat, perhaps after variables."""
    rest = [word for word in command if "=" not in word] if "=" in command[0] else command
    if rest and Path(rest[0]).name == "rightseat":
        yield rest[1:]


def parse_command(arguments: list[str]) -> None:
    """Raises `click.UsageError` for an unknown command, an unknown option or a word too many."""
    command: click.Command = main
    context = click.Context(command, info_name="rightseat")
    rest = arguments
    while rest := command.make_parser(context).parse_args(list(rest))[1]:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"unexpected: {rest}")
        _, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command, context = found, click.Context(found, parent=context)


@each("toml")
def test_a_toml_block_can_be_read(block: Block) -> None:
    assert tomllib.loads(block.code)


@each("ini")
def test_units_and_environments_can_be_parsed(block: Block) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    parser.read_string(block.code if block.code.startswith("[") else f"[environment]\n{block.code}")

    assert parser.sections()


def test_the_page_about_one_server_shows_the_files_that_tests_run() -> None:
    page = (ROOT / "docs" / "how-to" / "deploy-one-server.md").read_text()

    for file in (ROOT / "deploy" / "one-server").iterdir():
        assert f"\n{file.read_text()}```\n" in page, file.name


def test_the_page_about_a_fleet_shows_the_file_that_tests_run() -> None:
    page = (ROOT / "docs" / "how-to" / "deploy-several-replicas.md").read_text()

    shown = (ROOT / "deploy" / "fleet.yaml").read_text().partition("models:")[2]
    assert f"\nmodels:{shown}```\n" in page


@pytest.mark.clients
def test_pages_in_javascript_can_be_parsed() -> None:
    modules = test_react_app.install()
    blocks = [block._asdict() for block in find_blocks("jsx", "tsx")]

    node = ["node", "--input-type=module", "--eval", PARSE]
    run = subprocess.run(node, input=json.dumps(blocks), cwd=modules, capture_output=True, text=True, check=True)

    assert blocks
    assert json.loads(run.stdout) == {}
