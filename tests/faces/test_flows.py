"""Flows of real plugins in every face: steps, questions, charts, files and suggestions, as each protocol has them."""

import asyncio
import base64
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat.plugins.model_calls import ModelRequest, ModelResponse, RoleModelCaller
from tests.databases import migrated_database
from tests.faces.copilotkit import serving as graphql
from tests.faces.copilotkit.current.serving import ALICE, BOB, Frame, asking, read, text_of, visiting
from tests.faces.openai.serving import sdk
from tests.faces.openbb import serving as openbb
from tests.faces.plugged import CONVERT, EXAMPLE, SALES, SCAN, WEATHER, plugged
from tests.services import REDIS, keys

RUN, CONNECT = "/agent/default/run", "/agent/default/connect"
CSV = "name,amount\nApple,3\n"
KEYS = {"keys": [{"name": name, "key": f"key-{name}"} for name in ("alice", "bob")]}

Patch = pytest.MonkeyPatch


async def ask(client: httpx2.AsyncClient, text: str | None, **more: Any) -> list[Frame]:
    answer = await client.post(RUN, json=asking(text, **more))
    assert answer.status_code == 200, answer.text
    return read(answer.content)


def custom(frames: list[Frame], name: str) -> list[Any]:
    return [frame.data["value"] for frame in frames if frame.type == "CUSTOM" and frame.data["name"] == name]


def attached(text: str) -> list[dict[str, Any]]:
    """The message of a client whose user attached a CSV file."""
    source = {"type": "data", "value": base64.b64encode(CSV.encode()).decode(), "mimeType": "text/csv"}
    file = {"type": "document", "source": source, "metadata": {"filename": "a.csv"}}
    return [{"id": "u", "role": "user", "content": [{"type": "text", "text": text}, file]}]


# AG-UI, as today's CopilotKit speaks it


