"""Tries the model of a first configuration before the file is written."""

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path

from rightseat.config import FILE, Config, parse
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.egress.redaction import Redactor, find_option_secrets
from rightseat.health.checks import redact_fix
from rightseat.health.context import CheckContext
from rightseat.health.finding import CheckOutcome, Fix, split_advice
from rightseat.health.models import starts_server, try_model

TRIAL_TIMEOUT_S = 30.0


async def try_starter(text: str) -> CheckOutcome:
    """One word and one tool call of the model. A file whose API key is not set yet, or that starts a model server, is
    not tried."""
    try:
        config = parse(text)
    except ConfigError as error:
        return CheckOutcome("skipped", *split_advice(error.message.partition(": ")[2] or error.message, SET_FIRST))
    if starts_server(config.models["default"]):
        return CheckOutcome("skipped", "The model is loaded when the server starts, which may take a minute.")
    redactor = Redactor(secrets=find_option_secrets([config.models["default"].options]))
    outcome = await run_trial(config, redactor)
    return replace(outcome, detail=redactor.redact_text(outcome.detail), fix=redact_fix(outcome.fix, redactor))


def check_starter(text: str) -> None:
    """Raises `ConfigError` if a server with this file would not start: a key is not set, or a package is missing."""
    part = parse(text).models["default"]
    part.module.build(part.options)


SET_FIRST = "Set it in the terminal before the server starts again."


async def run_trial(config: Config, redactor: Redactor) -> CheckOutcome:
    part = config.models["default"]
    context = CheckContext(config.server, Path(FILE), config, redactor=redactor)
    try:
        async with asyncio.timeout(TRIAL_TIMEOUT_S), AsyncExitStack() as stack:
            model = part.module.build(part.options)
            if isinstance(model, AbstractAsyncContextManager):
                await stack.enter_async_context(model)
            return await try_model(model, "default", part, context)
    except TimeoutError:
        fix = Fix("See whether the model server is still loading the model, then choose it again.")
        return CheckOutcome("error", f"No answer within {TRIAL_TIMEOUT_S:g} s.", fix)
    except RightseatError as error:
        return CheckOutcome("error", *split_advice(error.message, "Choose another model."))
