"""Runs all checks at the same time, each with its own timeout. A new check is a function in `CHECKS`."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace

from rightseat.core.errors import RightseatError
from rightseat.egress.redaction import Redactor
from rightseat.health.address import check_port
from rightseat.health.agents import check_agents
from rightseat.health.clock import check_clock
from rightseat.health.configuration import check_configuration
from rightseat.health.context import CheckContext
from rightseat.health.faces import check_faces
from rightseat.health.finding import Check, CheckOutcome, Finding, Fix, split_advice
from rightseat.health.models import check_models
from rightseat.health.origins import check_origins
from rightseat.health.services import check_services
from rightseat.health.sign_in import check_sign_in
from rightseat.health.storage import check_databases, check_state_dir
from rightseat.health.toolboxes import check_plugins, check_toolboxes
from rightseat.health.versions import check_versions

logger = logging.getLogger(__name__)

CHECKS: tuple[Callable[[CheckContext], Iterable[Check]], ...] = (
    check_versions,
    check_configuration,
    check_port,
    check_state_dir,
    check_databases,
    check_services,
    check_sign_in,
    check_models,
    check_toolboxes,
    check_plugins,
    check_agents,
    check_faces,
    check_origins,
    check_clock,
)

REPORT = "Report it with this output: it is a defect of rightseat."


async def run_checks(context: CheckContext, max_seconds: float | None = None) -> AsyncIterator[Finding]:
    """Yield the findings in the order of `CHECKS`, each as soon as it and all before it are known.

    `max_seconds` limits the timeout of every check.
    """
    checks = [limit_timeout(check, max_seconds) for find in CHECKS for check in find(context)]
    tasks = [asyncio.create_task(run_check(check, context.redactor)) for check in checks]
    try:
        for task in tasks:
            for finding in await task:
                yield finding
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def limit_timeout(check: Check, max_seconds: float | None) -> Check:
    return check if max_seconds is None else replace(check, timeout=min(check.timeout, max_seconds))


async def run_check(check: Check, redactor: Redactor) -> list[Finding]:
    started = time.monotonic()
    outcomes = await run_with_timeout(check)
    milliseconds = round((time.monotonic() - started) * 1000)
    return [make_finding(check, outcome, milliseconds, redactor) for outcome in outcomes]


async def run_with_timeout(check: Check) -> Sequence[CheckOutcome]:
    try:
        async with asyncio.timeout(check.timeout):
            found = await check.run()
            return [found] if isinstance(found, CheckOutcome) else found
    except TimeoutError:
        text = f"No result within {check.timeout:g} s."
        return [CheckOutcome("error", text, Fix("See whether the server behind it responds, and how slowly."))]
    except RightseatError as error:
        cause, fix = split_advice(error.message, "The server's log has more about it.")
        return [CheckOutcome("error", cause, fix)]
    except Exception as error:
        logger.exception("the check %s of %s failed", check.id, check.subject)
        return [CheckOutcome("error", f"The check failed: {type(error).__name__}: {error}", Fix(REPORT))]


def make_finding(check: Check, outcome: CheckOutcome, milliseconds: int, redactor: Redactor) -> Finding:
    return Finding(
        check.id,
        outcome.subject or check.subject,
        outcome.status,
        check.title,
        redactor.redact_text(outcome.detail),
        redact_fix(outcome.fix, redactor),
        milliseconds,
    )


def redact_fix(fix: Fix | None, redactor: Redactor) -> Fix | None:
    if fix is None:
        return None
    command, yaml = (redactor.redact_text(text) if text else None for text in (fix.command, fix.yaml))
    return Fix(redactor.redact_text(fix.text), command, yaml, fix.docs)
