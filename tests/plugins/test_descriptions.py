"""Every description in the files of a plugin steers a model: what chooses or fills in receives it as it is written.

The plugin is loaded from a folder, as an author writes it. Its names mean nothing, so only descriptions can decide.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Plugin
from rightseat.plugins.loading import load
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.scope import Scope
from rightseat.plugins.selection import FlowSearch, choose_flow, suggest_flows
from rightseat.plugins.testing.mocks import ScriptedModelCaller
from tests.plugins.flows.playing import Play, exchange

ABOUT = {"id": "a", "name": "A", "version": "1.0.0", "automatic_flow": True}
PLUGIN = "Everything about the tides of one harbour."
FLOW_ONE = "Predicts the height of high water at a harbour on one day."
FLOW_TWO = "Lists the ships that lie in a harbour now."
OPERATION = "Looks up tables of the moon."
BODY = "The harbour and the day of the prediction."
FIELD = "The harbour's official code of five letters."
LIST, ITEM = "All days that are wanted.", "One day as YYYY-MM-DD."
OBJECT = "How heights are given."
NESTED = "The zero that heights are measured from."
RESPONSE = "The predicted water levels."
RESPONSE_FIELD = "Height above chart datum, in metres."
INSTRUCTION = "Is the level dangerous?"
CHOICES = ("It is above the quay.", "It is below the quay.")
SYSTEM = "You are the harbour master."

OPENAPI = f"""
openapi: 3.0.0
info: {{title: Tides, version: 1.0.0}}
servers: [{{url: "https://api.example.com"}}]
paths:
  /levels:
    post:
      operationId: b1
      description: {OPERATION}
      requestBody:
        description: {BODY}
        content:
          application/json:
            schema:
              type: object
              required: [c, d, e]
              properties:
                c: {{type: string, description: "{FIELD}"}}
                d: {{type: array, description: "{LIST}", items: {{type: string, description: "{ITEM}"}}}}
                e:
                  type: object
                  description: "{OBJECT}"
                  required: [f]
                  properties: {{f: {{type: string, description: "{NESTED}"}}}}
      responses:
        '200':
          description: {RESPONSE}
          content:
            application/json:
              schema: {{type: object, properties: {{g: {{type: number, description: "{RESPONSE_FIELD}"}}}}}}
"""
ONE = f"""
name: x1
description: {FLOW_ONE}
steps:
  - {{name: start, call_type: api, params: {{endpoint: POST /levels}}, next: h}}
  - name: h
    call_type: choice
    params:
      instruction: "{INSTRUCTION}"
      choices:
        - {{step: i, description: "{CHOICES[0]}"}}
        - {{step: end, description: "{CHOICES[1]}"}}
  - {{name: i, call_type: llm, params: {{system_prompt: "{SYSTEM}", user_prompt: "{{data}}"}}, next: end}}
  - {{name: end, call_type: none}}
next_flow: [x2, b1]
"""
TWO = f"""
name: x2
description: {FLOW_TWO}
steps:
  - {{name: start, call_type: none}}
