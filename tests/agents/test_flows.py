"""The agent that answers with flows: choosing, running, going on, suggesting."""

import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat.agents.flows import Flows, Options, build
from rightseat.core.ask import ANYONE, Answer, Ask, NamedTool, Parameters, Principal, ToolOffer
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import BadRequest, ConfigError
from rightseat.core.events import Custom, Event, RunFinished, TextDelta, ToolCallDelta
from rightseat.core.messages import assistant, user
from rightseat.egress.redaction import Redactor
from rightseat.plugins.collection import Collection, find_collection
from rightseat.plugins.flows import Dependencies
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.registry import PluginRegistry
from rightseat.plugins.testing.cases import MockExchange
from rightseat.plugins.testing.mocks import MockNetwork, MockSecrets, ScriptedModelCaller
from rightseat.stores.files import MemoryArtifacts
from rightseat.testing import ScriptedModel, check_pairs, says
from rightseat.toolboxes.functions import FunctionToolbox

EXAMPLES = Path(__file__).parent.parent.parent / "examples/plugins"
FORECAST = MockExchange.model_validate(
    {
        "request": {
            "method": "GET",
            "url": "http://127.0.0.1:39182/v1/forecast?city=Hangzhou&days=3&key=${secret:WEATHER_KEY}",
        },
        "reply": {"json": {"city": "Hangzhou", "days": []}},
    }
)
SCAN = MockExchange.model_validate(
    {
        "request": {"method": "POST", "url": "http://127.0.0.1:39181/api/scans"},
        "reply": {"json": {"task_id": "s1", "eta_seconds": 15}},
    }
)
RAIN = {"start": {"city": "Hangzhou", "days": 3}, "answer": "Rain."}


class Stage:
    """An agent over the examples, with a scripted model caller and a mock network."""

    def __init__(
        self, folder: Path, script: dict[str, Any], http: list[MockExchange], users: Any, **options: Any
    ) -> None:
        self.model_caller = ScriptedModelCaller(script)
        self.network = MockNetwork(http)
        redactor = Redactor()
        dependencies = Dependencies(self.model_caller, OperationClient(self.network, MockSecrets(), redactor), redactor)
        self.registry = PluginRegistry([folder / "plugins"], folder / "state")
        self.collection = Collection(
            self.registry, lambda model: dependencies, users=users, artifacts=MemoryArtifacts()
        )
        self.model = ScriptedModel([says("Just talk.")])
        self.agent = Flows(self.collection, self.model, Options(toolbox="-", **options))

    async def ask(self, text: str = "The weather in Hangzhou, 3 days", **rest: Any) -> list[Event]:
        fields: dict[str, Any] = {"messages": (user(text),), "supports_suggestions": True} | rest
        asked = Ask(**fields)
        events = [event async for event in self.agent.run(asked, DirectSteps())]
        check_pairs(event for event in events if not isinstance(event, RunFinished))
        return events


@asynccontextmanager
async def staged(
    folder: Path,
    script: dict[str, Any],
    *http: MockExchange,
    plugins: tuple[str, ...] = ("weather",),
    users: Any = None,
    **options: Any,
) -> AsyncIterator[Stage]:
    for name in plugins:
        shutil.copytree(EXAMPLES / name, folder / "plugins" / name)
    stage = Stage(folder, script, list(http), users, **options)
    async with stage.collection:
        yield stage
    assert stage.network.problems == []


