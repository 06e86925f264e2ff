"""Replays through the real runtime: what was recorded is served, and nothing with an effect runs."""

import base64
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.messages import Image
from rightseat.toolboxes.functions import tool
from tests.evals.directed_model import PROMPTS
from tests.evals.replays import loop, parse, replay, served, tell
from tests.evals.stranger import EFFECTS

ORDER = {"tool": "get_order", "arguments": {"id": 7}, "result": '{"total": 120}'}
RAN: list[str] = []


@tool(effect="read")
def get_order(id: int) -> str:
    """Look up an order."""
    RAN.append("get_order")
    return f"live {id}"


@tool(effect="write", approval="Refund this order?")
def refund(id: int) -> str:
    """Refund an order."""
    RAN.append("refund")
    return "refunded"


@tool(effect="write")
def send_mail(to: str) -> str:
    """Send a mail."""
    RAN.append("send_mail")
    return "sent"


tools = [get_order, refund, send_mail]
SHOP = {"default": loop(tools=["tests.evals.test_replay:tools"])}


@pytest.fixture(autouse=True)
def _clear() -> None:
    for ledger in (RAN, EFFECTS, PROMPTS):
        ledger.clear()


async def test_an_identical_call_gets_its_recorded_result() -> None:
    attempt = await replay(parse(SHOP), ask=tell("$results", calls=[[["get_order", {"id": 7.0}]]]), recorded=[ORDER])

    assert attempt.text == '{"total": 120}'
    assert served(attempt) == [("get_order", "recorded")]
    assert (attempt.run_outcome, attempt.model_calls, attempt.input_tokens) == ("done", 2, 200)
    assert RAN == []


async def test_a_call_made_twice_gets_its_results_in_order_and_then_the_last_again() -> None:
    recorded = [{**ORDER, "result": "first"}, {**ORDER, "result": "second"}]
    calls = [[["get_order", {"id": 7}]]] * 3
    attempt = await replay(parse(SHOP), ask=tell("$results", calls=calls), recorded=recorded)

    assert attempt.text == "first second second"


async def test_a_call_with_other_arguments_diverges_and_the_model_is_not_asked_again() -> None:
    attempt = await replay(parse(SHOP), ask=tell(calls=[[["get_order", {"id": 8}]]]), recorded=[ORDER])

    assert attempt.diverged is not None
    assert 'get_order({"id": 8})' in attempt.diverged
    assert 'get_order({"id": 7})' in attempt.diverged
    assert len(PROMPTS) == 1
    assert RAN == []


async def test_a_text_is_not_the_number_that_it_spells() -> None:
    attempt = await replay(parse(SHOP), ask=tell(calls=[[["get_order", {"id": "7"}]]]), recorded=[ORDER])

    assert attempt.diverged is not None


async def test_a_recorded_error_fails_again_with_its_code() -> None:
    failed = {**ORDER, "error": "tool_failed", "result": "The shop is closed."}
    attempt = await replay(parse(SHOP), ask=tell("$results", calls=[[["get_order", {"id": 7}]]]), recorded=[failed])

    assert attempt.text == "The shop is closed."
    assert attempt.tool_calls[0].error == "tool_failed"


async def test_a_stub_tells_the_model_that_there_is_no_result() -> None:
    ask = tell("$results", calls=[[["get_order", {"id": 8}]], [["send_mail", {"to": "x"}]]])
    attempt = await replay(parse(SHOP), "stub", ask=ask)

    assert attempt.text.startswith("No result is recorded")
    assert served(attempt) == [("get_order", "stub"), ("send_mail", "stub")]
    assert RAN == []


async def test_live_runs_a_tool_that_reads() -> None:
    ask = tell("$results", calls=[[["get_order", {"id": 7}]], [["get_order", {"id": 8}]]])
    attempt = await replay(parse(SHOP), "live", ask=ask, recorded=[ORDER])

    assert attempt.text == '{"total": 120} live 8'
    assert served(attempt) == [("get_order", "recorded"), ("get_order", "live")]
    assert RAN == ["get_order"]