"""


def write(folder: Path, id: str = "a", **changes: str) -> Plugin:
    """The plugin of the files in a folder; `changes` are other descriptions of plugin and flows."""
    texts = {"plugin": PLUGIN, "one": FLOW_ONE, "two": FLOW_TWO} | changes
    files = {
        "plugin.json": json.dumps(ABOUT | {"id": id, "description": texts["plugin"]}),
        "openapi.yaml": OPENAPI,
        "flows/one.yaml": ONE.replace(FLOW_ONE, texts["one"]),
        "flows/two.yaml": TWO.replace(FLOW_TWO, texts["two"]),
    }
    for name, text in files.items():
        path = folder / id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    loaded = load(folder / id)
    assert loaded.plugin is not None, [str(one) for one in loaded.diagnostics]
    return loaded.plugin


class Reader:
    """A model that chooses the line of the prompt which shares the most words with the question."""

    def __init__(self) -> None:
        self.prompt = ""

    async def call(self, request: ModelRequest) -> ModelResponse:
        self.prompt = request.user
        offered, _, question = request.user.rpartition("\n\nThe question:\n")
        _, _, flows = offered.partition("The procedures:\n")
        lines = dict(re.findall(r"^- (\S+?)(?: \([^)]*\))?: (.*)$", flows, re.MULTILINE))
        best = max(lines, key=lambda name: len(words(lines[name]) & words(question)))
        return ModelResponse(json.dumps({"flow": best}))


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))


async def choose(question: str, *plugins: Plugin) -> tuple[str, str]:
    """The chosen flow, and the prompt."""
    reader = Reader()
    chosen = await choose_flow(Scope(question), plugins, FlowSearch(), reader, auto=True)
    return chosen.flow, reader.prompt


@pytest.mark.parametrize(
    ("question", "flow"),
    [
        ("How does the water predict its height on a high day?", "x1"),
        ("Which ships lie there now?", "x2"),
        ("Show me tables of the moon", "b1"),
    ],
)
async def test_a_model_chooses_among_loaded_flows_by_their_descriptions(
    question: str, flow: str, tmp_path: Path
) -> None:
    chosen, prompt = await choose(question, write(tmp_path))

    assert chosen == flow
    for name, description in {"x1": FLOW_ONE, "x2": FLOW_TWO, "b1": OPERATION}.items():
        assert f"- a.{name} (A): {description}" in prompt
    assert f"- a (A): {PLUGIN}" in prompt


async def test_flows_with_exchanged_descriptions_are_chosen_the_other_way_round(tmp_path: Path) -> None:
    exchanged = write(tmp_path, one=FLOW_TWO, two=FLOW_ONE)

    assert (await choose("Which ships lie there now?", exchanged))[0] == "x1"
    assert (await choose("How does the water predict its height on a high day?", exchanged))[0] == "x2"


async def test_a_search_among_many_loaded_plugins_finds_one_by_its_description_and_a_flow_by_its_own(
    tmp_path: Path,
) -> None:
    plugins = [write(tmp_path, f"p{n}", plugin=f"Topic number {n} only.", one="One.", two="Two.") for n in range(5)]
    tides = write(tmp_path, "q", plugin=PLUGIN, one="Anything at all.", two=FLOW_TWO)
    ships = write(tmp_path, "r", plugin="Ships and harbours everywhere.", one="Others.", two="Rest.")

    chosen, prompt = await choose("the tides, and ships that lie somewhere", *plugins, tides, ships)

    assert chosen == "x2"
    assert f"- q.x2 (A): {FLOW_TWO}" in prompt
    assert "- q (A):" in prompt
    assert "- r (A):" in prompt
    assert len(re.findall(r"^- p\d \(A\)", prompt, re.MULTILINE)) == 1  # three plugins are left, of seven


async def test_suggested_flows_are_worded_by_their_descriptions(tmp_path: Path) -> None:
    plugin = write(tmp_path)
    model = ScriptedModelCaller({"suggestions": {}})

    suggested = await suggest_flows(plugin, plugin.flows["x1"], Scope("?"), {"a": plugin}, FlowSearch(), model)

    assert f"- a.x2: {FLOW_TWO}" in model.prompts[-1]
    assert suggested == [{"flow": "a.x2", "question": FLOW_TWO}, {"flow": "a.b1", "question": OPERATION}]


async def play(folder: Path) -> Mapping[str, str]:
    """The prompts of the flow's steps by what they are for: values, choice, text, answer."""
    plugin = write(folder)
    values: dict[str, JsonValue] = {"c": "DEHAM", "d": ["2026-11-19"], "e": {"f": "chart datum"}}
    model = {"start": values, "h": {"step": "i"}, "i": "High.", "answer": "High."}
    question = "DEHAM on 2026-11-19 from chart datum?"
    exchanged = [exchange("POST", "/levels", json={"g": 4.2})]
    played = await Play(plugin.flows["x1"], model, exchanged, Scope(question), plugin).run()
    assert played.problems == []
    prompts = played.model_caller.prompts
    pairs = ["\n".join(prompts[at : at + 2]) for at in range(0, len(prompts), 2)]
    return dict(zip(("values", "choice", "text", "answer"), pairs, strict=False))


@pytest.mark.parametrize(
    ("step", "described"),
    [
        ("values", (OPERATION, BODY, FIELD, LIST, ITEM, OBJECT, NESTED)),
        ("choice", (INSTRUCTION, *CHOICES, RESPONSE, RESPONSE_FIELD)),
        ("text", (SYSTEM, RESPONSE, RESPONSE_FIELD)),
    ],
)
async def test_the_prompt_of_a_step_has_every_description_that_concerns_it(
    step: str, described: Sequence[str], tmp_path: Path
) -> None:
    prompts = await play(tmp_path)

    assert [text for text in described if text not in prompts[step]] == []
