"""Programs that call the API of the console."""

from collections.abc import Sequence
from urllib.parse import quote

from rightseat.faces.operator.snippet import QUESTION, Snippet, SnippetTarget, build_curl, build_curl_get

NAME = "Operator API"


def build_snippets(target: SnippetTarget) -> Sequence[Snippet]:
    run = f"/agents/{quote(target.agent, safe='')}/runs"
    return (
        build_curl(target, "curl: POST agents/AGENT/runs", run, target.bearer, {"text": QUESTION}),
        build_curl_get(target, "curl: GET runs", "/runs?limit=5", target.bearer),
    )