async def test_live_does_not_run_a_tool_that_writes() -> None:
    attempt = await replay(parse(SHOP), "live", ask=tell(calls=[[["send_mail", {"to": "x"}]]]))

    assert attempt.diverged is not None
    assert RAN == []


async def test_a_tool_that_is_gone_diverges() -> None:
    gone = {"tool": "vanished", "arguments": {}, "result": "old"}
    attempt = await replay(parse(SHOP), ask=tell("$results", calls=[[["vanished", {}]]]), recorded=[gone])

    assert attempt.diverged is not None
    assert "vanished" in attempt.diverged


@pytest.mark.parametrize("approval", ["approved", {"payload": {"approved": True}}])
async def test_an_approval_is_answered_as_recorded(approval: Any) -> None:
    recorded = [{"tool": "refund", "arguments": {"id": 7}, "approval": approval, "result": "refunded 7"}]
    attempt = await replay(parse(SHOP), ask=tell("$results", calls=[[["refund", {"id": 7}]]]), recorded=recorded)

    assert (attempt.text, attempt.run_outcome) == ("refunded 7", "done")
    assert served(attempt) == [("refund", "recorded")]
    assert RAN == []


async def test_a_denied_call_stays_denied() -> None:
    recorded = [{"tool": "refund", "arguments": {"id": 7}, "approval": "denied"}]
    attempt = await replay(parse(SHOP), ask=tell("$results", calls=[[["refund", {"id": 7}]]]), recorded=recorded)

    assert attempt.tool_calls[0].error == "refused"
    assert served(attempt) == [("refund", "recorded")]
    assert "denied" in attempt.text


async def test_a_run_waits_for_an_answer_that_was_not_recorded() -> None:
    attempt = await replay(parse(SHOP), ask=tell(calls=[[["refund", {"id": 7}]]]))

    assert (attempt.run_outcome, attempt.diverged) == ("waiting", None)
    assert served(attempt) == [("refund", "none")]


async def test_a_tool_of_the_client_is_served() -> None:
    offered = {"name": "show_chart", "description": "Shows a chart.", "parameters": {"type": "object"}}
    recorded = [{"tool": "show_chart", "arguments": {"kind": "bar"}, "result": "the bar is shown"}]
    ask = tell("$results", calls=[[["show_chart", {"kind": "bar"}]]])
    attempt = await replay(parse(SHOP), ask=ask, tools=[offered], recorded=recorded)

    assert attempt.text == "the bar is shown"
    assert served(attempt) == [("show_chart", "recorded")]
    assert "show_chart" in [one.name for one in PROMPTS[0].tools]


async def test_a_call_of_the_client_without_a_recording_diverges() -> None:
    offered = {"name": "show_chart", "description": "Shows a chart.", "parameters": {"type": "object"}}
    attempt = await replay(parse(SHOP), "live", ask=tell(calls=[[["show_chart", {}]]]), tools=[offered])

    assert attempt.diverged is not None
    assert "show_chart({})" in attempt.diverged


async def test_turns_follow_each_other_after_the_history() -> None:
    history = [{"user": "Hello"}, {"assistant": "How can I help?"}]
    attempt = await replay(parse(SHOP), ask=[tell("first"), tell("second")], history=history)

    assert attempt.text == "second"
    sent = [message.text for message in PROMPTS[-1].messages]
    assert sent == ["Hello", "How can I help?", tell("first"), "first", tell("second")]


async def test_context_parameters_and_images_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "d.files").mkdir()
    (tmp_path / "d.files" / "a.png").write_bytes(b"png")
    await replay(
        parse(SHOP),
        folder=tmp_path,
        ask={"text": tell(), "files": ["d.files/a.png"]},
        context=[{"description": "page", "value": "orders"}],
        parameters={"temperature": 0.5},
    )

    (prompt,) = PROMPTS
    assert prompt.parameters.temperature == 0.5
    assert any("orders" in message.text for message in prompt.messages)
    images = [part for message in prompt.messages for part in message.parts if isinstance(part, Image)]
    assert [(image.media_type, base64.b64decode(image.data)) for image in images] == [("image/png", b"png")]


