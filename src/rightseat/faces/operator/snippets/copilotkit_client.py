"""CopilotKit in React, and other AG-UI clients."""

from collections.abc import Sequence
from urllib.parse import quote

from rightseat.core.types import JsonValue
from rightseat.faces.operator.snippet import (
    NEW_ID,
    QUESTION,
    Snippet,
    SnippetTarget,
    build_curl,
    build_post,
    quote_code,
)

NAME = "CopilotKit, AG-UI"

REACT = """\
// npm install @copilotkit/react-core @copilotkit/react-ui
import {{ CopilotKit }} from "@copilotkit/react-core";
import {{ CopilotChat }} from "@copilotkit/react-ui";
import "@copilotkit/react-ui/styles.css";

export default function App() {{
  return (
    <CopilotKit runtimeUrl={url} agent={agent}{headers}>
      <CopilotChat />
    </CopilotKit>
  );
}}
"""
AG_UI = """\
// npm install @ag-ui/client
import {{ HttpAgent }} from "@ag-ui/client";

const agent = new HttpAgent({{ url: {url}{headers} }});
agent.addMessage({{ id: "1", role: "user", content: {question} }});
await agent.runAgent({{}}, {{
  onTextMessageContentEvent: ({{ event }}) => void process.stdout.write(event.delta),
}});
console.log();
"""


def build_snippets(target: SnippetTarget) -> Sequence[Snippet]:
    path = f"/agui/{quote(target.agent, safe='')}"
    key = target.bearer.get("authorization")
    react_headers = f" headers={{{{ Authorization: {quote_code(key)} }}}}" if key else ""
    agui_headers = f", headers: {{ Authorization: {quote_code(key)} }}" if key else ""
    react = REACT.format(url=quote_code(target.url), agent=quote_code(target.agent), headers=react_headers)
    agui = AG_UI.format(url=quote_code(target.url + path), headers=agui_headers, question=quote_code(QUESTION))
    curl = build_curl(target, "AG-UI: curl", path, target.bearer, build_run())
    return (
        Snippet("React", "tsx", react, build_post(target, "", target.bearer, {"method": "info"})),
        curl,
        Snippet("AG-UI: JavaScript", "javascript", agui, curl.request),
    )


def build_run() -> JsonValue:
    """The input of an AG-UI run."""
    return {
        "threadId": f"thread-{NEW_ID}",
        "runId": f"run-{NEW_ID}",
        "messages": [{"id": "1", "role": "user", "content": QUESTION}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
