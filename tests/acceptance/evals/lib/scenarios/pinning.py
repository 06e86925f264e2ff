"""A stored run becomes a case: from every face, with everything that a run can contain."""

import base64
import json
import struct
import zlib
from pathlib import Path

from fakes import tell
from judging import World, attempt, check, command, equal, outcomes, pin, pinned_is_replayed, run, scenario
from project import events_of

SPEED = Path(__file__).resolve().parent.parent.parent / "speed" / "lib"
ORDER = [["get_order", {"id": 7}]]
KEPT = {"evals": {"record": "all"}}  # the recordings of transient runs are kept, too


def question(text: str = "What is in order 7?") -> str:
    return tell(text, calls=[ORDER], say="$results")


def transient(world: World):  # noqa: ANN201
    return world.served("transient", **KEPT)


@scenario
def pin_operator(world: World) -> None:
    """a run of the console becomes a case, passes when it is replayed, and reaches no tool"""
    project = world.served()
    _, id = project.ask(question())
    equal(project.fakes.counts["get_order"], 1, "calls at the tool server in the original run")
    found = pin(project, id, "order")
    check("What is in order 7?" in json.dumps(found["ask"]), "the case does not have the question")
    recorded = found.get("recorded", [])
    equal([(item["tool"], item["arguments"]) for item in recorded], [("get_order", {"id": 7})], "recorded calls")
    check('"total":120' in str(recorded[0]["result"]).replace(" ", ""), "the recorded result is not the tool's")
    equal(found["source"].get("run"), id, "source.run")
    check(any("tool_calls" in approval for approval in found["scorers"]), "no scorer for the recorded tool calls")
    pinned_is_replayed(project, found, say='"total":120', tools=("get_order",))


@scenario
def pin_agui(world: World) -> None:
    """the same from CopilotKit's current protocol"""
    project = world.served()
    project.agui(question())
    pinned_is_replayed(project, pin(project, project.latest_run("copilotkit"), "order"), tools=("get_order",))


