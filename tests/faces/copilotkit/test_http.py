"""Requests and their answers, over HTTP."""

import json
import logging
import re
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import httpx2
import pytest
from graphql import get_introspection_query

from rightseat.core.ask import ANYONE, Ask, Principal
from rightseat.core.errors import NotConfigured
from rightseat.core.events import Event, StateReplaced
from rightseat.core.hooks import Hooks
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Message
from rightseat.core.run.outcome import Failure
from rightseat.core.threads import Thread
from rightseat.faces.copilotkit import Options
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from tests.conftest import Serve
from tests.faces.copilotkit import recorded, urql
from tests.faces.copilotkit.serving import app, chat, connected, http, post, runtime

HELLO = {"data": {"hello": "Hello World"}}
SECRET = "hunter2 in /etc/rightseat/secrets.py"


def extensions(code: str, status: int, visibility: str, severity: str, message: str) -> dict[str, Any]:
    return {
        "name": "CopilotError",
        "statusCode": status,
        "code": code,
        "visibility": visibility,
        "severity": severity,
        "troubleshootingUrl": None,
        "originalError": {"message": message},
    }


def refused(message: str, code: str, status: int, visibility: str, severity: str) -> dict[str, Any]:
    more = extensions(code, status, visibility, severity, message)
    return {"errors": [{"message": message, "path": ["generateCopilotResponse"], "extensions": more}], "data": None}


def told(answer: httpx2.Response) -> str:
    """The one error of an answer that is no more than an error."""
    body = answer.json()
    (error,) = body["errors"]
    assert not body.get("data")
    message: str = error["message"]
    return message


# Which form


FORMS = {
    "multipart": 'multipart/mixed; boundary="-"',
    "events": "text/event-stream",
    "json": "application/json",
    "graphql": "application/graphql-response+json",
}


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (recorded.ACCEPT, "multipart"),
        ("*/*", "multipart"),
        ("multipart/mixed", "multipart"),
        ("multipart/mixed; deferSpec=20220824, application/json", "multipart"),
        ("text/event-stream, multipart/mixed", "multipart"),
        ("text/event-stream", "events"),
        ("application/json, text/event-stream", "events"),
        ("application/json", "json"),
        ("application/graphql-response+json, application/json", "graphql"),
        ("text/html", "json"),
    ],
)
async def test_the_accept_header_selects_the_format_of_a_stream(serve: Serve, accept: str, form: str) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url, chat(), accept=accept)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == FORMS[form]


async def test_a_client_without_an_accept_header_gets_multipart(serve: Serve) -> None:
    async with serve(app(runtime())) as url, connected(url) as (reader, writer):
        writer.write(http(json.dumps(chat()).encode(), connection="close"))
        answer = await reader.read()

    assert b'content-type: multipart/mixed; boundary="-"\r\n' in answer.lower()


@pytest.mark.parametrize(("accept", "form"), [(recorded.ACCEPT, "graphql"), ("*/*", "json"), ("text/html", "json")])
async def test_a_query_is_answered_with_json(serve: Serve, accept: str, form: str) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url, {"query": "{ hello }"}, accept=accept)

    assert answer.json() == HELLO
    assert answer.headers["content-type"] == FORMS[form]


async def test_a_client_that_takes_only_json_gets_all_at_once(serve: Serve) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url, chat(thread="t-1"), accept="application/json")

    response = answer.json()["data"]["generateCopilotResponse"]
    (message,) = response.pop("messages")
    assert (message["content"], message["status"]["code"]) == (["Hel", "lo"], "Success")
    assert response == {
        "threadId": "t-1",
        "runId": None,
        "extensions": None,
        "metaEvents": [],
        "status": {"code": "Success", "__typename": "SuccessResponseStatus"},
        "__typename": "CopilotResponse",
    }


