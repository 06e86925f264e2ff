"""What overviews claim cannot become stale in silence.

Each claim links to the page that shows it, whose own code is tested. Overviews name every part that there is, keys of
the configuration in sentences exist, figures are those of the page about performance, and ranges of versions end with
versions that are tested.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rightseat import parts
from rightseat.evals.dataset_schema import make_schema
from tests.compatibility.locked import CLIENTS
from tests.docs.blocks import BLOCK, PAGES, ROOT

README, INDEX, COMPARE = ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "explanation" / "compare.md"
STABILITY, LAYOUT = ROOT / "docs" / "reference" / "stability.md", ROOT / "docs" / "explanation" / "layout.md"
PERFORMANCE = ROOT / "docs" / "explanation" / "performance.md"

PROTOCOLS = {
    "ai_sdk": "AI SDK|useChat",
    "anthropic": "Anthropic's (API|Messages)|Claude Code",
    "copilotkit": "CopilotKit",
    "mcp": "MCP",
    "openai": "OpenAI",
    "openbb": "OpenBB",
}
"""The faces that clients speak, each with the words by which an overview may name it."""
OWN_FACES = {"console", "metrics", "operator", "usage"}
MODELS = {
    "anthropic": "Claude",
    "completion": "GGUF",
    "google": "Gemini",
    "langchain": "LangChain",
    "openai": "OpenAI",
}
OWN_MODELS = {"empty", "fallback", "scripted"}
AGENTS = {
    "agui": "AG-UI",
    "copilotkit": "CopilotKit",
    "flows": "flows",
    "langgraph": "LangGraph",
    "loop": "loop|agents",
}

CONFIGURATION_KEY = re.compile(r"(?<!`)`([a-z][a-z_]*): [^`]+`(?!`)")
DOTTED_KEY = re.compile(r"(?<!`)`([a-z_]+)((?:\.[a-z_]+)+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
KEYS_OF_OTHERS = {
    *(
        "authorization",
        "background",
        "data",
        "event",
        "finish_reason",
        "include",
        "outcome",
        "parallel_tool_calls",
        "resume",
    ),
    *(
        "available",
        "complete",
        "context",
        "depth",
        "display",
        "format",
        "grant",
        "kept",
        "runner",
        "running",
        "source",
        "status",
    ),
    *("store", "stream", "streams", "tool_choice", "truncation"),
}
"""Keys of requests, responses, plugins, charts and other programs that are written like keys of the configuration."""
NO_KEYS = {"agents.json", "memory.used"}
"""A file, and an event."""
WITHOUT_LINK = {"what it is", "language", "licence", "to change"}


def section(page: Path, title: str) -> str:
    text = page.read_text().partition(f"\n## {title}\n")[2]
    assert text, f"{page.name} has no {title!r}"
    return text.partition("\n## ")[0]


def bullets(text: str) -> list[str]:
    return re.findall(r"^- (.+?)(?=\n- |\n\n|\Z)", text, re.DOTALL | re.MULTILINE)


def cells(text: str) -> Iterator[list[str]]:
    """The rows of tables, without the heads."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        for line in table.splitlines()[2:]:
            yield [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]


def claims() -> Iterator[tuple[str, str]]:
    for page, title in ((README, "Why"), (INDEX, "What it does")):
        yield from ((page.name, bullet) for bullet in bullets(section(page, title)))
    for row in cells(section(README, "What works today")):
        yield from ((README.name, cell) for cell in row if cell)
    for row in cells(COMPARE.read_text().partition("\n## What others have")[0]):
        if row[0] not in WITHOUT_LINK:
            yield COMPARE.name, row[1]


def test_every_claim_of_an_overview_links_to_the_page_that_shows_it() -> None:
    found = list(claims())

    assert len(found) > 40
    assert [f"{page}: {claim}" for page, claim in found if not LINK.search(claim)] == []


@pytest.mark.parametrize("link", sorted(set(LINK.findall(BLOCK.sub("", README.read_text())))))
def test_a_link_of_readme_leads_to_a_file_and_its_heading(link: str) -> None:
    path, _, anchor = link.partition("#")
    if "://" in path:
        return
    target = ROOT / path if path else README

    assert target.exists()
    assert not anchor or anchor in anchors(target)


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [README, INDEX, COMPARE, STABILITY, LAYOUT], ids=lambda page: page.stem)
def test_an_overview_names_every_protocol(page: Path) -> None:
    assert set(parts.builtin("faces")) == PROTOCOLS.keys() | OWN_FACES, (
        "add the face to PROTOCOLS, and to the overviews"
    )

    assert missing(page, PROTOCOLS) == []


