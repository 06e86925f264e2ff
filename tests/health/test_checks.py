"""Checks run at the same time, and none of them hides another."""

import asyncio
import time
from collections.abc import Sequence

from rightseat.egress.redaction import Redactor
from rightseat.health.checks import run_check
from rightseat.health.finding import Check, CheckOutcome, Fix, split_advice

SECRET = "canary-of-a-secret"


async def never() -> CheckOutcome:
    await asyncio.Event().wait()
    raise AssertionError


async def broken() -> CheckOutcome:
    raise LookupError("no such thing")


async def several() -> Sequence[CheckOutcome]:
    fix = Fix(f"Use {SECRET}.", f"export KEY={SECRET}", f"key: {SECRET}", "how-to/connect-a-model")
    return [CheckOutcome("ok", "one"), CheckOutcome("error", f"with {SECRET}", fix, "models.other")]


async def test_a_check_that_never_ends_is_an_error_after_its_timeout() -> None:
    started = time.monotonic()
    (found,) = await run_check(Check("model", "models.default", "It answers", never, 0.05), Redactor())

    assert time.monotonic() - started < 5
    assert (found.state, found.detail) == ("error", "No result within 0.05 s.")
    assert found.milliseconds >= 50


async def test_a_check_with_a_defect_is_a_finding() -> None:
    (found,) = await run_check(Check("model", "models.default", "It answers", broken), Redactor())

    assert (found.state, found.detail) == ("error", "The check failed: LookupError: no such thing")


async def test_secrets_are_masked_in_the_whole_finding() -> None:
    first, second = await run_check(Check("x", "models.default", "X", several), Redactor(secrets=[SECRET]))

    assert (first.subject, first.state, first.fix) == ("models.default", "ok", None)
    assert second.to_json() == {
        "id": "x",
        "subject": "models.other",
        "state": "error",
        "title": "X",
        "detail": "with ••••",
        "fix": {
            "text": "Use ••••.",
            "command": "export KEY=••••",
            "yaml": "key: ••••",
            "docs": "how-to/connect-a-model",
        },
        "milliseconds": second.milliseconds,
    }


def test_a_message_is_split_into_cause_and_cure() -> None:
    assert split_advice("It is locked. Stop it, or wait. Or not.", "") == (
        "It is locked.",
        Fix("Stop it, or wait. Or not."),
    )
    assert split_advice("x.y: should be v1.2, not 'a'.", "Correct it.") == (
        "x.y: should be v1.2, not 'a'.",
        Fix("Correct it."),
    )
    assert split_advice("It needs a package: pip install 'rightseat[mcp]'", "") == (
        "It needs a package.",
        Fix("Install the package.", "pip install 'rightseat[mcp]'"),
    )
    assert split_advice("It needs a package: uv pip install -e '.[mcp]'", "") == (
        "It needs a package.",
        Fix("Install the package.", "uv pip install -e '.[mcp]'"),
    )
