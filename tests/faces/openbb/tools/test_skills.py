"""Skills that the user wrote down, and work that goes to other agents."""

import pytest

from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.tools import agents, skills
from tests.faces.openbb.serving import session_of

CATALOGUE = [{"slug": "financial-analysis", "description": "Analyze company financials"}]
CHOSEN = {"slug": "financial-analysis", "contentMarkdown": "# Financial Analysis\n\nFocus on margins."}
ANALYST = {"holder_url": "http://localhost:7777", "id": "analyst", "name": "Analyst"}


def test_a_skill_is_read_by_its_slug() -> None:
    session = session_of(raw={"skills_catalog": CATALOGUE}, skills=tuple(CATALOGUE))

    reading, saving = skills.functions(session)

    assert "Analyze company financials" in reading.offer.description
    wanted = {"slug": "financial-analysis", "reason": "asked"}
    assert (reading.name, reading.write(wanted)) == ("get_skill_content", wanted)
    assert saving.name == "save_skill"
    with pytest.raises(BadRequest, match="There is no skill 'x'"):
        reading.write({"slug": "x"})


def test_a_skill_is_saved_with_a_name_and_instructions() -> None:
    (saving,) = skills.functions(session_of(raw={"skills_catalog": []}))

    assert saving.write({"name": " Margins ", "instructions": "# Do"}) == {"name": "Margins", "instructions": "# Do"}
    with pytest.raises(BadRequest, match="name and instructions"):
        saving.write({"name": "Margins"})


def test_a_client_without_skills_is_not_asked_for_any() -> None:
    assert not skills.functions(session_of())


def test_what_the_user_chose_comes_whole_unless_it_is_endless() -> None:
    (selected_skills_context,) = skills.selected_skills_context(session_of(selected_skills=(CHOSEN, {"slug": "empty"})))

    assert "financial-analysis" in selected_skills_context.description
    assert selected_skills_context.value == CHOSEN["contentMarkdown"]
    (long,) = skills.selected_skills_context(session_of(selected_skills=({"contentMarkdown": "x" * 30_000},)))
    assert long.value.endswith("[… 10000 characters left out]")


def test_work_goes_to_agents_that_workspace_knows() -> None:
    session = session_of(options={"agent-orchestration": True}, workspace_state={"agents": [ANALYST, "odd"]})

    (assigning,) = agents.functions(session)

    task = {"description": "Get the AAPL close", "assigned_agent_id": "analyst"}
    assert assigning.write({"task_requests": [task]}) == {
        "task_requests": [{"id": "1", "assigned_holder_url": "http://localhost:7777", **task}]
    }
    with pytest.raises(BadRequest, match="one of: analyst"):
        assigning.write({"task_requests": [task | {"assigned_agent_id": "nobody"}]})
    with pytest.raises(BadRequest, match="needs a description"):
        assigning.write({"task_requests": [{"assigned_agent_id": "analyst"}]})
    with pytest.raises(BadRequest, match="at least one task"):
        assigning.write({"task_requests": []})


def test_a_task_from_another_agent_is_not_handed_on() -> None:
    state = {"agents": [ANALYST]}
    human = {"role": "human", "content": "Ask the analyst."}
    task = {"role": "ai", "content": "Give the close.", "agent_id": "openbb-copilot"}
    given = {"options": {"agent-orchestration": True}, "workspace_state": state}

    assert not agents.functions(session_of(**given, raw={"messages": [human, task]}))
    assert agents.functions(session_of(**given, raw={"messages": [human, task, human]}))
    assert not agents.functions(session_of(workspace_state=state))