@pytest.mark.parametrize("page", [README, INDEX, COMPARE], ids=lambda page: page.stem)
def test_an_overview_names_every_provider_and_every_kind_of_agent(page: Path) -> None:
    assert set(parts.builtin("models")) == MODELS.keys() | OWN_MODELS, "add the model to MODELS, and to the overviews"
    assert set(parts.builtin("agents")) == AGENTS.keys(), "add the agent to AGENTS, and to the overviews"

    assert missing(page, MODELS | AGENTS) == []


def missing(page: Path, words: dict[str, str]) -> list[str]:
    text = page.read_text()
    return [name for name, word in words.items() if not re.search(word, text)]


@cache
def configuration_keys() -> tuple[frozenset[str], frozenset[str]]:
    """Those of the first level, and all."""
    schemas = [
        json.loads((ROOT / f"docs/reference/{name}.schema.json").read_text())
        for name in ("rightseat", "plugin", "flow")
    ]
    schemas.append(make_schema())  # of the datasets of evaluations
    return frozenset(schemas[0]["properties"]) | {"backend"}, frozenset(
        key for schema in schemas for key in keys(schema)
    )


def keys(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(properties := schema.get("properties"), dict):
            yield from properties
        for value in schema.values():
            yield from keys(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from keys(value)


def unknown_keys(text: str) -> list[str]:
    first, known = configuration_keys()
    prose = BLOCK.sub("", text)
    unknown = [key for key in CONFIGURATION_KEY.findall(prose) if key not in known | KEYS_OF_OTHERS]
    for key, rest in DOTTED_KEY.findall(prose):
        if key in first and key + rest not in NO_KEYS and not set(rest[1:].split(".")) <= known:
            unknown.append(key + rest)
    return unknown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_keys_of_the_configuration_in_a_sentence_exist(page: Path) -> None:
    if page.parent.name != "decisions":  # which say what was true then
        assert unknown_keys(page.read_text()) == []


def test_a_key_that_does_not_exist_is_found() -> None:
    text = "`signatures: typescript`, `server.shutdown_seconds`, `durable: true`, `server.hosts`, `tool_choice: none`"

    assert unknown_keys(text) == ["signatures", "server.shutdown_seconds"]


def test_every_key_of_others_is_in_a_sentence() -> None:
    prose = "".join(BLOCK.sub("", page.read_text()) for page in PAGES)

    assert KEYS_OF_OTHERS - set(CONFIGURATION_KEY.findall(prose)) == set()


def measured(*names: str) -> list[float]:
    """CPU for a chunk, in multiples of the floor, of the rows that begin with these names."""
    rows = [row for row in cells(PERFORMANCE.read_text()) if row[0].startswith(names)]
    return [float(row[1].split()[0]) for row in rows if re.match(r"\d+\.\d+ \[", row[1])]


def test_figures_are_those_of_the_page_about_performance() -> None:
    ours = measured("OpenAI's API", "CopilotKit's GraphQL", "OpenBB", "CopilotKit's AG-UI", "Vercel", "responses,")
    old, new = measured("CopilotKit's runtime 1.10.6"), measured("CopilotKit's runtime 1.75")
    (litellm,) = measured("LiteLLM's proxy")
    assert len(ours) == 7

    said = f"{min(ours):.1f} to {max(ours):.1f}"
    for page in (COMPARE, ROOT / "docs" / "how-to" / "coming-from-copilotkit-runtime.md"):
        text = page.read_text()
        assert said in text
        assert f"{old[0]:.1f} (1.10.6), {new[0]:.1f} (1.75)" in text
    assert f"{litellm:.1f} (1.106)" in COMPARE.read_text()
    assert "about a third of the CPU of CopilotKit's own runtime, and a tenth of LiteLLM's" in README.read_text()
    assert round(old[0] / max(ours)) == 3
    assert round(litellm / max(ours), -1) == 10


@pytest.mark.parametrize("page", [README, INDEX], ids=lambda page: page.stem)
def test_a_range_of_versions_of_copilotkit_has_ends_that_are_tested(page: Path) -> None:
    tested = " ".join(version for client in CLIENTS for version in client.versions())

    for ends in re.findall(r"(\d+\.\d+(?:\.\d+)?) to (\d+\.\d+(?:\.\d+)?)", page.read_text()):
        for end in ends:
            assert re.search(rf"(?<![\d.]){re.escape(end)}(?![\d])", tested), (
                f"{end} of {' to '.join(ends)} is not tested"
            )
