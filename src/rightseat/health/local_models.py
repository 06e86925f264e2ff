"""Models that this machine already has: servers at their usual ports, GGUF files, and API keys in the environment.

Only fixed places are looked at, and values of variables are never read.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from rightseat.config.starter import DEFAULT_PORT, PROVIDERS, Provider, write_starter
from rightseat.config.variables import is_variable_set
from rightseat.egress.client import Client
from rightseat.egress.transport import TransportError

LOCAL_SERVERS = {"ollama": ("Ollama", 11434), "llama_server": ("llama-server", 8080), "lm_studio": ("LM Studio", 1234)}
FIND_TIMEOUT_S = 1.5
MAX_LIST_BYTES = 1_000_000
MAX_MODELS = 50
MAX_MODEL_CHARS = 200
MAX_URL_CHARS = 500
OTHER = "other"
"""The choice of a server at any address, with OpenAI's API. The page names the address and the variable of its key."""
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


class ModelChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model that a first configuration can have. `models` are those that were found; the first is proposed.

    `is_found`: its server answers, or its variable is set, or there is a file.
    """

    id: str
    provider: str
    """A key of `PROVIDERS`."""
    name: str
    models: Sequence[str]
    is_found: bool = False
    base_url: str = ""
    variable: str = ""


class UnknownChoice(ValueError):
    """There is no such choice, no such file, or no such address."""


async def find_choices() -> list[ModelChoice]:
    """Every provider, and the local servers that answer."""
    servers = await asyncio.gather(*(find_server(id) for id in LOCAL_SERVERS))
    files = await asyncio.to_thread(find_gguf_files)
    return [
        *(server for server in servers if server.is_found or server.id == "ollama"),
        *(describe_provider(id) for id in ("openai", "anthropic", "google")),
        ModelChoice("gguf", "gguf", "GGUF", files, is_found=bool(files)),
        ModelChoice(OTHER, "ollama", OTHER, ()),
        ModelChoice("demo", "demo", "demo", ()),
    ]


async def find_server(id: str) -> ModelChoice:
    name, port = LOCAL_SERVERS[id]
    base_url = f"http://127.0.0.1:{port}/v1"
    models = await list_models(base_url)
    proposed = models or [PROVIDERS["ollama"].model]
    return ModelChoice(id, "ollama", name, proposed, is_found=models is not None, base_url=base_url)


async def list_models(base_url: str) -> list[str] | None:
    """The models of an OpenAI-compatible server; None if none answers."""
    client = Client(base_url, {}, timeout=FIND_TIMEOUT_S, connect_timeout=FIND_TIMEOUT_S)
    try:
        async with client.get("/models") as response:
            body: Any = json.loads(await response.text(MAX_LIST_BYTES))
        return [str(one["id"]) for one in body["data"]][:MAX_MODELS]
    except (TransportError, ValueError, LookupError, TypeError):
        return None
    finally:
        await client.aclose()


def describe_provider(id: str) -> ModelChoice:
    provider = PROVIDERS[id]
    is_set = is_variable_set(provider.variable)
    return ModelChoice(id, id, provider.label, [provider.model], is_found=is_set, variable=provider.variable)


def find_gguf_files() -> list[str]:
    """In the working folder and in `~/models`."""
    found = [*sorted(Path().glob("*.gguf")), *sorted(Path("~/models").expanduser().glob("*.gguf"))]
    return [str(file) for file in found if file.is_file()][:MAX_MODELS]


def write_choice(id: str, model: str, *, base_url: str = "", variable: str = "", port: int = DEFAULT_PORT) -> str:
    """The text of the configuration file for a choice. Raises `UnknownChoice`.

    `base_url` and `variable` are those of another server; `port` is that on which the server will listen.
    """
    if not model.isprintable() or len(model) > MAX_MODEL_CHARS:
        raise UnknownChoice(f"The name of a model has at most {MAX_MODEL_CHARS} printable characters.")
    if id == OTHER:
        return write_starter(describe_other(model, base_url, variable), model, base_url, port=port)
    provider = PROVIDERS.get("ollama" if id in LOCAL_SERVERS else id)
    if provider is None:
        known = ", ".join((*LOCAL_SERVERS, OTHER, *PROVIDERS))
        raise UnknownChoice(f"There is no choice {id[:50]!r}. Choices: {known}.")
    if id == "gguf" and model not in find_gguf_files():
        raise UnknownChoice("Choose one of the GGUF files that were found in this folder and in ~/models.")
    address = f"http://127.0.0.1:{LOCAL_SERVERS[id][1]}/v1" if id in LOCAL_SERVERS else ""
    return write_starter(provider, model or provider.model, address, port=port)


def describe_other(model: str, base_url: str, variable: str) -> Provider:
    """Raises `UnknownChoice`."""
    if not model:
        raise UnknownChoice("Name the model, as the server calls it.")
    if not is_plain_url(base_url):
        raise UnknownChoice("Write the address before /chat/completions, such as http://10.0.0.5/v1, without a key.")
    if variable and VARIABLE.fullmatch(variable) is None:
        raise UnknownChoice("The name of an environment variable has capital letters, digits and _, as GROQ_API_KEY.")
    return Provider(OTHER, type="openai", variable=variable)


def is_plain_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_short = url.isascii() and url.isprintable() and " " not in url and len(url) <= MAX_URL_CHARS
    is_bare = not (parts.username or parts.password or parts.query or parts.fragment)
    return is_short and is_bare and has_port and parts.scheme in ("http", "https") and bool(parts.hostname)
