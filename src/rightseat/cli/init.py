"""`rightseat init`"""

from pathlib import Path

import click

from rightseat import config
from rightseat.core.errors import ConfigError

OPENAI = """\
    type: openai
    model: gpt-4o-mini
    api_key: ${OPENAI_API_KEY}
    # base_url: http://localhost:11434/v1   # any server that speaks OpenAI's wire: Ollama, vLLM, Groq
"""

SCRIPTED = """\
    type: scripted   # built in, needs no key and does not think
    # A real one: take the line above away, and the # from these.
    # type: openai
    # model: gpt-4o-mini
    # api_key: ${OPENAI_API_KEY}
    # base_url: http://localhost:11434/v1   # any server that speaks OpenAI's wire: Ollama, vLLM, Groq
"""

TEXT = """\
# What rightseat serves. `rightseat check` reads this file and says what is wrong with it.

models:
  default:
{model}
agents:
  default:
    model: default
    instructions: You are a helpful copilot. Be brief.
    # tools: [my_tools:get_weather]   # Python functions in my_tools.py, beside this file

faces:
  - type: copilotkit
    path: /copilotkit
  - type: openai
    path: /v1

server:
  host: 127.0.0.1
  port: 8000
  # origins: ["http://localhost:3000"]   # web pages that may call; without it, all pages of this machine
"""


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=config.FILE)
def command(file: Path) -> None:
    """Write a first rightseat.yaml.

    FILE is where it is written; what is there is never overwritten.
    """
    has_key = config.has_openai_key()
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(TEXT.format(model=OPENAI if has_key else SCRIPTED))
    except FileExistsError:
        raise ConfigError(f"{file} is there already. Remove it, or name another: rightseat init FILE.") from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}.") from error
    click.echo(f"Wrote {file}: {'OpenAI, with the key in OPENAI_API_KEY' if has_key else 'a model that needs no key'}.")
    where = "" if str(file) == config.FILE else f" -c {file}"
    click.echo(f'Next: `rightseat serve{where}`, or `rightseat ask{where} "Hello"`.')