@pytest.mark.parametrize("accept", ["application/json", recorded.ACCEPT])
async def test_the_clients_run_id_and_extensions_come_back_as_they_were_sent(serve: Serve, accept: str) -> None:
    request = chat()
    given = {"openaiAssistantAPI": {"runId": "run_1", "threadId": None}}
    request["variables"]["data"] |= {"runId": "mine", "extensions": given}
    async with serve(app(runtime())) as url:
        answer = await post(url, request, accept=accept)

    if accept == "application/json":
        response = answer.json()["data"]["generateCopilotResponse"]
    else:
        response = json.loads(answer.text.split("\r\n\r\n")[1].partition("\r\n---")[0])["data"][
            "generateCopilotResponse"
        ]
    assert response["runId"] == "mine"
    assert response["extensions"] == {
        "openaiAssistantAPI": {"runId": "run_1", "threadId": None, "__typename": "OpenAIApiAssistantAPIResponse"},
        "__typename": "ExtensionsResponse",
    }


async def test_a_document_without_directives_gets_all_at_once(serve: Serve) -> None:
    query = re.sub(r" @(defer|stream)", "", recorded.document())

    async with serve(app(runtime())) as url:
        answer = await post(url, chat() | {"query": query})

    assert answer.headers["content-type"] == FORMS["graphql"]
    assert answer.json()["data"]["generateCopilotResponse"]["messages"][0]["content"] == ["Hel", "lo"]


async def test_the_version_of_the_server_is_not_announced(serve: Serve) -> None:
    async with serve(app(runtime())) as url:
        answers = [await post(url, {"query": "{ hello }"}), await post(url, chat())]

    [whole, streamed] = ({name for name in answer.headers if name.startswith("x-")} for answer in answers)
    assert whole == {"x-request-id"}
    assert streamed == {"x-request-id", "x-accel-buffering"}


# What is no operation


async def test_a_path_that_is_not_the_faces_is_not_found(serve: Serve) -> None:
    async with serve(app(runtime())) as url, httpx2.AsyncClient(base_url=url) as client:
        assert (await client.post("/copilotkit/more", json={"query": "{ hello }"})).status_code == 404
        assert (await client.post("/elsewhere", json={"query": "{ hello }"})).status_code == 404


