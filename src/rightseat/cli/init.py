"""`rightseat init`: writes a starter configuration."""

from pathlib import Path

import click

from rightseat import config
from rightseat.cli.terminal_answers import is_attended
from rightseat.config.starter import PROVIDERS, Provider, create_file, write_schema, write_starter
from rightseat.config.variables import environment
from rightseat.core.errors import ConfigError
from rightseat.installation import install_command


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=config.FILE)
@click.option("--provider", type=click.Choice(list(PROVIDERS)), help="The model provider.  [default: asks]")
@click.option("--model", help="The model, or the GGUF file.  [default: asks]")
@click.option("--base-url", metavar="URL", help="The address of the model server, for --provider ollama.")
def command(file: Path, provider: str | None, model: str | None, base_url: str | None) -> None:
    """Write a starter rightseat.yaml.

    Asks for a model provider at a terminal. Without one, and without --provider, it writes OpenAI if OPENAI_API_KEY is
    set, else the built-in demo model. An existing FILE is never overwritten.
    """
    if file.exists():
        raise ConfigError(f"{file} already exists. Remove it, or write another: rightseat init FILE.")
    if provider is None and is_attended():
        provider, model, base_url = prompt_for_provider(model, base_url)
    default = "openai" if config.has_openai_key() else "demo"
    chosen = PROVIDERS[provider or default]
    check_options(chosen, model, base_url)
    create_file(file, write_starter(chosen, model or chosen.model, base_url or chosen.base_url, has_schema=True))
    write_schema(file.parent)
    click.echo(f"Wrote {file}: {describe(chosen, model or chosen.model)}.")
    announce_next(file, chosen, model or chosen.model)


def prompt_for_provider(model: str | None, base_url: str | None) -> tuple[str, str | None, str | None]:
    names = list(PROVIDERS)
    click.echo("Which model should respond?")
    for number, provider in enumerate(PROVIDERS.values(), 1):
        click.echo(f"  {number}  {provider.label}")
    default = 1 + names.index("openai" if config.has_openai_key() else "demo")
    name = names[click.prompt("Number", type=click.IntRange(1, len(names)), default=default) - 1]
    chosen = PROVIDERS[name]
    if chosen.base_url and base_url is None:
        base_url = click.prompt("Address", default=chosen.base_url)
    if chosen.model and model is None:
        model = click.prompt("File" if chosen.type == "completion" else "Model", default=chosen.model)
    return name, model, base_url


def check_options(provider: Provider, model: str | None, base_url: str | None) -> None:
    if model and not provider.model:
        raise ConfigError("--model has no effect on the built-in demo model. Choose another --provider.")
    if base_url and not provider.base_url:
        raise ConfigError("--base-url is the address of an OpenAI-compatible server: it needs --provider ollama.")


def describe(provider: Provider, model: str) -> str:
    if not provider.type:
        return "the built-in demo model, which needs no key"
    return f"{provider.label.partition(',')[0]}, {model}" if provider.type != "completion" else f"the file {model}"


def announce_next(file: Path, provider: Provider, model: str) -> None:
    if provider.variable and not environment(provider.variable):
        click.echo(f"First set {provider.variable} to your API key: export {provider.variable}=…")
    if provider.type == "completion" and not (file.parent / model).is_file():
        click.echo(f"There is no file {file.parent / model} yet. Put it there, or correct `model` in {file}.")
    if provider.type == "completion":
        click.echo(f"A GGUF file needs llama-server on the PATH, and packages: {install_command('local')}")
    where = "" if str(file) == config.FILE else f" -c {file}"
    click.echo(f"Next: `rightseat chat{where}`, or `rightseat serve{where}`.")