def said(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def custom(events: list[Event], name: str) -> Any:
    found = [event.value for event in events if isinstance(event, Custom) and event.name == name]
    return found[0] if found else None


async def test_R_12_1_R_12_3_a_flow_is_chosen_run_and_recorded(tmp_path: Path) -> None:
    script = RAIN | {"choose": {"flow": "weather.forecast"}, "suggestions": {"weather.current_weather": "And now?"}}
    async with staged(tmp_path, script, FORECAST) as stage:
        events = await stage.ask()

    assert said(events) == "Rain."
    assert custom(events, "flow.chosen")["flow"] == "forecast"
    assert custom(events, "flow.chosen")["candidates"] == ["weather.current_weather", "weather.forecast"]
    assert custom(events, "flow.suggestions") == [{"flow": "weather.current_weather", "question": "And now?"}]
    assert custom(events, "flow.finished")["status"] == "succeeded"


async def test_R_11_6_a_run_makes_its_version_of_a_plugin_last(tmp_path: Path) -> None:
    async with staged(tmp_path, RAIN | {"suggestions": {}}, FORECAST, flow="weather.forecast") as stage:
        place = stage.registry.plugins()["weather"].folder.parent
        os.utime(place, (0, 0))
        await stage.ask()

        assert place.stat().st_mtime > 1e9


async def test_R_12_2_where_no_flow_fits_the_model_just_answers(tmp_path: Path) -> None:
    async with staged(tmp_path, {"choose": "none"}, instructions="Be kind.") as stage:
        events = await stage.ask("Tell me a joke")

    assert said(events) == "Just talk."
    assert [message.role for message in stage.model.prompts[0].messages] == ["system", "user"]
    assert custom(events, "flow.chosen")["why"].endswith("none fits")


async def test_R_12_3_a_plugin_that_the_user_may_not_use_is_no_candidate_and_cannot_be_named(tmp_path: Path) -> None:
    async with staged(tmp_path, {"choose": "none"}, users={"weather": ("anna",)}) as stage:
        hers = await stage.ask(principal=Principal("anna"))
        his = await stage.ask(principal=Principal("bert"))
        with pytest.raises(BadRequest, match="There is no flow"):
            await stage.ask(principal=Principal("bert"), properties={"flow": "weather.forecast"})

    assert len(custom(hers, "flow.chosen")["candidates"]) == 2
    assert custom(his, "flow.chosen") == {"why": "there are no flows"}


async def test_R_12_1_a_client_may_want_no_plugin_at_all(tmp_path: Path) -> None:
    async with staged(tmp_path, {}) as stage:
        events = await stage.ask(properties={"plugins": "none"})

    assert said(events) == "Just talk."
    assert stage.model_caller.counts.total() == 0


async def test_R_12_1_a_client_may_choose_the_plugins_of_a_question(tmp_path: Path) -> None:
    async with staged(tmp_path, {"choose": "none"}, plugins=("weather", "host_security")) as stage:
        every = custom(await stage.ask(), "flow.chosen")["candidates"]
        some = custom(await stage.ask(properties={"plugins": ["weather"]}), "flow.chosen")["candidates"]

    assert {one.partition(".")[0] for one in every} == {"weather", "host_security"}
    assert {one.partition(".")[0] for one in some} == {"weather"}


async def test_R_12_1_one_flow_given_is_not_chosen(tmp_path: Path) -> None:
    async with staged(tmp_path, RAIN, FORECAST, suggestions=False) as stage:
        events = await stage.ask(properties={"flow": "weather.forecast"})

    assert said(events) == "Rain."
    assert "choose" not in stage.model_caller.counts


async def test_R_12_1_the_operator_may_name_the_one_flow(tmp_path: Path) -> None:
    async with staged(tmp_path, RAIN, FORECAST, suggestions=False, flow="weather.forecast") as stage:
        events = await stage.ask(properties={"plugins": "none"})

    assert said(events) == "Rain."


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"plugins": ["nobody"]}, "no plugin 'nobody'"),
        ({"plugins": 3}, "a list of ids"),
        ({"flow": "weather.nothing"}, "There is no flow 'weather.nothing'"),
        ({"flow": "host_security.scan_host"}, "There is no flow"),
    ],
)
async def test_an_unknown_plugin_or_flow_is_refused_with_the_known_ones(
    tmp_path: Path, properties: Any, problem: str
) -> None:
    async with staged(tmp_path, {}, plugins=("weather", "host_security")) as stage:
        stage.agent = Flows(stage.collection, stage.model, Options(toolbox="-", plugins=("weather",)))
        with pytest.raises(BadRequest, match=problem):
            await stage.ask(properties=properties)


