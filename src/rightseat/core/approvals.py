"""Decisions on approvals: how an answer is read, and the audit log of them.

Only an explicit yes runs a tool: `true`, an object whose `approved` or `approve` is exactly `true`, or one whose
`decision` is `"allow"`. Every other payload is a no: none at all, any text, any number. An object that contradicts
itself, such as `{"approved": true, "decision": "deny"}`, is a no, too.
"""

import logging
from typing import Literal

from rightseat.core.ask import Answer, Ask
from rightseat.core.events import Interrupt
from rightseat.core.messages import Call
from rightseat.core.values import JsonValue

audit = logging.getLogger("rightseat.audit")

APPROVAL = "approval_required"
"""The `reason` of an interrupt that asks whether something may be done."""

Decision = Literal["allow", "edit", "deny"]
Outcome = Literal["allow", "edit", "deny", "cancelled", "expired"]


def is_approved(answer: Answer) -> bool:
    """May the call be run with the arguments that were shown?"""
    return answer.status == "resolved" and read_decision(answer.payload) == "allow"


def read_decision(payload: JsonValue) -> Decision:
    """`edit` is an approval with other `arguments`, which the caller has to check; where it cannot, it is a no."""
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


def record_decisions(ask: Ask) -> None:
    """Write an audit line for each approval that the ask decides."""
    for answer in ask.answers:
        outcome: Outcome = "cancelled" if answer.status == "cancelled" else read_decision(answer.payload)
        tool = answer.subject or (answer.call.name if answer.call else "")
        _record(answer.reason, ask.principal.id, ask.agent, tool, answer.interrupt_id, outcome)


def record_closed(user: str, agent: str, asked: Interrupt, call: Call | None, outcome: Outcome) -> None:
    """Write an audit line for an approval that was closed without an answer. Other questions leave none."""
    tool = asked.subject or (call.name if call else "")
    _record(asked.reason, user, agent, tool, asked.id, outcome)


def _record(reason: str, user: str, agent: str, tool: str, interrupt_id: str, outcome: Outcome) -> None:
    """Neither arguments nor payloads are in the line: they may be secrets."""
    if reason == APPROVAL and tool:  # without a tool, an agent elsewhere asked, and decides
        line = "approval: user=%r agent=%r tool=%r interrupt=%r decision=%s"
        audit.info(line, user, agent, tool, interrupt_id, outcome)
