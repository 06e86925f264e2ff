"""Reads a person's decision from the answer to an approval, and writes it to the audit log.

Only an explicit approval runs a tool: `true`, an object whose `approved` or `approve` is exactly `true`, or an object
whose `decision` is `"allow"`. Every other payload is a denial: no payload, any text, any number. A contradictory
object, such as `{"approved": true, "decision": "deny"}`, is also a denial.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from rightseat.core.ask import Answer, Ask
from rightseat.core.audit import AUDIT_LOGGER, KIND, USER
from rightseat.core.events import Interrupt
from rightseat.core.messages import Call
from rightseat.core.types import JsonValue
from rightseat.text import one_line, truncate

audit = logging.getLogger(AUDIT_LOGGER)

APPROVAL = "approval_required"
"""The `reason` of an interrupt that asks for an approval."""

MAX_REASON_CHARS = 2000
MAX_VALUE_CHARS = 200

Decision = Literal["allow", "edit", "deny"]
ApprovalOutcome = Literal["allow", "edit", "deny", "cancelled", "expired"]


def is_approved(answer: Answer) -> bool:
    """Whether the call may be run with the arguments that were shown."""
    return answer.status == "resolved" and read_decision(answer.payload) == "allow"


def read_decision(payload: JsonValue) -> Decision:
    """`edit` is an approval with other `arguments`. A caller that cannot check them must treat it as a denial."""
    if payload is True:
        return "allow"
    if not isinstance(payload, dict):
        return "deny"
    flags = [payload[name] for name in ("approved", "approve") if name in payload]
    decision = payload.get("decision", "allow" if flags else "deny")
    if any(flag is not True for flag in flags):
        return "deny"
    if decision == "edit" and isinstance(payload.get("arguments"), dict):
        return "edit"
    return "allow" if decision == "allow" else "deny"


def read_reason(answer: Answer) -> str:
    """Why a person denied an approval, for the model; empty if the answer does not say."""
    reason = answer.payload.get("reason") if isinstance(answer.payload, dict) else None
    return truncate(one_line(reason), MAX_REASON_CHARS) if isinstance(reason, str) else ""


def fill_message(message: str, arguments: Mapping[str, JsonValue]) -> str:
    """Put arguments in the place of their names in braces, each on one line: it is a model that wrote them."""

    def write(match: re.Match[str]) -> str:
        value = arguments.get(match[1], match[0])
        return truncate(one_line(value if isinstance(value, str) else json.dumps(value)), MAX_VALUE_CHARS)

    return re.sub(r"\{(\w+)\}", write, message)


def explain_permission(tools: Iterable[str]) -> str:
    """The configuration with which these tools run without approval."""
    names = ", ".join(sorted(set(tools)))
    if names.startswith("memory_"):
        return "What does not make it ask is in `memory.trusted_tools` and `memory.trusted_context` of the agent."
    return (
        f"To run {names} without approval, write `approval: never` for the agent, or `read_only_tools: [{names}]` for "
        "the MCP server if it only reads."
    )


def record_decisions(ask: Ask) -> None:
    """Write an audit line for each approval that the ask decides."""
    for answer in ask.answers:
        outcome: ApprovalOutcome = "cancelled" if answer.status == "cancelled" else read_decision(answer.payload)
        tool = answer.subject or (answer.call.name if answer.call else "")
        _record(answer.reason, answer.by or ask.principal.id, ask.agent, tool, answer.interrupt_id, outcome)


def record_closed(user: str, agent: str, interrupt: Interrupt, call: Call | None, outcome: ApprovalOutcome) -> None:
    """Write an audit line for an approval that was closed without an answer. Other interrupts write none."""
    _record(interrupt.reason, user, agent, interrupt.subject or (call.name if call else ""), interrupt.id, outcome)


def _record(reason: str, user: str, agent: str, tool: str, interrupt_id: str, outcome: ApprovalOutcome) -> None:
    """The line contains neither arguments nor payloads: they may be secrets."""
    if reason == APPROVAL and tool:  # without a tool, a remote agent asked, and it decides
        line = "approval: user=%r agent=%r tool=%r interrupt=%r decision=%s"
        audit.info(line, user, agent, tool, interrupt_id, outcome, extra={KIND: "approval", USER: user})