async def test_an_empty_question_is_the_plugins_own(tmp_path: Path) -> None:
    async with staged(tmp_path, RAIN, FORECAST, suggestions=False, flow="weather.forecast") as stage:
        await stage.ask("")

    assert "What will the weather be in Hangzhou tomorrow?" in "".join(stage.model_caller.prompts)


async def test_R_10_5_R_11_6_a_reload_in_between_changes_nothing_for_a_flow_that_waits(tmp_path: Path) -> None:
    script = {"start": {"host_id": "db-01", "depth": "quick"}, "answer": "Scanning."}
    async with staged(
        tmp_path, script, SCAN, plugins=("host_security",), flow="host_security.scan_host", suggestions=False
    ) as stage:
        events = await stage.ask("Scan db-01, quick")
        waiting = events[-1]
        assert isinstance(waiting, RunFinished)
        question = waiting.interrupts[0]

        flow = tmp_path / "plugins/host_security/flows/scan_host.yaml"
        flow.write_text(flow.read_text().replace("keys: [task_id, eta_seconds]", "keys: [something_else]"))
        await stage.registry.reload("host_security")
        answer = Answer(question.id, "resolved", {"decision": "allow"}, memo=question.memo)
        later = await stage.ask("yes", answers=(answer,))

    assert custom(later, "flow.finished")["status"] == "succeeded"
    assert said(later) == "Scanning."


async def test_R_12_3_a_flow_does_not_resume_for_a_user_without_access_to_its_plugin(tmp_path: Path) -> None:
    users = {"host_security": ["anna"]}
    script = {"start": {"host_id": "db-01", "depth": "quick"}}
    async with staged(
        tmp_path, script, plugins=("host_security",), users=users, flow="host_security.scan_host"
    ) as stage:
        events = await stage.ask("Scan db-01, quick", principal=Principal("anna"))
        assert isinstance(events[-1], RunFinished)
        (question,) = events[-1].interrupts
        answer = Answer(question.id, "resolved", {"decision": "allow"}, memo=question.memo)
        users["host_security"].remove("anna")

        with pytest.raises(BadRequest, match="no longer available to you"):
            await stage.ask("yes", answers=(answer,), principal=Principal("anna"))


async def test_R_11_7_a_flow_sees_the_files_of_its_own_conversation_only(tmp_path: Path) -> None:
    async with staged(tmp_path, {}) as stage:
        scope = stage.collection.build_scope(Ask(messages=(user("one"), assistant("two"), user("three"))))

    assert scope.question == "three"
    assert scope.history == (("user", "one"), ("assistant", "two"))
    assert scope.files == ()


def test_a_toolbox_without_plugins_is_refused() -> None:
    class Box:
        def toolbox(self, name: str) -> FunctionToolbox:
            return FunctionToolbox()

    with pytest.raises(ConfigError, match="must be of the type `plugins`"):
        build(Options(toolbox="tools"), Box())  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        find_collection(None, "x")


async def test_a_flow_that_fails_is_in_the_log_though_the_answer_explains_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = FORECAST.model_copy(update={"reply": FORECAST.reply.model_copy(update={"status": 404})})
    script = {"start": RAIN["start"], "on_error": "It did not work."}
    async with staged(tmp_path, script, broken, flow="weather.forecast") as stage:
        await stage.ask(run_id="run_1")

    assert "run run_1: weather.forecast failed in start: http_" in caplog.text


async def test_no_model_words_suggestions_for_a_client_that_cannot_show_them(tmp_path: Path) -> None:
    async with staged(tmp_path, RAIN, FORECAST, flow="weather.forecast") as stage:
        events = await stage.ask(supports_suggestions=False)

    assert custom(events, "flow.suggestions") is None
    assert stage.model_caller.counts["suggestions"] == 0
    assert stage.model_caller.unlisted == []


