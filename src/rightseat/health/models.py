"""Each model answers with one word, and calls a tool."""

import re
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

from rightseat.concurrency import aclosing
from rightseat.config import ConfiguredPart, written_value
from rightseat.core import errors
from rightseat.core.messages import user
from rightseat.core.model import CallChunk, Model, NoteChunk, Prompt, ReasoningChunk, SupportsReadiness, TextChunk
from rightseat.core.tools import Tool
from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix, known, split_advice
from rightseat.health.readiness import address_of

MODEL_TIMEOUT_S = 60.0
LOADING_TIMEOUT_S = 300.0  # of a model that rightseat starts itself
OLLAMA_PORT = 11434

TOOL = Tool(
    "report_status",
    "Report the status of the system.",
    {
        "type": "object",
        "properties": {"status": {"type": "string", "enum": ["ready"]}},
        "required": ["status"],
        "additionalProperties": False,
    },
)
ONE_WORD = Prompt((user("Reply with one word: ready"),))
ONE_CALL = Prompt((user("Call the tool report_status with the status ready."),), tools=(TOOL,))

NOT_ASKED = "not asked yet. A deep check asks each model for one word."

_NO_CREDIT = re.compile(r"quota|billing|credit|balance|insufficient", re.IGNORECASE)
_CERTIFICATE = re.compile(r"certificate|hostname mismatch", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{(\w+)")


def check_models(context: CheckContext) -> Iterator[Check]:
    for name, part in context.config.models.items() if context.config else ():
        subject, title = f"models.{name}", "The model answers and calls tools"
        if failure := context.failures.get(subject):
            yield Check("model", subject, title, known(explain(failure, name, part, context)))
        elif context.running and not context.running.is_this_process and starts_server(part):
            text = f"The server at {context.running.url} has started this model. A second copy is not started."
            yield Check("model", subject, title, known(CheckOutcome("skipped", text)))
        elif context.trial == "none":
            yield Check("model", subject, title, known(CheckOutcome("skipped", f"{place_of(part)}: {NOT_ASKED}")))
        elif model := context.models.get(name):
            timeout = LOADING_TIMEOUT_S if starts_server(part) else MODEL_TIMEOUT_S
            yield Check("model", subject, title, partial(try_model, model, name, part, context), timeout)


def starts_server(part: ConfiguredPart) -> bool:
    backend = getattr(part.options, "backend", None)
    return backend is not None and getattr(backend, "url", None) is None


async def try_model(model: Model, name: str, part: ConfiguredPart, context: CheckContext) -> CheckOutcome:
    try:
        if isinstance(model, SupportsReadiness):
            await model.wait_until_ready()
        return await judge_model(model, part, calls_tools=context.trial == "word and call")
    except errors.ModelError as error:
        return explain(error, name, part, context)
    except errors.LimitExceeded as error:
        return CheckOutcome("skipped", f"{place_of(part)}: not asked. {error.message}")


async def judge_model(model: Model, part: ConfiguredPart, *, calls_tools: bool) -> CheckOutcome:
    """Raises `ModelError` if it does not answer."""
    where = place_of(part)
    has_text, warnings = await read_first_text(model)
    if not has_text:
        fix = Fix("Send it a question with `rightseat ask`, and see the log of its server.")
        return CheckOutcome("error", f"{where}: the response has no text.", fix)
    if warnings:
        return CheckOutcome("warning", f"{where}: {' '.join(warnings)}", Fix("Correct the model that failed."))
    if part.type == "scripted":
        return CheckOutcome(
            "ok", "The built-in demo model answers. It does not understand language: `rightseat init` adds one."
        )
    if not calls_tools:
        return CheckOutcome("ok", f"{where}: it answers.")
    try:
        has_called = await calls_tool(model)
    except errors.ModelError as error:
        return CheckOutcome("warning", f"{where}: it answers, but fails with a tool: {error.message}", NO_TOOLS)
    if not has_called:
        return CheckOutcome(
            "warning", f"{where}: it answers, but did not call the tool that it was asked to call.", NO_TOOLS
        )
    return CheckOutcome("ok", f"{where}: it answers and calls tools.")


NO_TOOLS = Fix(
    "Use a model that supports tool calls. With `type: completion` every local model calls tools.",
    docs="explanation/tool-calls-on-any-model",
)


async def read_first_text(model: Model) -> tuple[bool, list[str]]:
    """Whether there is any text, and the warnings before it. The rest of the response is not generated."""
    warnings: list[str] = []
    async with aclosing(model.stream(ONE_WORD)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, NoteChunk) and chunk.name == "warning":
                warnings.append(str(chunk.value))
            if isinstance(chunk, TextChunk | ReasoningChunk) and chunk.text.strip():
                return True, warnings
    return False, warnings


async def calls_tool(model: Model) -> bool:
    async with aclosing(model.stream(ONE_CALL)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, CallChunk) and chunk.name == TOOL.name:
                return True
    return False


def place_of(part: ConfiguredPart) -> str:
    """The model's name and address."""
    options = part.options
    url = address_of(getattr(options, "base_url", ""))
    backend = getattr(getattr(options, "backend", None), "place", "")
    return " ".join(filter(None, (getattr(options, "model", None) or part.type, f"at {url}" if url else backend)))


def explain(error: Exception, name: str, part: ConfiguredPart, context: CheckContext) -> CheckOutcome:
    message, model = quote_provider(error), getattr(part.options, "model", None) or part.type
    where = model if address_of(getattr(part.options, "base_url", "")) in message else place_of(part)
    if isinstance(error, errors.ConfigError):
        cause, fix = split_advice(message, f"Correct models.{name}.")
        return CheckOutcome("error", f"{where}: {cause}", fix)
    is_temporary = isinstance(error, errors.ModelBusy | errors.ModelLoading) and not _NO_CREDIT.search(message)
    fix = choose_fix(error, name, part, context)
    return CheckOutcome("warning" if is_temporary else "error", f"{where}: {message}", fix)


def choose_fix(error: Exception, name: str, part: ConfiguredPart, context: CheckContext) -> Fix:
    option = f"models.{name}"
    match error:
        case errors.ModelRefusedKey():
            return fix_key(name, part, context)
        case errors.ModelBusy() if _NO_CREDIT.search(quote_provider(error)):
            text = "Add credit or raise the limit in the billing settings of the provider, or set"
            return Fix(f"{text} {option}.api_key to the key of another account.")
        case errors.ModelBusy():
            return Fix("Try again later, or add a model of `type: fallback` with a second one.")
        case errors.ModelRefused(upstream_status=404):
            return fix_address(name, part)
        case errors.ModelLoading():
            return Fix("Wait until the model is loaded.")
        case errors.ModelTimeout():
            return Fix(f"See the log of the model server, or raise {option}.timeout.")
        case errors.ModelUnreachable() if _CERTIFICATE.search(str(error)):
            return fix_certificate(name, str(error))
        case errors.ModelUnreachable():
            return fix_unreachable(name, part)
    return Fix(f"Correct {option} as the message says.")


def quote_provider(error: Exception) -> str:
    """The message without its advice, which the fix replaces, and with the provider's own text if that is missing."""
    message, text = str(error).partition(" Check `")[0], getattr(error, "upstream_text", "")
    return f"{message} {text}" if text and text not in message else message


def fix_key(name: str, part: ConfiguredPart, context: CheckContext) -> Fix:
    option = f"models.{name}.api_key"
    if getattr(part.options, "api_key", None) is None:
        return Fix(f"Set {option}.", yaml=f"models: {{{name}: {{api_key: '${{OPENAI_API_KEY}}'}}}}")
    variable = find_key_variable(name, context)
    if variable is None:
        return Fix(f"Set {option} to a valid key of this provider.")
    text = f"Set the environment variable {variable}, which {option} reads, to a valid key of this provider."
    return Fix(text, f"export {variable}=…")


def find_key_variable(name: str, context: CheckContext) -> str | None:
    """The environment variable that the file names; OPENAI_API_KEY if there is no file."""
    if context.config is None or context.config.path is None:
        return "OPENAI_API_KEY"
    found = _VARIABLE.search(written_value(context.config.path, ("models", name, "api_key")))
    return found[1] if found else None


def fix_address(name: str, part: ConfiguredPart) -> Fix:
    """A 404 means that the address is wrong, or that the server does not have the model."""
    url = str(getattr(part.options, "base_url", ""))
    option = f"models.{name}"
    if part.type == "openai" and not re.search(r"/v\d", urlsplit(url).path):
        better = f"{address_of(url).rstrip('/')}/v1"
        return Fix(
            f"Set {option}.base_url to the address before /chat/completions, which usually ends in /v1.",
            yaml=f"models: {{{name}: {{base_url: '{better}'}}}}",
        )
    model = getattr(part.options, "model", "")
    command = f"ollama pull {model}" if urlsplit(url).port == OLLAMA_PORT else None
    return Fix(f"Set {option}.model to a model that the server has, and see that {option}.base_url is right.", command)


def fix_certificate(name: str, message: str) -> Fix:
    """The server runs, and this machine does not trust it."""
    option = f"models.{name}"
    if "expired" in message or "not yet valid" in message:
        text = "Renew the certificate of the model server, or set the clock of this machine if it is wrong."
        return Fix(text, "date -u", docs="how-to/use-a-proxy")
    if "mismatch" in message or "not valid for" in message:
        return Fix(f"Set {option}.base_url to a name that the certificate of the model server has.")
    return Fix(
        f"Set {option}.tls.ca to the certificate of the authority that has signed the one of the model server.",
        yaml=f"models: {{{name}: {{tls: {{ca: /etc/ssl/own-ca.pem}}}}}}",
        docs="how-to/use-a-proxy",
    )


def fix_unreachable(name: str, part: ConfiguredPart) -> Fix:
    backend = getattr(part.options, "backend", None)
    url = getattr(part.options, "base_url", None) or getattr(backend, "url", None)
    option = f"models.{name}.{'base_url' if backend is None else 'backend.url'}"
    if url is None:
        return Fix("See the messages above it, and the log of the model server.")
    command = "ollama serve" if urlsplit(url).port == OLLAMA_PORT else None
    return Fix(f"Start the model server, or correct {option}.", command)
