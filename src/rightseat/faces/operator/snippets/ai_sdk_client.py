"""`useChat` of the Vercel AI SDK in React."""

from collections.abc import Sequence

from rightseat.core.types import JsonValue
from rightseat.faces.operator.snippet import NEW_ID, QUESTION, Snippet, SnippetTarget, build_curl, quote_code

NAME = "Vercel AI SDK"

REACT = """\
// npm install ai @ai-sdk/react
import {{ useChat }} from "@ai-sdk/react";
import {{ DefaultChatTransport }} from "ai";

const transport = new DefaultChatTransport({{ api: {url}{headers} }});

export default function App() {{
  const {{ messages, sendMessage, error }} = useChat({{ transport }});
  return (
    <>
      {{messages.map((message) => (
        <p key={{message.id}}>
          {{message.role}}: {{message.parts.map((part) => (part.type === "text" ? part.text : ""))}}
        </p>
      ))}}
      {{error && <p role="alert">{{error.message}}</p>}}
      <button onClick={{() => sendMessage({{ text: {question} }})}}>Ask</button>
    </>
  );
}}
"""


def build_snippets(target: SnippetTarget) -> Sequence[Snippet]:
    """The face has one agent, so no code names it."""
    key = target.bearer.get("authorization")
    headers = f", headers: {{ Authorization: {quote_code(key)} }}" if key else ""
    react = REACT.format(url=quote_code(target.url), headers=headers, question=quote_code(QUESTION))
    message: JsonValue = {"id": f"message-{NEW_ID}", "role": "user", "parts": [{"type": "text", "text": QUESTION}]}
    curl = build_curl(target, "curl", "", target.bearer, {"id": f"chat-{NEW_ID}", "messages": [message]})
    return (Snippet("React", "tsx", react, curl.request), curl)
