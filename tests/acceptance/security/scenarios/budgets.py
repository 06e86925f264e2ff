"""Budgets as a wall: ways to use more of a model than the operator allows. What the fake model was asked and has sent is what counts."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from typing import Any

from fakes import DONE, Raw, chunk, say, sse
from judging import SLACK, check, scenario, short
from stage import KEYS, Server, Stage, run_input, unique, until

BUDGET = 4000
RESERVE = 500
PIECE, PIECES = "我们今天讨论预算问题", 20  # 200 Chinese characters, which are at least 200 tokens in cl100k
CUT_CALLS = BUDGET // (len(PIECE) * PIECES)
USED = 900  # tokens of an answer that the model reports


def serve(stage: Stage, most: int = BUDGET, reserve: int = RESERVE, more: dict[str, Any] | None = None, **environment: str) -> AbstractContextManager[Server]:
    """A server with one budget of tokens for each user and a report of usage."""
    limit = {"name": "wall", "subject": "user", "tokens_per_day": most}
    whole = {"limits": [limit], "limits_reserve": {"default": reserve}, "faces": [{"type": "usage"}], "server": {"max_concurrent_runs_per_user": 0}, **(more or {})}
    return stage.fresh("budgets", RS_OVERLAY=json.dumps(whole), **environment)


def report(said: list[bytes], tokens: int = USED) -> list[bytes]:
    """The same answer, with the usage that the provider reports."""
    usage = {"prompt_tokens": tokens - 1, "completion_tokens": 1, "total_tokens": tokens}
    return [*said[:-1], sse({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage}), said[-1]]


def unended(_: Any) -> Iterator[bytes]:
    """Chinese text, and then nothing more until the server goes away. Its usage would come last."""
    for _ in range(PIECES):
        yield chunk({"content": PIECE})
    for _ in range(40):
        time.sleep(0.05)
        yield b": still here\n\n"


def calls(stage: Stage, tag: str) -> int:
    return len(stage.model.asked[tag.strip("[]")])


def cut(server: Server, path: str, body: dict[str, Any], key: str) -> bool:
    """Reads a stream until all of its text has come, and goes away. False if the request was refused."""
    connection, got = server.connect(), b""
    with suppress(OSError):
        connection.sendall(server.raw("POST", path, body, key))
        while got.count(PIECE.encode()) + got.count(json.dumps(PIECE)[1:-1].encode()) < PIECES and (piece := connection.recv(65536)):
            got += piece
            if b"budget_exceeded" in got or b"The budget" in got:
                break
    connection.close()
    return b"budget_exceeded" not in got and b"The budget" not in got


Attack = Callable[[Server, str], bool]


def cut_chat(server: Server, tag: str) -> bool:
    return cut(server, "/v1/chat/completions", {"model": "plain", "stream": True, "messages": [{"role": "user", "content": tag}]}, "alice")


def cut_response(server: Server, tag: str) -> bool:
    return cut(server, "/v1/responses", {"model": "plain", "stream": True, "store": False, "input": tag}, "alice")


def cut_query(server: Server, tag: str) -> bool:
    return cut(server, "/openbb/v1/query/plain", {"messages": [{"role": "human", "content": tag}]}, "alice")


def stop_run(server: Server, tag: str) -> bool:
    """A run of CopilotKit goes on without its client, so it is stopped."""
    thread = unique()
    is_open = cut(server, "/copilotkit/agent/plain/run", run_input(tag, thread), "alice")
    server.post(f"/copilotkit/agent/plain/stop/{thread}", {}, key="alice")
    return is_open


def stop_chat(server: Server, tag: str) -> bool:
    """A chat of the AI SDK is a run that goes on without its client, so it is stopped."""
    chat = unique("chat")
    message = {"id": unique("m"), "role": "user", "parts": [{"type": "text", "text": tag}]}
    is_open = cut(server, "/api/chat", {"id": chat, "messages": [message]}, "alice")
    server.post(f"/api/chat/{chat}/stop", {}, key="alice")
    return is_open


MUTATION = "mutation g($data: GenerateCopilotResponseInput!) { generateCopilotResponse(data: $data) { threadId messages @stream { ... on TextMessageOutput { content @stream } ... on BaseMessageOutput { status { ... on FailedMessageStatus { code reason } } } } ... @defer { status { ... on BaseResponseStatus { code } ... on FailedResponseStatus { reason details } } } } }"


def write_mutation(question: str) -> dict[str, Any]:
    """As clients of CopilotKit up to 1.10.6 send it, whose responses come in parts."""
    message = {"id": unique("m"), "createdAt": "2026-01-01T00:00:00Z", "textMessage": {"content": question, "role": "user"}}
    data = {"metadata": {"requestType": "Chat"}, "threadId": unique(), "messages": [message], "frontend": {"actions": [], "url": "x"}}
    return {"query": MUTATION, "variables": {"data": data}}


def cut_mutation(server: Server, tag: str) -> bool:
    return cut(server, "/copilotkit", write_mutation(tag), "alice")


def cut_again_and_again(stage: Stage, attack: Attack) -> None:
    with serve(stage) as server:
        tag = stage.says(unended)
        is_open = []
        for _ in range(CUT_CALLS + 10):
            is_open.append(attack(server, tag))
            until(lambda: not stage.model.open[tag.strip("[]")], 5, 0.02)  # then nothing is reserved, and all is estimated
        made = calls(stage, tag)
        check(is_open[0] and made >= 2, f"the harmless case does not work: {made} calls")
        check(made <= CUT_CALLS, f"{made} answers of {len(PIECE) * PIECES} Chinese characters were sent for a budget of {BUDGET:,} tokens, {CUT_CALLS} fit")
        check(not is_open[-1], "the budget is used up, and streams still open")


@scenario("budget-of-cut-chats")
def cut_chats(stage: Stage) -> None:
    """Streams of OpenAI chat that the client cuts midway, again and again, never with a reported usage: the model sends no more Chinese text than the budget has tokens."""
    cut_again_and_again(stage, cut_chat)


@scenario("budget-of-cut-responses")
def cut_responses(stage: Stage) -> None:
    """The same for streams of the Responses API."""
    cut_again_and_again(stage, cut_response)


@scenario("budget-of-cut-queries")
def cut_queries(stage: Stage) -> None:
    """The same for OpenBB."""
    cut_again_and_again(stage, cut_query)


@scenario("budget-of-stopped-chats")
def stopped_chats(stage: Stage) -> None:
    """The same for chats of the AI SDK that are stopped midway."""
    cut_again_and_again(stage, stop_chat)


@scenario("budget-of-cut-mutations")
def cut_mutations(stage: Stage) -> None:
    """The same for the GraphQL of older CopilotKit clients."""
    cut_again_and_again(stage, cut_mutation)


@scenario("budget-of-stopped-runs")
def stopped_runs(stage: Stage) -> None:
    """The same for runs of CopilotKit that are stopped midway."""
    cut_again_and_again(stage, stop_run)


@scenario("budget-of-early-usage")
def early_usage(stage: Stage) -> None:
    """A provider that reports usage with its first token, as Anthropic does, and a client that cuts the stream: what came counts all the same."""

    def script(asked: Any) -> Iterator[bytes]:
        yield sse({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}})
        yield from unended(asked)

    with serve(stage) as server:
        tag = stage.says(script)
        for _ in range(CUT_CALLS + 10):
            cut_chat(server, tag)
        check(2 <= calls(stage, tag) <= CUT_CALLS, f"{calls(stage, tag)} answers were sent for a budget of {BUDGET:,} tokens, {CUT_CALLS} fit")


@scenario("budget-of-streams-at-once")
def cut_at_once(stage: Stage) -> None:
    """Forty streams at once over two workers, all cut midway: together they are sent no more than the budget has."""
    database = stage.postgres().create(unique("budgets").replace("-", "_"))
    with serve(stage, RS_WORKERS="2", RS_DATABASE_URL=database, RS_REDIS_URL=stage.redis().url()) as server, ThreadPoolExecutor(40) as pool:
        tag = stage.says(unended)
        for _ in range(4):  # what is reserved lets eight begin each time
            list(pool.map(lambda _: cut_chat(server, tag), range(40)))
        check(2 <= calls(stage, tag) <= CUT_CALLS, f"{calls(stage, tag)} answers were sent for a budget of {BUDGET:,} tokens, {CUT_CALLS} fit")


@scenario("budget-over-workers")
def over_workers(stage: Stage) -> None:
    """Forty chats at once over two workers, each answer with 900 reported tokens: four answers for a budget of 4,000."""
    database = stage.postgres().create(unique("budgets").replace("-", "_"))
    with serve(stage, reserve=USED, RS_WORKERS="2", RS_DATABASE_URL=database, RS_REDIS_URL=stage.redis().url()) as server, ThreadPoolExecutor(40) as pool:
        tag = stage.says(lambda _: report(say("ok")))
        for _ in range(3):
            list(pool.map(lambda _: server.chat("plain", tag, timeout=60), range(40)))
        check(1 <= calls(stage, tag) <= BUDGET // USED, f"{calls(stage, tag)} answers of {USED} tokens were made, {BUDGET // USED} fit")


@scenario("budget-and-fallback")
def fallback(stage: Stage) -> None:
    """A model of `type: fallback`, whose first model refuses each call and whose second one breaks off after 200 Chinese characters, without usage: both count, and the budget holds."""
    spare = {"type": "openai", "model": "spare", "base_url": stage.model.url, "api_key": "none"}
    models = {"spare": spare, "both": {"type": "fallback", "models": ["default", "spare"], "retries": 1, "backoff": 0, "failure_threshold": 1000}}
    more = {"models": models, "agents": {"falls": {"model": "both"}}, "limits_reserve": {"default": RESERVE, "spare": RESERVE}}

    def script(asked: Any) -> Any:
        if asked.body.get("model") == "fake":
            return Raw(b"HTTP/1.1 503 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        return [chunk({"content": PIECE}) for _ in range(PIECES)]  # the connection is closed then, without an end

    with serve(stage, more=more) as server:
        tag = stage.says(script)
        answers = [server.chat("falls", tag) for _ in range(CUT_CALLS + 10)]
        broken = sum(one.body.get("model") == "spare" for one in stage.model.asked[tag.strip("[]")])
        check(2 <= broken <= CUT_CALLS, f"the second model has sent {broken} answers for a budget of {BUDGET:,} tokens, {CUT_CALLS} fit")
        check(answers[-1][0] == 429, f"the budget is used up, and the answer is {answers[-1][0]} {short(answers[-1][2])}")


@scenario("budget-and-sub-agents")
def sub_agents(stage: Stage) -> None:
    """An agent that calls another one as a tool, which answers with 900 tokens each time: one question makes as many calls as the budget has room for, and ends."""
    agents = {"boss": {"model": "default", "agents": ["helper"], "max_turns": 40}, "helper": {"model": "default"}}
    with serve(stage, reserve=USED, more={"agents": agents}) as server:
        used: list[int] = []

        def script(asked: Any) -> Any:
            used.append(1)
            tools = [tool["name"] for tool in asked.tools]
            if not tools:
                return report(say("done"))
            made = {"index": 0, "id": unique("call"), "type": "function", "function": {"name": tools[0], "arguments": json.dumps({"question": tag, "task": tag, "request": tag})}}
            return report([chunk({"role": "assistant", "tool_calls": [made]}), chunk({}, finish_reason="tool_calls"), DONE])

        tag = stage.says(script)
        status, _, text = server.run("boss", tag, key="alice", timeout=60)
        status_after = server.chat("helper", tag)[0]
        _, _, shown = server.get("/usage?by=agent", key="alice")
        check(2 <= len(used) <= BUDGET // USED, f"{len(used)} calls of {USED} tokens were made, {BUDGET // USED} fit ({status} {short(text[-200:])})")
        check("budget_exceeded" in text, f"the run does not end with the budget: {short(text[-200:])}")
        check(status_after == 429, f"the sub-agent answers with {status_after} after the budget is used up")
        check('"helper"' in shown and '"boss"' in shown, f"the usage report does not name both agents: {short(shown)}")


@scenario("budget-of-background-responses")
def background(stage: Stage) -> None:
    """Thirty responses in the background at once, each with 900 reported tokens: four calls for a budget of 4,000."""
    with serve(stage, reserve=USED, more={"agents": {"lasts": {"model": "default", "durable": True}}}) as server, ThreadPoolExecutor(30) as pool:
        tag = stage.says(lambda _: report(say("ok")))
        started = list(pool.map(lambda _: server.respond("lasts", tag, background=True, timeout=60), range(30)))
        check(any(status == 200 for status, _, _ in started), f"no response starts: {started[0][0]} {short(started[0][2])}")
        ids = [json.loads(text).get("id") for _, _, text in started]

        def are_done() -> bool:
            shown = [json.loads(server.get(f"/v1/responses/{id}", key="alice")[2]) for id in ids if id]
            return all(one.get("status") not in ("queued", "in_progress") for one in shown)

        check(until(are_done, 30 * SLACK, 0.5), "the responses in the background do not end")
        check(1 <= calls(stage, tag) <= BUDGET // USED, f"{calls(stage, tag)} answers of {USED} tokens were made, {BUDGET // USED} fit")


@scenario("answer-that-jumps-the-queue")
def bogus_answer(stage: Stage) -> None:
    """A request with an answer to a question that no run has asked, in AG-UI's `resume`: it waits in the queue behind a request that came before it."""
    limit = {"name": "at once", "subject": "everyone", "concurrent_runs": 1, "on_exceed": "queue", "queue": {"wait": 30, "most": 50}}
    ended: list[str] = []

    def slowly(_: Any) -> Iterator[bytes]:
        yield chunk({"content": "x"})
        time.sleep(1.5)
        yield from (chunk({}, finish_reason="stop"), DONE)

    def ask(server: Server, name: str, tag: str, key: str, **more: Any) -> None:
        server.run("plain", tag, key=key, timeout=60, **more)
        ended.append(name)

    with stage.fresh("budgets", RS_OVERLAY=json.dumps({"limits": [limit], "server": {"max_concurrent_runs_per_user": 0}})) as server, ThreadPoolExecutor(20) as pool:
        slow, quick = stage.says(slowly), stage.says(lambda _: say("ok"))
        running = pool.submit(ask, server, "running", slow, "bob")
        check(until(lambda: calls(stage, slow), 10), "the first run did not start")
        pool.submit(ask, server, "alice", quick, "alice")
        time.sleep(0.5)
        resume = [{"interruptId": "none", "status": "resolved", "payload": {"approved": True}}]
        bogus = [pool.submit(ask, server, "bogus", quick, "bob", resume=resume) for _ in range(5)]
        for one in (running, *bogus):
            one.result()
        check(until(lambda: "alice" in ended, 20), "alice's request was not answered")
        place = ended.index("alice") - ("running" in ended[: ended.index("alice")])
        check(place == 0, f"{place} requests with an answer to no question went before alice's, which came first: {ended}")