async def test_R_11_5_agui_has_steps_their_events_and_suggestions(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, visiting(url) as client:
        frames = await ask(client, WEATHER)

    steps = [(frame.type, frame.data["stepName"]) for frame in frames if frame.type.startswith("STEP")]
    assert steps == [(kind, name) for name in ("start", "end") for kind in ("STEP_STARTED", "STEP_FINISHED")]
    assert [one["event"] for one in custom(frames, "flow.step")] == ["input", "output"] * 2
    assert custom(frames, "flow.step")[0]["value"]["arguments"] == {"city": "Hangzhou", "days": 3}
    assert "°C" in text_of(frames)
    assert {"flow", "question"} == set(custom(frames, "flow.suggestions")[0][0])
    assert custom(frames, "flow.finished")[0]["status"] == "succeeded"
    assert "demo" not in json.dumps([one["value"] for one in custom(frames, "flow.step")]), "the key of the API"


async def test_agui_has_a_chart_as_an_event_and_as_a_picture_in_the_answer(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, visiting(url) as client:
        frames = await ask(client, SALES)
        again = read((await client.post(CONNECT, json=asking(None))).content)
        (artifact,) = custom(frames, "artifact")
        picture = await client.get(f"{artifact['url']}.svg")
        option = await client.get(artifact["url"])

    assert artifact["kind"] == "chart"
    assert artifact["url"] == f"{url}/copilotkit/files/{artifact['id']}"
    assert text_of(frames).endswith(f"![{artifact['name']}]({artifact['url']}.svg)")
    assert text_of(again) == text_of(frames), "who comes back sees it too"
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/svg+xml")
    assert option.json() == artifact["option"]
    assert all("record" not in one["value"] for one in custom(frames, "flow.step")), "the SQL statement"


async def test_R_10_5_agui_asks_for_approval_and_continues_with_it(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, visiting(url) as client:
        (question,) = (await ask(client, SCAN))[-1].data["outcome"]["interrupts"]
        resume = [{"interruptId": question["id"], "status": "resolved", "payload": {"decision": "allow"}}]
        frames = await ask(client, None, run="r-2", resume=resume)

    assert question["reason"] == "approval_required"
    assert "/api/scans\n- host_id: db-01 (question)\n- depth: quick (default)" in question["message"]
    assert question["responseSchema"]["properties"]["decision"]["enum"] == ["allow", "edit", "deny"]
    assert text_of(frames) == "The scan has begun. Its number is scan-db-01-1."


async def test_R_10_5_agui_tells_of_a_refusal(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, visiting(url) as client:
        (question,) = (await ask(client, SCAN))[-1].data["outcome"]["interrupts"]
        resume = [{"interruptId": question["id"], "status": "cancelled"}]
        frames = await ask(client, None, run="r-2", resume=resume)

    assert text_of(frames) == "All right, nothing was scanned."
    assert custom(frames, "flow.finished")[0]["status"] == "failed_handled"


async def test_agui_asks_for_what_is_missing_with_a_schema(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, visiting(url) as client:
        (question,) = (await ask(client, "What will the weather be?"))[-1].data["outcome"]["interrupts"]
        resume = [{"interruptId": question["id"], "status": "resolved", "payload": {"city": "Hangzhou"}}]
        frames = await ask(client, None, run="r-2", resume=resume)

    assert question["reason"] == "input_required"
    assert list(question["responseSchema"]["properties"]) == ["city"]
    assert "°C" in text_of(frames)


async def test_agui_reports_an_unknown_field_and_asks_again(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, visiting(url) as client:
        (first,) = (await ask(client, "What will the weather be?"))[-1].data["outcome"]["interrupts"]
        resume = [{"interruptId": first["id"], "status": "resolved", "payload": {"town": "Hangzhou"}}]
        (second,) = (await ask(client, None, run="r-2", resume=resume))[-1].data["outcome"]["interrupts"]
        resume = [{"interruptId": second["id"], "status": "resolved", "payload": {"city": "Hangzhou"}}]
        frames = await ask(client, None, run="r-3", resume=resume)

    assert "there is no field 'town'; the fields are: city, days" in second["message"]
    assert "°C" in text_of(frames)


async def test_R_11_7_a_converted_file_is_for_its_owner_until_the_thread_is_deleted(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    async with plugged(tmp_path, monkeypatch, access=KEYS) as url, visiting(url, **ALICE) as client:
        frames = await ask(client, None, messages=attached(CONVERT))
        (artifact,) = custom(frames, "artifact")
        hers = await client.get(artifact["url"])
        his = await client.get(artifact["url"], headers=BOB)
        async with visiting(url) as stranger:
            nobodys = await stranger.get(artifact["url"])
        await client.delete("/threads/t-1")
        gone = await client.get(artifact["url"])

    assert "data" not in artifact
    assert text_of(frames).endswith(f"[a.md]({artifact['url']})")
    assert hers.text.splitlines()[0] == "| name | amount |"
    assert hers.headers["content-disposition"].startswith('attachment; filename="a.md"')
    assert (his.status_code, his.json()["code"]) == (404, "file_not_found")
    assert nobodys.status_code == 401
    assert gone.status_code == 404


async def test_R_11_7_a_file_is_kept_in_the_database_of_the_threads(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, visiting(url) as client:
        (artifact,) = custom(await ask(client, None, messages=attached(CONVERT)), "artifact")
    (tmp_path / "again").mkdir()
    (tmp_path / ".rightseat").rename(tmp_path / "again" / ".rightseat")
    async with plugged(tmp_path / "again", monkeypatch) as url, visiting(url) as client:
        found = await client.get(f"/files/{artifact['id']}")

    assert found.status_code == 200
    assert "Apple" in found.text


async def test_a_failed_step_is_reported_without_the_details_for_operators(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch, secret="wrong-key") as url, visiting(url) as client:
        frames = await ask(client, WEATHER)

    (failed,) = [one for one in custom(frames, "flow.step") if one["event"] == "failed"]
    assert failed["value"].keys() == {"error"}
    assert failed["value"]["error"]["code"] == "http_status"


def question(id: str) -> dict[str, Any]:
    return {"id": id, "role": "user", "content": SALES}


def client_history(frames: list[Frame]) -> list[dict[str, Any]]:
    """What a client that has read a run with one call would send along with its next question."""
    (call,) = [frame.data for frame in frames if frame.type == "TOOL_CALL_START"]
    (result,) = [frame.data for frame in frames if frame.type == "TOOL_CALL_RESULT"]
    function = {"name": call["toolCallName"], "arguments": "{}"}
    called = [{"id": call["toolCallId"], "type": "function", "function": function}]
    texts: dict[str, str] = {}
    for frame in frames:
        if frame.type == "TEXT_MESSAGE_CONTENT":
            id = frame.data["messageId"]
            texts[id] = texts.get(id, "") + frame.data["delta"]
    return [
        question("u-r-1"),
        {"id": call["parentMessageId"], "role": "assistant", "toolCalls": called},
        {"id": result["messageId"], "role": "tool", "toolCallId": call["toolCallId"], "content": result["content"]},
        *({"id": id, "role": "assistant", "content": text} for id, text in texts.items()),
    ]


async def test_a_flow_that_is_a_tool_shows_its_chart_behind_the_answer_and_the_talk_goes_on(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    caller = {"type": "tests.faces.caller", "tool": "sales_insight_chart_sales"}
    models = {"default": {"type": "ops.demo_model", "chunk_delay": 0}, "caller": caller}
    agents = {"default": {"type": "loop", "model": "caller", "toolboxes": ["ops"]}}
    async with plugged(tmp_path, monkeypatch, models=models, agents=agents) as url, visiting(url) as client:
        frames = await ask(client, SALES)
        later = await ask(client, None, run="r-2", messages=[*client_history(frames), question("u-2")])

    kinds = [frame.type for frame in frames]
    artifact = next(place for place, frame in enumerate(frames) if frame.data.get("name") == "artifact")
    assert kinds.index("TOOL_CALL_END") < artifact < kinds.index("TOOL_CALL_RESULT")
    assert text_of(frames).startswith("All done.![Revenue by region, 2025](")
    assert text_of(later).startswith("All done.![Revenue by region, 2025](")


SUGGEST = {"name": "copilotkitSuggest", "description": "", "parameters": {"properties": {"suggestions": {}}}}
SUGGESTING: dict[str, Any] = {
    "tools": [SUGGEST],
    "forwardedProps": {"toolChoice": {"type": "function", "function": {"name": "copilotkitSuggest"}}},
}


async def suggestions(client: httpx2.AsyncClient, *before: dict[str, Any]) -> list[str]:
    """What CopilotKit's chat gets, in the way in which it asks: a copy of the messages, in a thread of its own."""
    wish = {"id": "s-1", "role": "user", "content": "Suggest what the user could say next."}
    body = asking(None, thread="s-1", run="s-1", messages=[*before, wish], **SUGGESTING)
    frames = read((await client.post("/agent/default/suggest", json=body)).content)
    written = "".join(frame.data["delta"] for frame in frames if frame.type == "TOOL_CALL_ARGS")
    assert frames[-1].type == "RUN_FINISHED"
    return [one["message"] for one in json.loads(written)["suggestions"]]


async def test_copilotkits_own_chat_gets_the_first_questions_and_then_those_after_a_flow(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    async with plugged(tmp_path, monkeypatch) as url, visiting(url) as client:
        first = await suggestions(client)
        frames = await ask(client, WEATHER)
        later = await suggestions(client, {"id": "u-r-1", "role": "user", "content": WEATHER})
        listed = (await client.get("/plugins")).json()["plugins"]

    assert first == [question for plugin in listed for question in plugin["questions"][:1]][:3]
    assert first
    assert later == [one["question"] for one in custom(frames, "flow.suggestions")[0]]


async def test_another_process_suggests_what_a_flow_suggested(tmp_path: Path, monkeypatch: Patch) -> None:
    async with migrated_database() as database, keys() as prefix:
        fleet: Any = {
            "threads": {"type": "sql", "url": database},
            "log": {"type": "redis", "url": REDIS, "prefix": prefix},
        }
        async with plugged(tmp_path, monkeypatch, **fleet) as url, visiting(url) as client:
            frames = await ask(client, WEATHER)
            async with another_process(tmp_path) as other, visiting(other) as replica:
                found = await suggestions(replica, {"id": "u-r-1", "role": "user", "content": WEATHER})
                unknown = await suggestions(replica, {"id": "u-r-2", "role": "user", "content": WEATHER})
                assert (await replica.delete("/threads/t-1")).status_code == 200
            deleted = await suggestions(client, {"id": "u-r-1", "role": "user", "content": WEATHER})

    assert found == [one["question"] for one in custom(frames, "flow.suggestions")[0]]
    assert found
    assert unknown == deleted == []


@asynccontextmanager
async def another_process(folder: Path) -> AsyncIterator[str]:
    """`rightseat serve` with the configuration of `plugged`."""
    command = ("-m", "rightseat", "serve", "--config", str(folder / "rightseat.yaml"), "--port", "0")
    environ = {**os.environ, "PYTHONPATH": str(EXAMPLE)}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, *command, cwd=folder, env=environ, stdout=pipe)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            async for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line.decode()):
                    yield found[0]
                    return
        raise AssertionError("it has ended without an address")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_plugins_are_listed_with_their_names_and_descriptions(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch, access=KEYS) as url, visiting(url, **ALICE) as client:
        listed = (await client.get("/plugins", params={"language": "en"})).json()["plugins"]
        translated = (await client.get("/plugins", params={"language": "zh-CN"})).json()["plugins"]
        async with visiting(url) as stranger:
            refused = await stranger.get("/plugins")

    (weather,) = [one for one in listed if one["id"] == "weather"]
    assert weather.keys() == {"id", "version", "name", "description", "questions", "agents"}
    about = json.loads((tmp_path / "plugins/weather/plugin.json").read_text())
    assert (weather["name"], weather["description"]) == (about["name"], about["description"])
    (chinese,) = [one for one in translated if one["id"] == "weather"]
    assert (chinese["name"], chinese["description"]) == (
        about["i18n"]["zh"]["name"],
        about["i18n"]["zh"]["description"],
    )
    assert len({one["name"] for one in listed}) == len({one["description"] for one in listed}) == len(listed) > 1
    assert weather["questions"] == ["What will the weather be in Hangzhou tomorrow?"]
    assert weather["agents"] == ["default"]
    assert refused.status_code == 401


# GraphQL, as CopilotKit spoke it before


async def test_graphql_has_a_chart_as_a_picture_in_the_answer(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url:
        answer = await graphql.post(url, graphql.chat(SALES))
        address = answer.text.rpartition("](")[2].partition(")")[0]
        async with httpx2.AsyncClient() as client:
            picture = await client.get(address)

    assert "![Revenue by region, 2025](" in answer.text
    assert address.startswith(f"{url}/copilotkit/files/file_")
    assert picture.headers["content-type"] == "image/svg+xml"


# OpenBB


async def test_openbb_has_charts_and_tables_as_artifacts_and_steps_as_statuses(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    async with plugged(tmp_path, monkeypatch) as url:
        body = openbb.question(text=SALES) | {"workspace_options": ["prompt-suggestions"]}
        sent = await openbb.ask(f"{url}/openbb", body)

    table, chart = openbb.data_of(sent, "copilotMessageArtifact")
    assert (table["type"], len(table["content"])) == ("table", 4)
    assert (chart["type"], chart["name"]) == ("chart", "Revenue by region, 2025")
    assert chart["chart_params"] == {"chartType": "bar", "xKey": "region", "yKey": ["revenue"]}
    statuses = [one["message"] for one in openbb.data_of(sent, "copilotStatusUpdate")]
    assert statuses == ["start", "has_rows", "draw", "conclude", "end"]
    assert openbb.text_of(sent) == "The chart shows which region leads in 2025, and by how much."
    assert openbb.data_of(sent, "copilotPromptSuggestions") == [{"suggestions": ["How many orders in 2025?"]}]


async def test_openbb_shows_what_a_step_sends(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url:
        sent = await openbb.ask(f"{url}/openbb", openbb.question(text=WEATHER))

    (sending,) = [one for one in openbb.data_of(sent, "copilotStatusUpdate") if one["message"] == "GET /forecast"]
    assert sending["details"] == [{"city": "Hangzhou", "days": 3}]
    assert "copilotPromptSuggestions" not in openbb.names(sent), "the user has not asked for them"


async def test_openbb_reports_that_it_cannot_ask_and_nothing_is_done(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url:
        sent = await openbb.ask(f"{url}/openbb", openbb.question(text=SCAN))

    failed = openbb.data_of(sent, "copilotStatusUpdate")[-2]
    assert failed["eventType"] == "WARNING"
    assert failed["details"] == [{"error": "This step needs a person's approval, and this client cannot ask for it."}]
    assert openbb.text_of(sent).endswith("cannot ask for it. Nothing was scanned.")


# Suggestions take a call of a model


async def by_agui(url: str) -> None:
    async with visiting(url) as client:
        await ask(client, WEATHER)


async def by_graphql(url: str) -> None:
    await graphql.post(url, graphql.chat(WEATHER))


async def by_openai(url: str) -> None:
    async with sdk(url) as client:
        await client.chat.completions.create(model="default", messages=[{"role": "user", "content": WEATHER}])


async def by_openbb(url: str) -> None:
    await openbb.ask(f"{url}/openbb", openbb.question(text=WEATHER))


async def by_openbb_with_the_switch_on(url: str) -> None:
    body = openbb.question(text=WEATHER) | {"workspace_options": ["prompt-suggestions"]}
    await openbb.ask(f"{url}/openbb", body)


async def by_openbb_of_2024(url: str) -> None:
    body = {"messages": [{"role": "human", "content": WEATHER}]}
    async with httpx2.AsyncClient() as client:
        await client.post(f"{url}/openbb/v1/query", json=body)


@pytest.mark.parametrize(
    ("send", "shows"),
    [
        (by_agui, True),
        (by_openbb_with_the_switch_on, True),
        (by_openbb, False),
        (by_openbb_of_2024, False),
        (by_openai, False),
        (by_graphql, False),
    ],
)
async def test_a_model_words_suggestions_only_where_the_client_shows_them(
    send: Callable[[str], Awaitable[None]], shows: bool, tmp_path: Path, monkeypatch: Patch
) -> None:
    wanted: list[str] = []
    call = RoleModelCaller.call

    async def noting(model: RoleModelCaller, one: ModelRequest) -> ModelResponse:
        wanted.append(one.name)
        return await call(model, one)

    monkeypatch.setattr(RoleModelCaller, "call", noting)
    async with plugged(tmp_path, monkeypatch) as url:
        await send(url)

    assert "choose" in wanted
    assert ("suggestions" in wanted) == shows


# OpenAI


async def test_openai_has_a_chart_as_markdown(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, sdk(url) as client:
        said = await client.chat.completions.create(model="default", messages=[{"role": "user", "content": SALES}])
        text = said.choices[0].message.content or ""
        name = text.rpartition("/files/")[2].removesuffix(".svg)")
        option = await client.files.content(name)

    assert text.startswith("The chart shows")
    assert text.endswith(f"\n\n![Revenue by region, 2025]({url}/v1/files/{name}.svg)")
    assert json.loads(option.content)["series"][0]["type"] == "bar"


async def test_openai_streams_the_chart_at_the_end(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, sdk(url) as client:
        said = await client.chat.completions.create(
            model="default", messages=[{"role": "user", "content": SALES}], stream=True
        )
        pieces = [chunk.choices[0].delta.content or "" async for chunk in said]

    assert "".join(pieces).startswith("The chart shows")
    assert f"![Revenue by region, 2025]({url}/v1/files/file_" in [piece for piece in pieces if piece][-1]


async def test_openai_reports_why_it_cannot_ask_for_an_approval(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url, sdk(url) as client:
        said = await client.chat.completions.create(model="default", messages=[{"role": "user", "content": SCAN}])

    assert said.choices[0].message.content == (
        "A scan needs approval, and this client cannot ask for it. Nothing was scanned."
    )


async def test_openai_refuses_the_files_of_others(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch, access=KEYS) as url, sdk(url, "key-alice") as client:
        said = await client.chat.completions.create(model="default", messages=[{"role": "user", "content": SALES}])
        address = (said.choices[0].message.content or "").rpartition("](")[2].removesuffix(")")
        async with httpx2.AsyncClient() as other:
            his = await other.get(address, headers={"authorization": "Bearer key-bob"})

    assert his.status_code == 404
    assert his.json()["error"]["code"] == "file_not_found"