async def test_the_face_may_be_anywhere(serve: Serve) -> None:
    async with serve(app(runtime(), path="/api/pilot")) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post("/api/pilot", json={"query": "{ hello }"})

    assert answer.json() == HELLO


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods_are_refused(serve: Serve, method: str) -> None:
    async with serve(app(runtime())) as url, httpx2.AsyncClient(base_url=url) as client:
        assert (await client.request(method, "/copilotkit", content=b"{}")).status_code == 405


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/graphql", ""],
)
async def test_a_body_that_a_page_may_send_without_asking_is_refused(serve: Serve, content_type: str) -> None:
    model = ScriptedModel([says("Hi")])

    async with serve(app(runtime(model))) as url:
        answer = await post(url, chat(), **{"content-type": content_type})

    assert answer.status_code == 415
    assert told(answer) == "Send the request as application/json."
    assert not model.prompts


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
async def test_json_may_be_written_in_other_ways(serve: Serve, content_type: str) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url, {"query": "{ hello }"}, **{"content-type": content_type})

    assert answer.json() == HELLO


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "Input data was truncated"),
        (b"{nope", "JSON is malformed"),
        (b"null", "Expected `object`, got `null`"),
        (b'[{"query": "{ hello }"}, {"query": "{ hello }"}]', "Expected `object`, got `array`"),
        (b'{"query": "{ hello }", "operationName": 7}', "Expected `str | null`, got `int`"),
        (b'{"query": "\xff"}', "'utf-8' codec can't decode byte 0xff"),
        (b"\x1f\x8b\x08\x00", "JSON is malformed"),  # gzip: never unpacked
    ],
)
async def test_a_body_that_is_no_operation_is_refused(serve: Serve, body: bytes, problem: str) -> None:
    async with serve(app(runtime())) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post("/copilotkit", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert told(answer).startswith(f"The body is not valid ({problem}")
    assert told(answer).endswith("or an envelope with `method`. No batches.")


async def test_an_operation_that_is_nested_too_deeply_is_refused(serve: Serve) -> None:
    deep = b'{"query": "{ hello }", "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    async with serve(app(runtime())) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post("/copilotkit", content=deep, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert told(answer).startswith("The JSON is nested too deeply: the limit is 64 levels.")


async def test_an_invalid_variable_of_a_query_is_reported_without_suggestions(serve: Serve) -> None:
    query = "query q($data: LoadAgentStateInput!) { loadAgentState(data: $data) { threadId } }"
    async with serve(app(runtime())) as url:
        answer = await post(url, {"query": query, "variables": {"data": {"threadIdd": "t", "agentName": "a"}}})

    assert answer.json()["errors"]
    assert "Did you mean" not in answer.text


@pytest.mark.parametrize("body", [b"{}", b'{"query": null}'])
async def test_a_body_that_names_nothing_is_refused(serve: Serve, body: bytes) -> None:
    async with serve(app(runtime())) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post("/copilotkit", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert told(answer).startswith("The body names no operation.")


async def test_a_body_may_be_as_large_as_the_option_allows_and_no_larger(serve: Serve) -> None:
    body = b'{"query":"{ hello }"}'
    limit = 2**20

    async with serve(app(runtime(), max_body_mb=1)) as url, httpx2.AsyncClient(base_url=url) as client:
        kind = {"content-type": "application/json"}
        fits = await client.post("/copilotkit", content=body.ljust(limit), headers=kind)
        too_large = await client.post("/copilotkit", content=body.ljust(limit + 1), headers=kind)

    assert fits.json() == HELLO
    assert too_large.status_code == 413
    assert told(too_large) == "The request is too large: the limit is 1 MB."


async def test_a_body_without_an_end_is_refused_before_it_ends(serve: Serve) -> None:
    async with serve(app(runtime(), max_body_mb=0.01)) as url, connected(url) as (reader, writer):
        head = b"POST /copilotkit HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        writer.write(head + b"transfer-encoding: chunked\r\n\r\n4000\r\n" + b" " * 0x4000 + b"\r\n")
        status = await reader.readline()

    assert status.startswith(b"HTTP/1.1 413 ")


async def test_a_client_that_goes_away_in_the_middle_of_its_request_is_no_error(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(app(runtime())) as url:
        async with connected(url) as (_, writer):
            writer.write(http(b"{", content_length="1000"))
            await writer.drain()
        answer = await post(url, {"query": "{ hello }"})

    assert answer.json() == HELLO
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


# Operations that are wrong


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"query": "{ hello "}, "Syntax Error: Expected Name, found <EOF>."),
        ({"query": "{ nope }"}, "Cannot query field 'nope' on type 'Query'."),
        ({"query": "subscription { hello }"}, "The subscription operation is not supported by the schema."),
        ({"query": "query A { hello }", "operationName": "B"}, "The document has no operation named 'B'."),
        ({"query": "{ hello }", "variables": [1]}, "The variables are not a valid JSON object: "),
        ({"query": "{ ... @defer { hello } }"}, "Queries do not support @defer and @stream. Remove them."),
        (
            chat() | {"variables": {}},
            "Variable '$data' has invalid value: Expected a value of non-null type 'GenerateCopilotResponseInput!'",
        ),
        (recorded.request("http-unknown-variable-enum"), "Variable '$data' has invalid value at "),
    ],
)
async def test_a_wrong_operation_is_answered_with_200_because_clients_drop_the_body_of_anything_else(
    serve: Serve, body: dict[str, Any], problem: str
) -> None:
    model = ScriptedModel([says("Hi")])

    async with serve(app(runtime(model))) as url:
        answer = await post(url, body)

    assert answer.status_code == 200
    assert told(answer).startswith(problem)
    assert not model.prompts


