"""Which tools ask a person before they run, by their effect and the policy of their agent."""

from typing import get_args

import pytest

from rightseat.core.loop.toolset import ApprovalPolicy, with_approval
from rightseat.core.tools import Approval, Effect, Invocation, Tool

ASKS: dict[ApprovalPolicy, set[Effect]] = {
    "always": {"read", "unknown", "write", "idempotent_write"},
    "writes": {"write", "idempotent_write"},
    "never": set(),
}


async def run(invocation: Invocation) -> str:
    return "ok"


@pytest.mark.parametrize("policy", ASKS)
@pytest.mark.parametrize("effect", get_args(Effect))
def test_a_policy_goes_by_the_effect_of_a_tool(policy: ApprovalPolicy, effect: Effect) -> None:
    tool = with_approval(Tool("charge", "", {}, run, effect=effect), policy)

    assert isinstance(tool.approval, Approval) == (effect in ASKS[policy])


@pytest.mark.parametrize("policy", ASKS)
def test_no_policy_asks_for_a_tool_that_is_exempt_or_run_by_the_client(policy: ApprovalPolicy) -> None:
    exempt = Tool("charge", "", {}, run, approval="exempt", effect="write")
    of_the_client = Tool("charge", "", {}, effect="write")

    assert with_approval(exempt, policy) is exempt
    assert with_approval(of_the_client, policy) is of_the_client


@pytest.mark.parametrize("policy", ["always", "writes"])
def test_a_question_of_the_tool_itself_stays_unless_nothing_is_asked(policy: ApprovalPolicy) -> None:
    tool = Tool("charge", "", {}, run, approval=Approval("Charge it?"))

    assert with_approval(tool, policy).approval == Approval("Charge it?")
    assert with_approval(tool, "never").approval is None


def test_only_reads_and_idempotent_writes_are_repeated_unasked() -> None:
    repeated = [effect for effect in get_args(Effect) if Tool("charge", "", {}, run, effect=effect).is_repeatable]

    assert repeated == ["read", "idempotent_write"]