SUGGEST: dict[str, Any] = {
    "tools": (ToolOffer("copilotkitSuggest", "", {"type": "object", "properties": {"suggestions": {}}}),),
    "parameters": Parameters(tool_choice=NamedTool("copilotkitSuggest")),
    "supports_suggestions": False,
}
"""What CopilotKit's chat asks for suggestions with, beside its messages."""


def suggested(events: list[Event]) -> list[str]:
    text = "".join(event.text for event in events if isinstance(event, ToolCallDelta))
    return [one["message"] for one in json.loads(text)["suggestions"]]


async def test_a_client_that_asks_for_suggestions_gets_those_of_the_last_flow_without_a_model(tmp_path: Path) -> None:
    script = RAIN | {"suggestions": {"weather.current_weather": "And now?"}}
    question = user("The weather in Hangzhou, 3 days")
    messages = (question, user("Suggest what the user could say next."))
    async with staged(tmp_path, script, FORECAST, flow="weather.forecast") as stage:
        await stage.ask(messages=(question,))
        asked = stage.model_caller.counts.total()
        found = await stage.ask(messages=messages, **SUGGEST)
        others = await stage.ask(messages=messages, principal=Principal("another"), **SUGGEST)
        calls = stage.model_caller.counts.total() - asked

    assert suggested(found) == ["And now?"]
    assert suggested(others) == []
    assert calls == 0


async def test_suggestions_before_the_first_question_are_the_plugins_own_questions(tmp_path: Path) -> None:
    async with staged(tmp_path, {}, plugins=("weather", "host_security")) as stage:
        found = await stage.ask(messages=(user("Suggest what the user could say next."),), **SUGGEST)
        known = [plugin.texts.starters[0] for plugin in stage.registry.plugins().values()]

    assert len(known) == 2
    assert suggested(found) == known


async def test_plugins_are_listed_for_the_users_that_may_use_them_and_in_their_language(tmp_path: Path) -> None:
    users = {"host_security": ("alice",)}
    async with staged(tmp_path, {}, plugins=("weather", "host_security"), users=users) as stage:
        hers = stage.agent.list_plugins(Principal("alice"), "en")
        his = stage.agent.list_plugins(Principal("bob"))

    assert {one.id for one in hers} == {"weather", "host_security"}
    assert [one.id for one in his] == ["weather"]
    assert next(one for one in hers if one.id == "host_security").description.startswith("Looks up vulnerabilities")


async def test_plugins_that_the_agent_does_not_use_are_not_listed(tmp_path: Path) -> None:
    two = ("weather", "host_security")
    async with staged(tmp_path / "a", {}, plugins=two, flow="weather.forecast") as stage:
        by_flow = stage.agent.list_plugins(ANYONE)
    async with staged(tmp_path / "b", {}, plugins=two, flow="host_security.scan_host") as stage:
        by_other = stage.agent.list_plugins(ANYONE)

    assert [one.id for one in by_flow] == ["weather"]
    assert [one.id for one in by_other] == ["host_security"]


async def test_a_flow_sees_the_messages_of_an_earlier_flow_and_none_of_its_data(tmp_path: Path) -> None:
    reply = {"json": {"city": "Hangzhou", "days": [], "station": "structured-data-of-the-first"}}
    first = MockExchange.model_validate({"request": FORECAST.request.model_dump(exclude_unset=True), "reply": reply})
    script = {"start": [RAIN["start"]] * 2, "answer": ["Rain.", "Still rain."]}
    async with staged(tmp_path, script, first, FORECAST, flow="weather.forecast", suggestions=False) as stage:
        await stage.ask(thread_id="one")
        seen = len(stage.model_caller.prompts)
        text = "The weather in Hangzhou, 3 days"
        await stage.ask(messages=(user(text), assistant("It was said: Rain."), user(text)), thread_id="one")
        before, after = "\n".join(stage.model_caller.prompts[:seen]), "\n".join(stage.model_caller.prompts[seen:])

    assert "structured-data-of-the-first" in before
    assert "It was said: Rain." in after
    assert "structured-data-of-the-first" not in after