async def test_what_was_sent_is_not_sent_back_at_length(serve: Serve) -> None:
    picture = {"id": "i", "imageMessage": {"role": "user", "format": "png", "bytes": "A" * 100_000}}

    async with serve(app(runtime())) as url:
        answer = await post(url, chat(messages=[picture]))

    assert "to include required field 'createdAt'" in told(answer)
    assert len(answer.content) < 2000


async def test_half_a_character_does_not_spoil_the_whole_request(serve: Serve) -> None:
    """JavaScript cuts a text in the middle of an emoji, and writes the half as an escape."""
    model = ScriptedModel([says("Hi")])
    body = json.dumps(chat("cut: HALF, low: LOW, whole: 🙂, no escape: \\ud83d")).replace("HALF", "\\ud83d")

    async with serve(app(runtime(model))) as url, httpx2.AsyncClient(base_url=url) as client:
        await client.post(
            "/copilotkit", content=body.replace("LOW", "\\ude00"), headers={"content-type": "application/json"}
        )

    assert model.prompts[0].messages[0].text == "cut: \ufffd, low: \ufffd, whole: 🙂, no escape: \\ud83d"


# Queries


async def test_a_query_may_be_sent_by_get(serve: Serve) -> None:
    query = "query Q($yes: Boolean!) { hello @include(if: $yes) } query R { other: hello }"

    async with serve(app(runtime())) as url, httpx2.AsyncClient(base_url=url) as client:
        parameters = {"query": query, "variables": '{"yes": true}', "operationName": "Q"}
        answer = await client.get("/copilotkit", params=parameters)
        short = await client.get("/copilotkit", params={"query": "{ hello }"})

    assert answer.json() == HELLO
    assert short.json() == HELLO


async def test_a_mutation_is_not_sent_by_get(serve: Serve) -> None:
    model = ScriptedModel([says("Hi")])
    request = chat()

    async with serve(app(runtime(model))) as url, httpx2.AsyncClient(base_url=url) as client:
        parameters = {"query": request["query"], "variables": json.dumps(request["variables"])}
        answer = await client.get("/copilotkit", params=parameters)

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert told(answer) == "A mutation is sent by POST, never by GET."
    assert not model.prompts


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({}, 405),
        ({"query": "{ hello }", "variables": "nope"}, 200),
        ({"query": "{ hello }", "variables": "[1]"}, 200),
        ({"query": "{ hello }", "variables": "[" * 9000}, 400),
        ({"query": "{ hello }", "variables": "[" * 70 + "]" * 70}, 400),
        ({"query": ""}, 200),
    ],
)
async def test_an_invalid_get_is_reported(serve: Serve, parameters: dict[str, str], status: int) -> None:
    async with serve(app(runtime())) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/copilotkit", params=parameters)

    assert answer.status_code == status
    assert told(answer)


async def test_graphql_tools_find_the_schema_unless_it_is_switched_off(serve: Serve) -> None:
    asked = {"query": get_introspection_query()}

    async with serve(app(runtime())) as url:
        shown = await post(url, asked)
    async with serve(app(runtime(), introspection=False)) as url:
        hidden = await post(url, asked)

    assert "GenerateCopilotResponseInput" in shown.text
    assert "introspection has been disabled" in hidden.text
    assert "GenerateCopilotResponseInput" not in hidden.text


# Agents


class Counter:
    """An agent that counts how often its thread was asked."""

    description = "Counts."

    async def run(self, ask: Ask, steps: object) -> AsyncIterator[Event]:
        count = ask.state["count"] + 1 if isinstance(ask.state, dict) and isinstance(ask.state["count"], int) else 1
        yield StateReplaced({"count": count})


LIST = recorded.request("available-agents-none")


async def agents(url: str) -> list[dict[str, str]]:
    answer = await post(url, LIST)
    found: list[dict[str, str]] = answer.json()["data"]["availableAgents"]["agents"]
    return found