async def test_a_failed_provider_is_an_error() -> None:
    attempt = await replay(parse(SHOP), ask=tell(fail="The provider is down."))

    assert attempt.error is not None
    assert "The provider is down." in attempt.error


async def test_a_guard_that_denies_is_an_answer() -> None:
    guards = [{"type": "patterns", "name": "secret", "phrases": ["nightjar"], "reason": "No."}]
    attempt = await replay(parse(SHOP, guards=guards), ask=tell("Ask the night" + "jar"))

    assert (attempt.denied_by, attempt.run_outcome, attempt.error) == ("secret", "failed", None)


async def test_a_sub_agent_runs_anew_with_served_tools() -> None:
    agents = {"default": loop(agents=["expert"]), "expert": loop(tools=["tests.evals.test_replay:tools"])}
    inner = tell("It is 120.", calls=[[["get_order", {"id": 7}]]])
    ask = tell("$results", calls=[[["expert", {"question": inner}]]])
    attempt = await replay(parse(agents), ask=ask, recorded=[ORDER])

    assert attempt.text == '{"total": 120} It is 120.'
    assert served(attempt) == [("expert", "anew"), ("get_order", "recorded")]
    assert (attempt.model_calls, RAN) == (4, [])


async def test_the_approval_of_a_sub_agents_tool_is_answered() -> None:
    agents = {"default": loop(agents=["expert"]), "expert": loop(tools=["tests.evals.test_replay:tools"])}
    inner = tell("$results", calls=[[["refund", {"id": 7}]]])
    recorded = [{"tool": "refund", "arguments": {"id": 7}, "approval": "approved", "result": "refunded 7"}]
    ask = tell("$results", calls=[[["expert", {"question": inner}]]])
    attempt = await replay(parse(agents), ask=ask, recorded=recorded)

    assert attempt.text.startswith("refunded 7")
    assert served(attempt) == [("expert", "anew"), ("refund", "recorded")]
    assert RAN == []


STRANGERS = {
    "toolbox": {"default": loop(tools=["tests.evals.stranger:toolbox"], approval="never")},
    "loop": {"default": {"type": "tests.evals.stranger", "kind": "loop"}},
    "subclass": {"default": {"type": "tests.evals.stranger", "kind": "subclass"}},
    "agent": {"default": {"type": "tests.evals.stranger"}},
    "sub-agent": {"default": loop(agents=["other"]), "other": {"type": "tests.evals.stranger"}},
}


@pytest.mark.parametrize("missing", ["fail", "stub", "live"])
@pytest.mark.parametrize("called", ["write", "touch", "stream", "other"])
@pytest.mark.parametrize("kind", STRANGERS)
async def test_no_effect_of_a_strangers_part_happens(kind: str, called: str, missing: str) -> None:
    arguments: dict[str, Any] = {"question": "q"} if called == "other" else {"id": 1}
    await replay(parse(STRANGERS[kind]), missing, ask=tell(calls=[[[called, arguments]]]))

    assert EFFECTS == []


async def test_a_strangers_sub_agent_is_answered_like_a_tool() -> None:
    recorded = [{"tool": "other", "arguments": {"question": "q"}, "result": "recorded words"}]
    ask = tell("$results", calls=[[["other", {"question": "q"}]]])
    attempt = await replay(parse(STRANGERS["sub-agent"]), ask=ask, recorded=recorded)

    assert attempt.text == "recorded words"
    assert EFFECTS == []


async def test_an_agent_of_unknown_code_cannot_be_replayed() -> None:
    attempt = await replay(parse(STRANGERS["agent"]), ask=tell())

    assert attempt.error is not None
    assert "'default' runs code of its own" in attempt.error
    assert EFFECTS == []
