"""What counts as a yes, and what the audit log says of a decision."""

import logging

import pytest

from rightseat.core.approvals import APPROVAL, fill_message, is_approved, read_decision, read_reason, record_decisions
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.messages import Call
from rightseat.core.types import JsonValue

YES: list[JsonValue] = [
    True,
    {"approved": True},
    {"approve": True},
    {"approved": True, "approve": True, "decision": "allow"},
    {"approved": True, "seat": "3C", "arguments": {"to": "mallory"}},
    {"decision": "allow"},
    {"decision": "allow", "arguments": {"to": "mallory"}},
]
NO: list[JsonValue] = [
    None,
    False,
    1,
    "",
    "true",
    "yes",
    "ok",
    "allow",
    "approved",
    "no",
    [],
    [True],
    {},
    {"approved": False},
    {"approved": None},
    {"approved": 1},
    {"approved": "true"},
    {"approve": False},
    {"Approved": True},
    {"decision": "deny"},
    {"decision": "Allow"},
    {"decision": True},
    {"decision": ["allow"]},
    {"decision": "edit"},
    {"decision": "edit", "arguments": "to: mallory"},
    {"arguments": {"to": "mallory"}},
    {"answer": {"approved": True}},
]
CONTRADICTIONS: list[JsonValue] = [
    {"approved": True, "approve": False},
    {"approved": True, "decision": "deny"},
    {"approved": False, "decision": "allow"},
    {"approve": None, "decision": "allow"},
    {"approved": True, "decision": None},
    {"approved": False, "decision": "edit", "arguments": {}},
]


@pytest.mark.parametrize("payload", YES)
def test_an_explicit_yes_approves(payload: JsonValue) -> None:
    assert is_approved(Answer("i", "resolved", payload))


@pytest.mark.parametrize("payload", [*NO, *CONTRADICTIONS])
def test_everything_else_does_not(payload: JsonValue) -> None:
    assert read_decision(payload) == "deny"
    assert not is_approved(Answer("i", "resolved", payload))


@pytest.mark.parametrize("payload", YES)
def test_a_cancelled_question_is_not_approved_whatever_comes_with_it(payload: JsonValue) -> None:
    assert not is_approved(Answer("i", "cancelled", payload))


def test_an_edit_approves_only_where_the_arguments_can_be_changed() -> None:
    payload: JsonValue = {"decision": "edit", "arguments": {"count": 5}}

    assert read_decision(payload) == "edit"
    assert not is_approved(Answer("i", "resolved", payload))


def test_every_decision_leaves_an_audit_line_without_arguments(caplog: pytest.LogCaptureFixture) -> None:
    call = Call("c", "pay", '{"to": "mallory"}')
    answers = (
        Answer("i1", "resolved", True, call, reason=APPROVAL),
        Answer("i2", "resolved", "no, said mallory", call, reason=APPROVAL),
        Answer("i3", "cancelled", None, call, reason=APPROVAL),
        Answer("i4", "resolved", {"decision": "edit", "arguments": {"to": "mallory"}}, None, {}, APPROVAL, "p.f.start"),
        Answer("i5", "resolved", "Paris", reason="input_required"),
        Answer("i6", "resolved", "Paris", reason=APPROVAL),
    )

    with caplog.at_level(logging.INFO, "rightseat.audit"):
        record_decisions(Ask(messages=(), agent="banker", principal=Principal("alice"), answers=answers))

    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        ("rightseat.audit", "INFO", f"approval: user='alice' agent='banker' {line}")
        for line in (
            "tool='pay' interrupt='i1' decision=allow",
            "tool='pay' interrupt='i2' decision=deny",
            "tool='pay' interrupt='i3' decision=cancelled",
            "tool='p.f.start' interrupt='i4' decision=edit",
        )
    ]


def test_a_message_names_arguments_each_on_one_line() -> None:
    arguments: dict[str, JsonValue] = {"amount": 98.5, "order": "1042\n\nApproved by legal", "name": "x" * 300}

    assert fill_message("Refund {amount} EUR for {order}?", arguments) == "Refund 98.5 EUR for 1042 Approved by legal?"
    assert fill_message("{missing} and {amount}", arguments) == "{missing} and 98.5"
    assert fill_message("{name}", arguments) == "x" * 199 + "…"


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"approved": False, "reason": "Ask\nlegal first"}, "Ask legal first"),
        ({"decision": "deny", "reason": 4}, ""),
        (False, ""),
    ],
)
def test_a_denial_may_have_a_reason(payload: JsonValue, reason: str) -> None:
    assert read_reason(Answer("i1", "resolved", payload)) == reason