async def test_all_agents_but_the_default_are_listed(serve: Serve) -> None:
    async with serve(app(runtime(counter=Counter(), other=Loop(ScriptedModel([]))))) as url:
        found = await agents(url)

    assert found == [
        {"name": "counter", "id": "counter", "description": "Counts.", "__typename": "Agent"},
        {"name": "other", "id": "other", "description": "", "__typename": "Agent"},
    ]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["counter", "other"]),
        ({"agent": "other"}, ["default", "counter"]),
        ({"agent": None}, ["default", "counter", "other"]),
        ({"agents": ("other",)}, ["other"]),
        ({"agents": ("default", "gone")}, ["default"]),
        ({"agents": ()}, []),
    ],
)
async def test_the_options_select_the_agents_of_an_address(
    serve: Serve, options: dict[str, Any], names: list[str]
) -> None:
    everyone = runtime(counter=Counter(), other=Loop(ScriptedModel([says("I am other")])))

    async with serve(app(everyone, **options)) as url:
        listed = [agent["name"] for agent in await agents(url)]
        heard = {name: await post(url, chat(agent=name)) for name in ("default", "counter", "other")}

    assert listed == names
    own = options.get("agent", "default")
    for name, answer in heard.items():
        if name in names or name == own:
            assert urql.merge(urql.parts(answer.content))["generateCopilotResponse"]["status"]["code"] == "Success"
        else:
            known = ", ".join(sorted({*options.get("agents", names), *([own] if own else [])})) or "none"
            message = f"No agent named {name!r}. Configured: {known}."
            assert answer.json() == refused(message, "AGENT_NOT_FOUND", 500, "banner", "critical")


async def test_a_chat_that_names_no_agent_goes_to_the_addresss_own(serve: Serve) -> None:
    everyone = runtime(ScriptedModel([says("I am default")]), other=Loop(ScriptedModel([says("I am other")])))

    async with serve(app(everyone, agent="other")) as url:
        answer = await post(url, chat())

    assert "I am other" in answer.text


async def test_the_default_agent_can_be_chosen_by_name_and_goes_on_by_itself_then(serve: Serve) -> None:
    model = ScriptedModel([calls("add", '{"a": 1, "b": 2}'), says("Three.")])
    adding = runtime()
    adding.agents["default"] = Loop(model, [FunctionToolbox([add])])

    async with serve(app(adding)) as url:
        answer = await post(url, chat(agent="default", thread="t1"))

        listed = await agents(url)

    assert "Three." in answer.text
    assert listed == []


async def test_a_model_of_ones_own_receives_the_run_and_the_properties(serve: Serve) -> None:
    model = ScriptedModel([says("Hi.")])
    seen: list[Ask] = []

    async def note(ask: Ask) -> None:
        seen.append(ask)

    request = chat()
    request["variables"]["properties"] = {"tenant": "acme"}
    async with serve(app(runtime(model, hooks=Hooks(before_request=[note])))) as url:
        await post(url, request)

    (prompt,) = model.prompts
    assert (prompt.run_id, prompt.thread_id) == (seen[0].run_id, seen[0].thread_id)
    assert prompt.properties == {"tenant": "acme"}


async def test_without_an_own_agent_a_chat_must_name_one(serve: Serve) -> None:
    async with serve(app(runtime(), agent=None)) as url:
        answer = await post(url, chat())

    message = (
        "The request names no agent, and this face has no default agent. "
        "Set `agent` in the client, or `agent` of the face in the configuration."
    )
    assert answer.json() == refused(message, "MISUSE", 400, "dev_only", "warning")


async def load(url: str, thread: str, agent: str = "counter") -> dict[str, Any]:
    request = recorded.request("load-agent-state")
    request["variables"] = {"data": {"threadId": thread, "agentName": agent}}
    answer: dict[str, Any] = (await post(url, request)).json()
    return answer


