"""An example of every operation that every face offers, and what its owner gets.

`test_matrix` finds the operations by itself, from the routes of the application, the tables behind them and the GraphQL
schema. One that is new and has no example here fails there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from rightseat.access.route_auth import RouteAuth
from rightseat.core.runtime import Runtime
from rightseat.faces import copilotkit
from rightseat.faces.copilotkit.current.routing import METHODS
from rightseat.faces.copilotkit.graphql.schema import core_schema
from rightseat.operations.own_annotations import OwnAnnotations
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.operations.own_memories import OwnMemories
from tests.faces.copilotkit.serving import chat

CANARY = "canary-of-alice"
THREAD, LIVE, QUESTION = "alices-thread", "alices-live-thread", "alices-question"
RUN = "alices-run"
RESPONSE, CONVERSATION = f"resp_{'a' * 32}", f"conv_{'c' * 32}"
NO_RESPONSE, NO_CONVERSATION = f"resp_{'0' * 32}", f"conv_{'0' * 32}"
IDS = {"agentId": "default", "threadId": THREAD, "interruptId": QUESTION}


@dataclass(frozen=True, slots=True)
class Example:
    """A request, and what becomes of it when it is the owner's.

    `shows` says that its answer holds what only the owner may see, `changes` that it can be sent but once, `begins`
    that it would begin a thread where there is none, and `endless` that its stream has no end.
    """

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] | None = None
    status: int = 200
    shows: bool = False
    changes: bool = False
    begins: bool = False
    endless: bool = False

    def about(self, thread: str, question: str) -> "Example":
        """The same about another thread."""
        text = msgspec.json.encode([self.path, self.body, self.query]).decode()
        text = text.replace(RESPONSE, NO_RESPONSE).replace(CONVERSATION, NO_CONVERSATION)
        path, body, query = msgspec.json.decode(
            text.replace(THREAD, thread).replace(LIVE, thread).replace(QUESTION, question).replace(RUN, "no-such-run")
        )
        return replace(self, path=path, body=body, query=query)


def run_input(thread: str = THREAD, **fields: Any) -> dict[str, Any]:
    said = [{"id": "m-1", "role": "user", "content": "Hi"}]
    return {
        "threadId": thread,
        "runId": "r-1",
        "messages": said,
        "tools": [],
        "context": [],
        "forwardedProps": {},
    } | fields


VOTE = {"id": RUN, "value": "down", "comment": CANARY}
ACTION = {"type": "user_action", "threadId": THREAD, "payload": {"title": "clicked"}}
MEMORY = {"content": "Likes tea", "kind": "topical"}

LOAD = "query Load($data: LoadAgentStateInput!) { loadAgentState(data: $data) { threadExists state messages } }"
LOADED = {"data": {"threadId": THREAD, "agentName": "other"}}

COPILOTKIT: dict[str, Example] = {
    "GET info": Example("GET", "info"),
    "POST agent/{agentId}/run": Example("POST", "agent/{agentId}/run", run_input(), changes=True, begins=True),
    "POST agent/{agentId}/connect": Example("POST", "agent/{agentId}/connect", run_input(), shows=True),
    "POST agent/{agentId}/stop/{threadId}": Example("POST", f"agent/slow/stop/{LIVE}", changes=True),
    "POST agent/{agentId}/suggest": Example("POST", "agent/{agentId}/suggest", run_input()),
    "POST agui/{agentId}": Example("POST", "agui/{agentId}", run_input(), changes=True, begins=True),
    "GET threads": Example("GET", "threads", shows=True),
    "POST threads/clear": Example("POST", "threads/clear", status=403),
    "GET threads/{threadId}/messages": Example("GET", "threads/{threadId}/messages", shows=True),
    "GET threads/{threadId}/events": Example("GET", "threads/{threadId}/events", shows=True),
    "GET threads/{threadId}/state": Example("GET", "threads/{threadId}/state", shows=True),
    "GET threads/{threadId}/stream": Example("GET", "threads/{threadId}/stream", shows=True),
    "PATCH threads/{threadId}": Example(
        "PATCH", "threads/{threadId}", {"name": f"{CANARY} 2"}, shows=True, changes=True
    ),
    "DELETE threads/{threadId}": Example("DELETE", "threads/{threadId}", changes=True),
    "POST threads/{threadId}/archive": Example("POST", "threads/{threadId}/archive", shows=True, changes=True),
    "GET files/{file}": Example("GET", "files/no-such-file", status=404),
    "GET plugins": Example("GET", "plugins"),
    "GET approvals": Example("GET", "approvals", shows=True),
    "POST approvals/{interruptId}": Example(
        "POST", "approvals/{interruptId}", {"status": "cancelled"}, status=202, changes=True
    ),
    "POST feedback": Example("POST", "feedback", VOTE, shows=True, changes=True),
    "GET feedback": Example("GET", f"feedback?threadId={THREAD}"),
    "GET memories": Example("GET", "memories", status=404),
    "POST memories": Example("POST", "memories", MEMORY, status=404),
    "POST memories/recall": Example("POST", "memories/recall", {"query": "tea"}, status=404),
    "POST memories/subscribe": Example("POST", "memories/subscribe", status=404),
    "PATCH memories/{memory}": Example("PATCH", "memories/memory_1", MEMORY, status=404),
    "DELETE memories/{memory}": Example("DELETE", "memories/memory_1", status=404),
    "POST annotate": Example("POST", "annotate", ACTION, begins=True),
    "POST transcribe": Example("POST", "transcribe", {"audio": "UklGRg==", "mimeType": "audio/wav"}, status=503),
    "Query.hello": Example("POST", "", {"query": "{ hello }"}),
    "Query.availableAgents": Example("POST", "", {"query": "{ availableAgents { agents { id } } }"}),
    "Query.loadAgentState": Example("POST", "", {"query": LOAD, "variables": LOADED}, shows=True),
    "Mutation.generateCopilotResponse": Example("POST", "", chat("Hi", thread=THREAD), begins=True),
}


def copilotkit_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    """Every way to every operation: by its path, in an envelope, and by GraphQL in a POST or a GET."""
    feedback = OwnFeedback(runtime, None)
    auth, memories, annotations = RouteAuth("copilotkit"), OwnMemories(None), OwnAnnotations(None)
    operations = copilotkit.operations(
        runtime, copilotkit.Options(), auth, feedback=feedback, memories=memories, annotations=annotations
    )
    for method, path in operations:
        example = placed(known(f"{method} {path}"))
        yield f"{method} {path}", replace(example, path=f"{base}/{example.path}")
        params = {"path": f"/{example.path}", "httpMethod": example.method}
        yield f"resource/request {method} {path}", in_envelope(example, base, "resource/request", params)
    for name, (method, path) in METHODS.items():
        example = placed(known(f"{method} {path}"))
        ids = IDS | ({"agentId": "slow", "threadId": LIVE} if name == "agent/stop" else {})
        params = {key: value for key, value in ids.items() if "{" + key + "}" in path}
        yield name, in_envelope(example, base, name, params)
    for root in filter(None, (core_schema.query_type, core_schema.mutation_type, core_schema.subscription_type)):
        for field in root.fields:
            example = replace(known(f"{root.name}.{field}"), path=base)
            yield f"{root.name}.{field}", example
            if root is core_schema.query_type:
                yield (
                    f"GET {root.name}.{field}",
                    replace(example, method="GET", body=None, query=in_query(example.body)),
                )


def known(name: str) -> Example:
    if name not in COPILOTKIT:
        raise LookupError(f"{name} is new: write an example of it into {__file__}")
    return COPILOTKIT[name]


def placed(example: Example) -> Example:
    path = example.path
    for name, value in IDS.items():
        path = path.replace("{" + name + "}", value)
    return replace(example, path=path)


def in_query(body: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: value if isinstance(value, str) else msgspec.json.encode(value).decode() for key, value in body.items()
    }


def in_envelope(example: Example, base: str, method: str, params: Mapping[str, str]) -> Example:
    inside = {} if example.body is None else {"body": example.body}
    return replace(example, method="POST", path=base, body={"method": method, "params": params, **inside})


ASKED = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}

OPENAI: dict[str, Example] = {
    "POST chat/completions": Example("POST", "chat/completions", ASKED, begins=True),
    "POST chat/completions, streamed": Example("POST", "chat/completions", {**ASKED, "stream": True}),
    "POST responses": Example("POST", "responses", {"model": "default", "input": "Hi"}, changes=True, begins=True),
    "POST responses, continued": Example(
        "POST",
        "responses",
        {"model": "default", "input": "Hi", "previous_response_id": RESPONSE, "stream": True},
        changes=True,
    ),
    "GET responses/{response}": Example("GET", f"responses/{RESPONSE}", shows=True),
    "GET responses/{response}, streamed": Example("GET", f"responses/{RESPONSE}", query={"stream": "true"}, shows=True),
    "DELETE responses/{response}": Example("DELETE", f"responses/{RESPONSE}", changes=True),
    "POST responses/{response}/cancel": Example("POST", f"responses/{RESPONSE}/cancel", shows=True),
    "GET responses/{response}/input_items": Example("GET", f"responses/{RESPONSE}/input_items", shows=True),
    # one that creates nothing: a key for another agent of the same user may create conversations
    "POST conversations": Example("POST", "conversations", {"items": [{"type": "unknown"}]}, status=400),
    "GET conversations/{conversation}": Example("GET", f"conversations/{CONVERSATION}", shows=True),
    "POST conversations/{conversation}": Example(
        "POST", f"conversations/{CONVERSATION}", {"metadata": {"topic": CANARY}}, shows=True, changes=True
    ),
    "DELETE conversations/{conversation}": Example("DELETE", f"conversations/{CONVERSATION}", changes=True),
    "GET conversations/{conversation}/items": Example("GET", f"conversations/{CONVERSATION}/items", shows=True),
    "POST conversations/{conversation}/items": Example(
        "POST", f"conversations/{CONVERSATION}/items", {"items": [{"role": "user", "content": "Hi"}]}, changes=True
    ),
    "GET conversations/{conversation}/items/{item}": Example(
        "GET", f"conversations/{CONVERSATION}/items/msg_{CONVERSATION[5:]}_c0", shows=True
    ),
    "GET models": Example("GET", "models"),
    "GET models/{model}": Example("GET", "models/default"),
    "GET files/{file}": Example("GET", "files/no-such-file", status=404),
    "GET files/{file}/content": Example("GET", "files/no-such-file/content", status=404),
    "POST feedback": Example("POST", "feedback", VOTE, shows=True, changes=True),
    "GET feedback": Example("GET", "feedback", query={"threadId": THREAD}),
    "POST embeddings": Example("POST", "embeddings", {"model": "default", "input": "Hi"}, status=404),
    "POST audio/transcriptions": Example("POST", "audio/transcriptions", {}, status=404),
}


def openai_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    for name, example in OPENAI.items():
        yield name, replace(example, path=f"{base}/{example.path}")


OPENBB: dict[str, Example] = {
    "GET agents.json": Example("GET", "agents.json"),
    "GET copilots.json": Example("GET", "copilots.json"),
    "GET files/{file}": Example("GET", "files/no-such-file", status=404),
    "POST v1/feedback": Example("POST", "v1/feedback", {"vote": "up"}),
    "POST v1/query": Example("POST", "v1/query", {"messages": [{"role": "human", "content": "Hi"}]}),
    "POST v1/query/default": Example("POST", "v1/query/default", {"messages": [{"role": "human", "content": "Hi"}]}),
}


UI_MESSAGE = {"id": "m-1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}

AI_SDK: dict[str, Example] = {
    "POST": Example("POST", "", {"id": THREAD, "messages": [UI_MESSAGE]}, changes=True, begins=True),
    "GET files/{file}": Example("GET", "/files/no-such-file", status=404),
    "POST feedback": Example("POST", "/feedback", VOTE, shows=True, changes=True),
    "GET feedback": Example("GET", "/feedback", query={"threadId": THREAD}),
    "GET {chat}/stream": Example("GET", f"/{THREAD}/stream", status=204),
    "POST {chat}/stop": Example("POST", f"/{LIVE}/stop", changes=True),
    "GET {chat}": Example("GET", f"/{THREAD}", shows=True),
}


def ai_sdk_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    for name, example in AI_SDK.items():
        yield name, replace(example, path=f"{base}{example.path}")


ANTHROPIC: dict[str, Example] = {
    "POST v1/messages": Example(
        "POST", "v1/messages", {"model": "default", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}
    ),
    "POST v1/messages/count_tokens": Example(
        "POST", "v1/messages/count_tokens", {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}
    ),
    "GET v1/models": Example("GET", "v1/models"),
    "GET v1/models/{model}": Example("GET", "v1/models/default"),
    "GET files/{file}": Example("GET", "files/no-such-file", status=404),
    "POST v1/feedback": Example("POST", "v1/feedback", VOTE, shows=True, changes=True),
    "GET v1/feedback": Example("GET", "v1/feedback", query={"threadId": THREAD}),
}


def anthropic_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    for name, example in ANTHROPIC.items():
        yield name, replace(example, path=f"{base}/{example.path}")


def openbb_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    for name, example in OPENBB.items():
        yield name, replace(example, path=f"{base}/{example.path}")


LISTED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def mcp_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    yield "POST", Example("POST", base, LISTED)


OPERATOR: dict[str, Example] = {
    "GET me": Example("GET", "me"),
    "POST session": Example("POST", "session", status=204),
    "DELETE session": Example("DELETE", "session", status=204),
    "GET agents": Example("GET", "agents"),
    "POST agents/{agent:path}/runs": Example(
        "POST", "agents/default/runs", {"thread": THREAD, "text": "Hi"}, status=202, changes=True, begins=True
    ),
    "GET runs": Example("GET", "runs"),
    "GET runs/{run}": Example("GET", f"runs/{RUN}"),
    "GET runs/{run}/entries": Example("GET", f"runs/{RUN}/entries", shows=True),
    "POST runs/{run}/stop": Example("POST", f"runs/{RUN}/stop"),
    "GET runs/{run}/calls": Example("GET", f"runs/{RUN}/calls", status=403),
    "POST runs/{run}/pin": Example("POST", f"runs/{RUN}/pin", {"dataset": "d"}, status=403),
    "GET runs/{run}/rerun": Example("GET", f"runs/{RUN}/rerun", status=403),
    "POST runs/{run}/rerun": Example("POST", f"runs/{RUN}/rerun", {}, status=403),
    "GET evals": Example("GET", "evals", status=403),
    "GET feedback": Example("GET", "feedback"),
    "GET feedback/counts": Example("GET", "feedback/counts"),
    "GET memories": Example("GET", "memories"),
    "DELETE memories/{memory}": Example("DELETE", "memories/memory_1", status=404),
    "GET annotations": Example("GET", "annotations"),
    "POST feedback": Example("POST", "feedback", VOTE, shows=True, changes=True),
    "GET files/{file}": Example("GET", "files/no-such-file", status=404),
    "GET threads": Example("GET", "threads", shows=True),
    "GET threads/{thread:path}": Example("GET", f"threads/{THREAD}", shows=True),
    "PATCH threads/{thread:path}": Example(
        "PATCH", f"threads/{THREAD}", {"name": f"{CANARY} 2"}, shows=True, changes=True
    ),
    "DELETE threads/{thread:path}": Example("DELETE", f"threads/{THREAD}", status=204, changes=True),
    "GET approvals": Example("GET", "approvals", shows=True),
    "POST approvals/{interrupt:path}": Example(
        "POST", f"approvals/{QUESTION}", {"status": "cancelled"}, status=202, changes=True
    ),
    "GET audit": Example("GET", "audit", status=403),
    "GET flows": Example("GET", "flows"),
    "GET health": Example("GET", "health", status=403),
    "GET access": Example("GET", "access", status=403),
    "POST access/keys": Example("POST", "access/keys", {"name": "new"}, status=403),
    "POST access/keys/{name:path}/rotate": Example("POST", "access/keys/alice/rotate", status=403),
    "POST access/keys/{name:path}/revoke": Example("POST", "access/keys/alice/revoke", status=403),
    "POST access/keys/{name:path}/restore": Example("POST", "access/keys/alice/restore", status=403),
    "GET flows/{plugin}/{flow}": Example("GET", "flows/steps/no-such-flow", status=404),
    "GET failures": Example("GET", "failures", status=403),
    "GET metrics": Example("GET", "metrics", status=403),
    "GET usage": Example("GET", "usage"),
    "GET usage/limits": Example("GET", "usage/limits"),
    "GET snippets": Example("GET", "snippets"),
    "GET snippets/{face}": Example("GET", "snippets/operator"),
    "GET plugins": Example("GET", "plugins", status=403),
    "POST plugins": Example("POST", "plugins", {"id": "new"}, status=403),
    "GET plugins/{plugin}": Example("GET", "plugins/steps", status=403),
    "GET plugins/{plugin}/files/{path:path}": Example("GET", "plugins/steps/files/plugin.json", status=403),
    "PUT plugins/{plugin}/files/{path:path}": Example(
        "PUT", "plugins/steps/files/plugin.json", {"text": "{}"}, status=403
    ),
    "POST drafts/check": Example("POST", "drafts/check", {"plugin": "steps"}, status=403),
    "POST drafts/try": Example(
        "POST", "drafts/try", {"plugin": "steps", "flow": "five", "question": "five"}, status=403
    ),
    "POST drafts/cases": Example("POST", "drafts/cases", {"plugin": "steps"}, status=403),
    "GET setup": Example("GET", "setup", status=409),
    "POST setup/check": Example("POST", "setup/check", {"choice": "demo"}, status=409),
    "POST setup/write": Example("POST", "setup/write", {"choice": "demo"}, status=409),
    "GET live": Example("GET", "live", query={"thread": THREAD}, shows=True, endless=True),
}


def operator_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    for name, example in OPERATOR.items():
        yield name, replace(example, path=f"{base}/{example.path}")


def console_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    """Its files are the same for all: see PUBLIC."""
    yield from ()


def metrics_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    yield "GET", Example("GET", base)


def usage_operations(runtime: Runtime, base: str) -> Iterator[tuple[str, Example]]:
    yield "GET", Example("GET", base)
    yield "GET limits", Example("GET", f"{base}/limits")


OPERATIONS = {
    "ai_sdk": ai_sdk_operations,
    "anthropic": anthropic_operations,
    "console": console_operations,
    "copilotkit": copilotkit_operations,
    "mcp": mcp_operations,
    "metrics": metrics_operations,
    "openai": openai_operations,
    "openbb": openbb_operations,
    "operator": operator_operations,
    "usage": usage_operations,
}
"""Face → its operations with their examples. A face that has none here fails in `test_matrix`."""

ROUTES = {
    "ai_sdk": {
        ("", "POST"),
        ("/", "POST"),
        ("/files/{file}", "GET"),
        *(("/feedback", method) for method in ("GET", "POST")),
        ("/{chat:path}/stream", "GET"),
        ("/{chat:path}/stop", "POST"),
        ("/{chat:path}", "GET"),
    },
    "anthropic": {
        ("/v1/messages", "POST"),
        ("/v1/messages/count_tokens", "POST"),
        ("/v1/models", "GET"),
        ("/v1/models/{model:path}", "GET"),
        ("/files/{file}", "GET"),
        *(("/v1/feedback", method) for method in ("GET", "POST")),
    },
    "console": {("", "GET"), ("/{file:path}", "GET")},
    "copilotkit": {
        ("", "GET"),
        ("", "POST"),
        *(("/{rest:path}", method) for method in ("GET", "POST", "PATCH", "DELETE")),
    },
    "mcp": {("", "POST"), ("/.well-known/oauth-protected-resource/mcp", "GET")},  # the document is public
    "metrics": {("", "GET")},
    "openai": {
        ("/chat/completions", "POST"),
        ("/responses", "POST"),
        ("/responses/{response}", "GET"),
        ("/responses/{response}", "DELETE"),
        ("/responses/{response}/cancel", "POST"),
        ("/responses/{response}/input_items", "GET"),
        ("/conversations", "POST"),
        *(("/conversations/{conversation}", method) for method in ("GET", "POST", "DELETE")),
        *(("/conversations/{conversation}/items", method) for method in ("GET", "POST")),
        ("/conversations/{conversation}/items/{item}", "GET"),
        *(("/feedback", method) for method in ("GET", "POST")),
        ("/embeddings", "POST"),
        ("/audio/transcriptions", "POST"),
        ("/files/{file}", "GET"),
        ("/files/{file}/content", "GET"),
        ("/models", "GET"),
        ("/models/{model:path}", "GET"),
    },
    "openbb": {
        ("/agents.json", "GET"),
        ("/copilots.json", "GET"),
        ("/files/{file}", "GET"),
        ("/v1/feedback", "POST"),
        ("/v1/query", "POST"),
        ("/v1/query/{agent:path}", "POST"),
    },
    "operator": {(f"/{path}", method) for method, path in (name.split() for name in OPERATOR)},
    "usage": {("", "GET"), ("/limits", "GET")},
}
"""The routes that the operations of a face are behind, without its address."""

FOR_EVERYONE = {("/", "GET"), ("/health", "GET"), ("/ready", "GET")}
"""Routes that are behind no authentication."""

SIGN_IN_ROUTES = {("/sign-in/start", "GET"), ("/sign-in/callback", "GET")}
"""Routes that lead to the identity provider and back; `test_sign_in` judges them."""