@scenario
def pin_ai_sdk(world: World) -> None:
    """the same from the AI SDK's `useChat`"""
    project = world.served()
    project.request("/api/chat", {"id": "chat-pin", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": question()}]}]})
    pinned_is_replayed(project, pin(project, project.latest_run("ai_sdk"), "order"), tools=("get_order",))


@scenario
def pin_responses(world: World) -> None:
    """the same from OpenAI's Responses API"""
    project = world.served()
    project.request("/v1/responses", {"model": "default", "input": question()})
    pinned_is_replayed(project, pin(project, project.latest_run("openai"), "order"), tools=("get_order",))


@scenario
def pin_openai_chat(world: World) -> None:
    """the same from OpenAI's chat completions, whose runs are transient: kept with `evals.record: all`"""
    project = transient(world)
    project.request("/v1/chat/completions", {"model": "default", "messages": [{"role": "user", "content": question()}]})
    pinned_is_replayed(project, pin(project, project.latest_run("openai"), "order"), tools=("get_order",))


@scenario
def pin_openbb(world: World) -> None:
    """the same from OpenBB Workspace, whose runs are transient"""
    project = transient(world)
    project.request("/openbb/v1/query", {"messages": [{"role": "human", "content": question()}]})
    pinned_is_replayed(project, pin(project, project.latest_run("openbb"), "order"), tools=("get_order",))


@scenario
def pin_graphql(world: World) -> None:
    """the same from CopilotKit's GraphQL clients, whose plain chats are transient"""
    project = transient(world)
    message = {"id": "m1", "createdAt": "2026-01-01T00:00:00.000Z", "textMessage": {"content": question(), "role": "user"}}
    data = {"metadata": {"requestType": "Chat"}, "frontend": {"actions": [], "url": "http://localhost/"}, "threadId": "t-graphql", "messages": [message], "forwardedParameters": {}, "extensions": {}}
    body = {"operationName": "generateCopilotResponse", "query": (SPEED / "mutation.graphql").read_text(), "variables": {"data": data, "properties": {}}}
    status, answer = project.request("/copilotkit", body, headers={"accept": "multipart/mixed, application/json"})
    check(status == 200, f"the GraphQL request failed: {status} {answer[:100]}")
    pinned_is_replayed(project, pin(project, project.latest_run("copilotkit"), "order"), tools=("get_order",))


@scenario
def pin_transient_refused(world: World) -> None:
    """a transient run that was not kept: one line that says why and which setting keeps such runs"""
    project = world.served()
    project.request("/v1/chat/completions", {"model": "default", "messages": [{"role": "user", "content": question()}]})
    done = command(project, "pin", project.latest_run("openai") or "run_none", "--into", "no", codes=(1,))
    check("evals.record" in done.err, f"the message does not name the setting: {done.err[:200]!r}")
    check(not (project.folder / "evals" / "no.yaml").exists(), "a file was written")


@scenario
def pin_thread(world: World) -> None:
    """a thread of two turns becomes one case; the second turn is asked after the first one's new answer"""
    project = world.served()
    thread, _ = project.ask(tell("First: order 7?", calls=[ORDER], say="It is 120."))
    project.ask(tell("Second: and with tax?", say="It is 142."), thread=thread)
    found = pin(project, thread, "two")
    equal(len(found["ask"]) if isinstance(found["ask"], list) else 0, 2, "turns of the case")
    pinned_is_replayed(project, found, say="It is 142.", tools=("get_order",))
    last = project.fakes.requests[-1].texts
    check("First: order 7?" in last and "It is 120." in last, "the second turn was asked without the first")


@scenario
def pin_history(world: World) -> None:
    """one run in the middle of a thread: what came before is its history, and is not asked again"""
    project = world.served()
    thread, _ = project.ask(tell("My name is Kim.", say="Hello Kim."))
    _, id = project.ask(tell("What is my name?", say="Kim."), thread=thread)
    found = pin(project, id, "name")
    check("Hello Kim." in json.dumps(found.get("history")), "the earlier answer is not in `history`")
    pinned_is_replayed(project, found, say="Kim.")
    equal(len(project.fakes.requests), 1, "model calls of the replay")
    check("Hello Kim." in project.fakes.requests[0].texts, "the model did not get the history")


@scenario
def pin_approval(world: World) -> None:
    """a call that a person approved: two runs are one case, and the approval is answered from the recording"""
    project = world.served()
    _, first = project.ask(tell("Refund order 7", calls=[[["refund", {"id": 7}]]], say="$results"))
    second = project.answer()
    equal(project.fakes.counts["refund"], 1, "refunds in the original runs")
    for id in (first, second):
        found = pin(project, id, "refund")
        equal([approval.get("approval") for approval in found["recorded"]], ["approved"], f"recorded approval (pinned from {'the first' if id == first else 'the second'} run)")
        pinned_is_replayed(project, found, say='"total":120', tools=("refund",))


@scenario
def pin_denied(world: World) -> None:
    """a call that a person denied stays denied, and is not made"""
    project = world.served()
    project.ask(tell("Refund order 8", calls=[[["refund", {"id": 8}]]], say="$results"))
    found = pin(project, project.answer(payload=False, status="cancelled"), "denied")
    equal([approval.get("approval") for approval in found["recorded"]], ["denied"], "recorded approval")
    pinned_is_replayed(project, found, say="denied", tools=("refund",))


@scenario
def pin_client_tool(world: World) -> None:
    """a tool of the page: its definition and its result are in the case, and no page is needed"""
    project = world.served()
    text = tell("Show the chart", calls=[[["show_chart", {"kind": "bar"}]]], say="$results")
    tool = {"name": "show_chart", "description": "Shows a chart on the page.", "parameters": {"type": "object", "properties": {"kind": {"type": "string"}}}}
    asked = {"id": "m1", "role": "user", "content": text}
    answer = events_of(project.agui("", tools=[tool], messages=[asked], thread="t-client"))
    call = next((event["toolCallId"] for event in answer if event["type"] == "TOOL_CALL_START"), "none")
    made = {"id": "m2", "role": "assistant", "toolCalls": [{"id": call, "type": "function", "function": {"name": "show_chart", "arguments": '{"kind": "bar"}'}}]}
    project.agui("", tools=[tool], messages=[asked, made, {"id": "m3", "role": "tool", "toolCallId": call, "content": "the bar is shown"}], thread="t-client")
    found = pin(project, project.latest_run("copilotkit"), "chart")
    check("show_chart" in json.dumps(found.get("tools")), "the page's tool is not in `tools`")
    check("Shows a chart on the page." in json.dumps(found.get("tools")), "the definition of the page's tool is not the page's")
    pinned_is_replayed(project, found, say="the bar is shown", tools=("show_chart",))
    offered = [tool["function"]["name"] for tool in project.fakes.requests[0].body.get("tools", [])]
    check("show_chart" in offered, "the model was not offered the page's tool in the replay")


@scenario
def pin_mcp(world: World) -> None:
    """a tool of an MCP server is served from the recording; the server need not run"""
    project = world.served()
    _, id = project.ask(tell("Ticket 3?", calls=[[["ticket", {"id": 3}]]], say="$results"))
    equal(project.fakes.counts["mcp"], 1, "calls at the MCP server in the original run")
    pinned_is_replayed(project, pin(project, id, "ticket"), say="ticket 3 is open", tools=("ticket",))


@scenario
def pin_flow(world: World) -> None:
    """a flow runs anew, with its own model call; the request to its API is served from the recording"""
    project = world.served()
    inner = tell("Stock of 5", say='{"article": "5"}')
    _, id = project.ask(tell("How many of 5?", calls=[[["stock_stock", {"question": inner}]]], say="$results"))
    equal(project.fakes.counts["stock"], 1, "requests to the API in the original run")
    found = pin(project, id, "stock")
    project.fakes.forget()
    result = run(project, found["dataset"], "--fresh")
    equal(outcomes(result), {"stock": "passed"}, "the pinned case")
    equal(dict(project.fakes.counts), {}, "requests to the API during the replay")
    check('"total":120' in attempt(result, "stock")["text"].replace(" ", ""), "the API's recorded response did not reach the model")
    check(any("fill in the parameters" in request.texts for request in project.fakes.requests), "the flow's own model call was not made anew")


@scenario
def pin_subagent(world: World) -> None:
    """an agent that asks another agent: both run anew, the tools of both are recorded, and the inner call is shown"""
    project = world.served()
    inner = tell("inner", calls=[ORDER], say="It is 120.")
    _, id = project.ask(tell("Ask the expert", calls=[[["expert", {"question": inner}]]], say="$results"))
    equal(project.fakes.counts["get_order"], 1, "calls at the tool server in the original run")
    found = pin(project, id, "expert")
    project.fakes.forget()
    result = run(project, found["dataset"], "--fresh")
    equal(outcomes(result), {"expert": "passed"}, "the pinned case")
    equal(dict(project.fakes.counts), {}, "calls at the tool servers during the replay")
    names = [call["name"] for call in attempt(result, "expert")["tool_calls"]]
    check("expert" in names and "get_order" in names, f"tool calls of the replay: expected expert and get_order, got {names}")
    check(len(project.fakes.requests) >= 4, f"both agents call their model anew: expected at least 4 model calls, got {len(project.fakes.requests)}")


@scenario
def pin_image(world: World) -> None:
    """an image is a file beside the dataset, not a line of the YAML, and reaches the model again"""
    project = world.served()
    image = base64.b64encode(png()).decode()
    asked = {"id": "m1", "role": "user", "content": [{"type": "text", "text": tell("What is this?", say="A square.")}, {"type": "image", "source": {"type": "data", "value": image, "mimeType": "image/png"}}]}
    project.agui("", messages=[asked], thread="t-image")
    if image not in json.dumps(project.fakes.requests[-1].body if project.fakes.requests else ""):
        check(False, "the original run did not send the image to the model")
    found = pin(project, project.latest_run("copilotkit"), "image")
    check(image[:60] not in found["text"], "the image is in the YAML")
    beside = [path for path in (project.folder / "evals").rglob("*") if path.is_file() and path.read_bytes() == png()]
    equal(len(beside), 1, "files with the image's bytes under evals/")
    pinned_is_replayed(project, found, say="A square.")
    check(image in json.dumps(project.fakes.requests[-1].body), "the replay did not send the image to the model")


@scenario
def pin_wrong(world: World) -> None:
    """a conversation that went wrong: what should have happened becomes a rubric; what happened is not expected"""
    project = world.served()
    _, id = project.ask(question())
    found = pin(project, id, "wrong", "--wrong", "It must ask for the order's number first.")
    judges = [approval["judge"] for approval in found["scorers"] if "judge" in approval]
    check("ask for the order's number" in json.dumps(judges), f"no judge with the rubric: {found['scorers']}")
    check(not any("tool_calls" in approval for approval in found["scorers"]), "the wrong tool calls are expected")
    project.fakes.verdicts = ["fail"]
    equal(outcomes(run(project, found["dataset"], "--fresh", codes=(1,))), {"wrong": "failed"}, "the case before the mend")


@scenario
def pin_readable(world: World) -> None:
    """the file is made for a diff: block style, one fact a line, long texts as blocks, the same bytes each time"""
    project = world.served()
    _, id = project.ask(tell("A question\nof three\nlines", calls=[ORDER], say="Done."))
    first, second = (pin(project, id, "same", into=name)["text"] for name in ("one", "two"))
    equal(first.replace("one", "two"), second.replace("one", "two"), "the same run, pinned twice")
    check(first.startswith("# yaml-language-server: $schema="), "the first line does not name the JSON Schema")
    check("\\n" not in first.replace("\\\\n", "") and "|" in first, "texts of several lines are not written as blocks")
    check("&id" not in first and "!!" not in first, "the file has anchors or tags")
    check(max(len(line) for line in first.splitlines()) < 400, "a line has more than 400 characters")
    third = command(project, "pin", id, "--into", "one", "--name", "same", codes=(1,))
    check("same" in third.err and (project.folder / "evals" / "one.yaml").read_text() == first, "a second case of that name was written, or the message does not name it")
    command(project, "pin", id, "--into", "one", "--name", "other")
    text = (project.folder / "evals" / "one.yaml").read_text()
    check(text.startswith(first.rstrip()), "pinning another case changed the lines of the first")


@scenario
def pin_keeps_comments(world: World) -> None:
    """pinning into a file that a person edited keeps comments, order and quotes"""
    project = world.served()
    _, id = project.ask(question())
    before = "version: 1\n# checked by Kim\ncases:\n  - name: 'mine'   # keep me\n    ask: \"Hello\"\n    scorers:\n      - outcome: done\n"
    project.dataset("edited", before)
    pin(project, id, "added", into="edited")
    check((project.folder / "evals" / "edited.yaml").read_text().startswith(before.rstrip()), "the lines that were there have changed")


@scenario
def pin_unknown(world: World) -> None:
    """an unknown run: exit 1, one line, no file"""
    project = world.served()
    done = command(project, "pin", "run_does_not_exist", "--into", "none", codes=(1,))
    check(len(done.err.strip().splitlines()) == 1 and "run_does_not_exist" in done.err, f"expected one line that names the run, got {done.err[:200]!r}")
    check(not (project.folder / "evals" / "none.yaml").exists(), "a file was written")


@scenario
def pin_http(world: World) -> None:
    """one click: the operator's API pins a run and lists the case"""
    project = world.served()
    _, id = project.ask(question())
    status, answer = project.request(f"/operator/runs/{id}/pin", {"dataset": "clicked", "name": "click", "wrong": "It must be shorter."})
    equal(status, 201, f"POST /operator/runs/ID/pin ({answer[:120]})")
    check((project.folder / "evals" / "clicked.yaml").exists(), "no file was written")
    status, answer = project.request("/operator/evals")
    equal(status, 200, "GET /operator/evals")
    check("click" in answer and "clicked" in answer, "the list does not have the case")


@scenario
def pin_http_rights(world: World) -> None:
    """who may not author may not pin: 403 and no file; a dataset is a name, not a path"""
    keys = [{"name": name, "key": f"sk-{name}", "user": name, "scopes": scopes} for name, scopes in (("alice", ["*", "operator.author:*", "operator.read:*"]), ("bob", ["*"]), ("olga", ["*"]))]
    project = world.served("rights", access={"keys": keys})
    _, id = project.ask(question())
    status, _ = project.request(f"/operator/runs/{id}/pin", {"dataset": "stolen", "name": "x"}, user="bob")
    check(status in (403, 404), f"another user's run was pinned without the right: {status}")
    status, _ = project.request(f"/operator/runs/{id}/pin", {"dataset": "../stolen", "name": "x"})
    equal(status, 400, "a dataset named ../stolen")
    check(not list(project.folder.rglob("stolen*")) and not list(project.folder.parent.glob("stolen*")), "a file was written")
    status, _ = project.request(f"/operator/runs/{id}/pin", {"dataset": "own", "name": "x"})
    equal(status, 201, "with the right")


def png() -> bytes:
    """A square of 4 by 4 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * 4 for _ in range(4))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