async def test_the_state_of_a_thread_can_be_loaded(serve: Serve) -> None:
    async with serve(app(runtime(counter=Counter()))) as url:
        before = await load(url, "t-1")
        await post(url, chat("Count!", thread="t-1", agent="counter"))
        after = await load(url, "t-1")

    empty = {"threadId": "t-1", "threadExists": False, "state": "{}", "messages": "[]"}
    said = '[{"id":"u-1","role":"user","content":"Count!"}]'
    full = {"threadId": "t-1", "threadExists": True, "state": '{"count":1}', "messages": said}
    typename = {"__typename": "LoadAgentStateResponse"}
    assert before == {"data": {"loadAgentState": empty | typename}}
    assert after == {"data": {"loadAgentState": full | typename}}


async def test_a_loaded_thread_has_its_messages_as_clients_restore_them(serve: Serve) -> None:
    """`loadMessagesFromJsonRepresentation`: arguments are an object. The client makes its system message anew."""
    helper = Loop(ScriptedModel([calls("add", '{"a": 1, "b": 2}'), says("Three.")]), [FunctionToolbox([add])])
    messages = recorded.request("plain-chat")["variables"]["data"]["messages"]

    async with serve(app(runtime(helper=helper))) as url:
        await post(url, chat(thread="t-1", agent="helper", messages=messages))
        loaded = json.loads((await load(url, "t-1", "helper"))["data"]["loadAgentState"]["messages"])

    hi, call, result, answer = loaded
    assert hi == {"id": "u-1", "role": "user", "content": "Hi"}
    assert call == {
        "id": "call_1",
        "name": "add",
        "arguments": {"a": 1, "b": 2},
        "parentMessageId": call["parentMessageId"],
    }
    assert result == {
        "id": "result-call_1",
        "actionExecutionId": "call_1",
        "actionName": "add",
        "result": "3",
    }
    assert answer == {"id": answer["id"], "role": "assistant", "content": "Three."}


async def test_the_state_of_an_agent_that_is_not_there_cannot_be_loaded(serve: Serve) -> None:
    async with serve(app(runtime(counter=Counter()))) as url:
        answer = await load(url, "t-1", "gone")

    message = "No agent named 'gone'. Configured: counter, default."
    (error,) = answer["errors"]
    assert answer["data"] is None
    assert error["message"] == message
    assert error["path"] == ["loadAgentState"]
    assert error["extensions"] == extensions("AGENT_NOT_FOUND", 500, "banner", "critical", message)


async def test_an_invalid_query_is_reported_and_not_logged_as_an_error(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    request = recorded.request("load-agent-state") | {"variables": {"data": {"threadId": "t-1", "other": 1}}}
    async with serve(app(runtime())) as url:
        wrong = (await post(url, request)).json()
        await load(url, "t-1", "gone")

    assert "required field 'agentName'" in wrong["errors"][0]["message"]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


# Actions


def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


async def messages(url: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    answer = await post(url, request)
    response = urql.merge(urql.parts(answer.content))["generateCopilotResponse"]
    assert response["status"]["code"] == "Success"
    found: list[dict[str, Any]] = response["messages"]
    return found


async def test_after_a_server_side_action_the_client_asks_again(serve: Serve) -> None:
    model = ScriptedModel([calls("add", '{"a": 1, "b": 2}'), says("Three.")])
    adding = runtime()
    adding.agents["default"] = Loop(model, [FunctionToolbox([add])])

    async with serve(app(adding)) as url:
        call, result = await messages(url, chat())

    assert (call["name"], "".join(call["arguments"])) == ("add", '{"a": 1, "b": 2}')
    assert (result["id"], result["result"], result["actionExecutionId"]) == ("result-call_1", "3", "call_1")
    assert len(model.prompts) == 1


async def test_an_agent_that_the_client_names_goes_on_by_itself(serve: Serve) -> None:
    model = ScriptedModel([calls("add", '{"a": 1, "b": 2}'), says("Three.")])

    async with serve(app(runtime(adder=Loop(model, [FunctionToolbox([add])])))) as url:
        call, result, text = await messages(url, chat(agent="adder"))

    assert [call["name"], result["result"], text["content"]] == ["add", "3", ["Three."]]
    assert len(model.prompts) == 2


async def test_an_action_of_the_page_is_left_to_the_page(serve: Serve) -> None:
    model = ScriptedModel([calls("setColor", '{"color": "red"}')])

    async with serve(app(runtime(model))) as url:
        (call,) = await messages(url, recorded.request("frontend-action"))

    assert (call["name"], "".join(call["arguments"])) == ("setColor", '{"color": "red"}')
    assert [tool.name for tool in model.prompts[0].tools] == ["setColor", "setSize"]


# Refusals


async def test_an_unknown_agent_is_reported(serve: Serve) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url, recorded.request("agent-not-found"))

    assert answer.status_code == 200
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == "AGENT_NOT_FOUND"
    assert error["message"] == "No agent named 'nobody'. Configured: default."


async def test_a_request_for_the_cloud_needs_its_key(serve: Serve) -> None:
    model = ScriptedModel([says("Hi")])

    async with serve(app(runtime(model))) as url:
        answer = await post(url, recorded.request("cloud-without-key"))

    message = "X-CopilotCloud-Public-API-Key header is required"
    assert answer.json() == refused(message, "MISSING_PUBLIC_API_KEY_ERROR", 400, "banner", "critical")
    assert not model.prompts


async def test_guardrails_that_are_asked_for_and_are_not_there_let_nothing_through(serve: Serve) -> None:
    model = ScriptedModel([says("Hi")])
    key = {"x-copilotcloud-public-api-key": "ck_pub_0"}

    async with serve(app(runtime(model))) as url:
        denied = await post(url, recorded.request("guardrails-denied"), **key)
        without = await post(url, chat(cloud={}), **key)

    message = (
        "The request asks for guardrails, but this server has none that judge topics: `guards` of its configuration "
        "needs one of the type copilotkit or judge. Nothing was sent to the model."
    )
    assert denied.json() == refused(message, "CONFIGURATION_ERROR", 400, "banner", "warning")
    assert "Success" in without.text
    assert len(model.prompts) == 1


async def test_an_invalid_field_of_a_client_is_reported_with_its_path(serve: Serve) -> None:
    async with serve(app(runtime())) as url:
        answer = await post(url, chat(forwardedParameters={"toolChoice": "any"}))

    message = "toolChoice is 'any'; it is one of auto, none, required, function."
    assert answer.json() == refused(message, "MISUSE", 400, "dev_only", "warning")


# What is never told


class Broken:
    description = ""

    async def run(self, ask: Ask, steps: object) -> AsyncIterator[Event]:
        await raise_secret()
        yield  # type: ignore[unreachable]  # what makes it an iterator


async def raise_secret(*_: object) -> NoReturn:
    raise RuntimeError(SECRET)


async def test_what_an_agent_raises_stays_in_the_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    async with serve(app(runtime(broken=Broken()))) as url:
        pieces = await post(url, chat(agent="broken"))
        whole = await post(url, chat(agent="broken"), accept="application/json")

    for response in (urql.merge(urql.parts(pieces.content)), whole.json()["data"]):
        status = response["generateCopilotResponse"]["status"]
        assert (status["code"], status["reason"]) == ("Failed", "UNKNOWN_ERROR")
        assert status["details"]["description"].startswith(
            "Something went wrong on the server. Its log has the details"
        )
        assert status["details"]["originalError"]["code"] == "UNKNOWN"
    assert "hunter2" not in pieces.text + whole.text
    assert "hunter2" in caplog.text


async def test_what_a_hook_raises_stays_in_the_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel([says("Hi")])

    async with serve(app(runtime(model, hooks=Hooks(before_request=[raise_secret])))) as url:
        answer = await post(url, chat())

    assert answer.status_code == 200
    assert told(answer).startswith("Something went wrong on the server. Its log has the details under run_")
    assert answer.json()["errors"][0]["extensions"]["code"] == "UNKNOWN"
    assert "hunter2" not in answer.text
    assert "hunter2" in caplog.text
    assert not model.prompts


class BrokenThreads(MemoryThreads):
    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        await raise_secret()


async def test_what_goes_wrong_in_a_query_stays_in_the_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    async with serve(app(runtime(threads=BrokenThreads(), counter=Counter()))) as url:
        answer = await load(url, "t-1")

    (error,) = answer["errors"]
    assert error["message"] == "Something went wrong on the server. Its log has the details."
    assert error["extensions"]["code"] == "UNKNOWN"
    assert "hunter2" not in str(answer)
    assert "hunter2" in caplog.text


HOSTS = ["evil.example", "a?b", "a#b", "user@a", "a\\b", "a/../b", "", "a:99999", "[::1"]


@pytest.mark.parametrize("host", HOSTS)
async def test_a_hostile_host_changes_nothing(serve: Serve, host: str) -> None:
    """In somebody's application, which hosts are answered for is theirs to say."""
    async with serve(app(runtime(), "somebody's")) as url, connected(url) as (reader, writer):
        writer.write(http(b'{"query": "{ hello }"}', host=host, connection="close"))
        answer = await reader.read()

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert json.loads(body) == HELLO
    if host:
        assert host.encode() not in answer


@pytest.mark.parametrize("host", HOSTS)
async def test_our_application_does_not_answer_for_it(serve: Serve, host: str) -> None:
    async with serve(app(runtime())) as url, connected(url) as (reader, writer):
        writer.write(http(b'{"query": "{ hello }"}', host=host, connection="close"))
        status = int((await reader.read()).split()[1])

    assert status == (421 if host in ("evil.example", "a:99999") else 400)


# Hooks, properties, headers


async def test_hooks_see_what_comes_along_and_change_what_is_asked(serve: Serve) -> None:
    seen: list[Ask] = []
    order: list[str] = []

    async def look(ask: Ask) -> None:
        seen.append(ask)
        order.append("look")

    async def move(ask: Ask) -> Ask:
        order.append("move")
        return Ask(
            messages=ask.messages, thread_id="another", run_id=ask.run_id, transient=True, principal=ANYONE, max_turns=1
        )

    async def after(ask: Ask, said: tuple[Message, ...]) -> None:
        order.append(f"after {ask.thread_id}: {said[0].text}")

    hooks = Hooks(before_request=[look, move], after_request=[after])
    request = recorded.request("properties-forwarding")
    sent = {"x-custom": "abc", "x-other": "def", "authorization": "Bearer demo"}

    served = runtime(hooks=hooks)
    async with serve(app(served, headers=("X-Custom", "x-missing"))) as url:
        answer = await post(url, request, **sent)
    await served.close()

    assert seen[0].properties == {"authorization": "demo-token", "nested": {"a": 1}, "tenant": "t1"}
    assert seen[0].headers == {"X-Custom": "abc"}
    assert urql.parts(answer.content)[0]["data"]["generateCopilotResponse"]["threadId"] == "another"
    assert order == ["look", "move", "after another: Hello"]


async def test_a_hook_may_refuse_with_words_of_its_own(serve: Serve) -> None:
    async def closed(ask: Ask) -> None:
        raise NotConfigured("Closed on Sundays.")

    async with serve(app(runtime(hooks=Hooks(before_request=[closed])))) as url:
        answer = await post(url, chat())

    assert answer.json() == refused("Closed on Sundays.", "MISUSE", 400, "dev_only", "warning")


async def test_a_failure_is_passed_to_a_hook(serve: Serve) -> None:
    seen: list[str] = []

    async def failed(ask: Ask, failure: Failure) -> None:
        seen.append(failure.code)

    served = runtime(hooks=Hooks(on_error=[failed, raise_secret]), broken=Broken())
    async with serve(app(served)) as url:
        answer = await post(url, chat(agent="broken"))
    await served.close()

    assert seen == ["internal_error"]
    assert "hunter2" not in answer.text


# Options


@pytest.mark.parametrize("wrong", [{"path": "pilot"}, {"max_body_mb": 0}, {"nope": 1}])
def test_options_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        Options(**wrong)
