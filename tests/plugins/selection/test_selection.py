"""Choosing a flow and suggesting others (section 12)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rightseat.core.errors import ModelUnreachable
from rightseat.core.model import Vectors
from rightseat.plugins.definition import Flow, Plugin, PluginTexts
from rightseat.plugins.scope import Scope
from rightseat.plugins.selection import FlowSearch, choose_flow, suggest_flows
from rightseat.plugins.selection.bm25 import score_texts, split_terms
from rightseat.plugins.testing.mocks import ScriptedModelCaller
from tests.plugins.flows.playing import flow_of, none, plugin_of

TOPICS = ["weather forecast", "host vulnerabilities", "sales revenue", "file conversion", "train tickets"]


def plugin(id: str, about: str, flows: int = 3, **rest: Any) -> Plugin:
    made = [
        replace(flow_of(none("start"), name=f"{id}_{n}"), description=f"{about}, way {n}", **rest) for n in range(flows)
    ]
    return replace(plugin_of(*made, id=id), texts=PluginTexts(about, f"Everything about {about}"))


PLUGINS = [plugin(f"p{number}", topic) for number, topic in enumerate(TOPICS)]


async def test_R_12_2_a_search_leaves_three_plugins_and_eight_flows() -> None:
    model_caller = ScriptedModelCaller({"choose": {"flow": "p2.p2_1"}})

    chosen = await choose_flow(
        Scope("the sales revenue by host and file"), PLUGINS, FlowSearch(), model_caller, auto=True
    )

    assert chosen.plugin == PLUGINS[2].identity
    assert chosen.flow == "p2_1"
    assert len(chosen.candidates) == 8
    assert {name.partition(".")[0] for name in chosen.candidates} == {"p1", "p2", "p3"}
    assert model_caller.counts["choose"] == 1
    assert "- p2.p2_1 (sales revenue): sales revenue, way 1" in model_caller.prompts[1]


async def test_a_search_reads_every_language_of_a_plugin() -> None:
    *others, last = PLUGINS
    spoken = [*others, replace(last, i18n={"zh": PluginTexts("车票", "查询高铁车票")})]

    chosen = await choose_flow(
        Scope("高铁车票"), spoken, FlowSearch(), ScriptedModelCaller({"choose": "none"}), auto=True
    )

    assert "p4.p4_0" in chosen.candidates


async def test_R_12_2_eight_flows_or_fewer_are_all_candidates() -> None:
    model_caller = ScriptedModelCaller({"choose": "p0.p0_0"})

    chosen = await choose_flow(Scope("anything"), PLUGINS[:2], FlowSearch(), model_caller, auto=True)

    assert len(chosen.candidates) == 6
    assert chosen.scores == {}
    assert "no search" in chosen.why


async def test_the_prompt_has_the_description_of_each_plugin_once() -> None:
    model_caller = ScriptedModelCaller({"choose": "none"})

    await choose_flow(Scope("anything"), PLUGINS[:2], FlowSearch(), model_caller, auto=True)

    assert model_caller.prompts[1].count("- p0 (weather forecast): Everything about weather forecast") == 1
    assert model_caller.prompts[1].count("Everything about host vulnerabilities") == 1


async def test_a_long_description_of_a_plugin_is_cut_with_a_note() -> None:
    long = replace(PLUGINS[0], texts=PluginTexts("Long", "字" * 2000))
    model_caller = ScriptedModelCaller({"choose": "none"})

    await choose_flow(Scope("anything"), [long], FlowSearch(), model_caller, auto=True)

    assert 400 < model_caller.prompts[1].count("字") < 501
    assert "more characters)" in model_caller.prompts[1]


@pytest.mark.parametrize("reply", ["none", {"flow": "none"}, "nonsense", "p9.p9_0"])
async def test_R_12_2_the_model_may_choose_no_flow_even_of_one_candidate(reply: Any) -> None:
    model_caller = ScriptedModelCaller({"choose": reply})

    chosen = await choose_flow(
        Scope("Tell me a joke"), [plugin("one", "trains", 1)], FlowSearch(), model_caller, auto=False
    )

    assert chosen.plugin is None
    assert model_caller.counts["choose"] == 1


async def test_R_12_2_plugins_that_the_user_named_are_not_narrowed_down() -> None:
    model_caller = ScriptedModelCaller({"choose": "none"})

    chosen = await choose_flow(Scope("the weather"), PLUGINS[:4], FlowSearch(), model_caller, auto=False)

    assert {name.partition(".")[0] for name in chosen.candidates} == {"p0", "p1", "p2", "p3"} - (
        {"p1", "p2", "p3"} - {name.partition(".")[0] for name in chosen.candidates}
    )
    assert not set(chosen.scores) & {"p0", "p1", "p2", "p3"}
    assert len(chosen.candidates) == 8


async def test_R_12_3_disabled_flows_are_no_candidates_and_scores_are_recorded() -> None:
    off = plugin("off", "the weather", 9, enabled=False)
    model_caller = ScriptedModelCaller({"choose": "none"})

    chosen = await choose_flow(Scope("the weather"), [off, *PLUGINS], FlowSearch(), model_caller, auto=True)

    assert not any(name.startswith("off.") for name in chosen.candidates)
    assert chosen.scores["p0"] > chosen.scores["p1"]
    assert "keywords" in chosen.why


class Embedding:
    """Vectors by a word, as a model would make them by meaning."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.asked: list[Sequence[str]] = []

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        if self.fails:
            raise ModelUnreachable("no vectors today")
        self.asked.append(texts)
        return Vectors([[float("rain" in text or "weather" in text), float("sales" in text), 0.1] for text in texts])


async def test_R_12_2_embeddings_find_flows_that_keywords_miss() -> None:
    embedder = Embedding()
    search = FlowSearch(embedder)

    ranked, how = await search.rank("will it rain?", TOPICS)
    await search.rank("rain again?", TOPICS)

    assert max(range(len(ranked)), key=lambda at: ranked[at]) == 0
    assert how == "keywords and vectors"
    assert len(embedder.asked[1]) == 1


async def test_R_12_2_without_embeddings_the_search_uses_keywords_and_records_it() -> None:
    ranked, how = await FlowSearch(Embedding(fails=True)).rank("weather", TOPICS)

    assert ranked[0] > 0
    assert how == "keywords only: no vectors today"


def test_keyword_search_works_without_spaces_between_words() -> None:
    assert "天气" in split_terms("杭州明天天气怎么样")
    found = score_texts("杭州明天天气怎么样？", ["查询主机的漏洞", "查询一个城市的天气预报", "Sales"])
    assert max(found) == found[1] > 0


def flow_with(next_flow: tuple[str, ...] | None) -> tuple[Plugin, Flow]:
    owner = plugin("p0", "weather")
    flow = replace(owner.flows["p0_0"], next_flow=next_flow)
    return replace(owner, flows={**owner.flows, flow.name: flow}), flow


async def suggested(next_flow: tuple[str, ...] | None, model: Any) -> list[Any]:
    owner, flow = flow_with(next_flow)
    plugins = {one.id: one for one in (owner, *PLUGINS[1:])}
    return await suggest_flows(owner, flow, Scope("the weather"), plugins, FlowSearch(), ScriptedModelCaller(model))


async def test_R_12_4_at_most_three_next_flows_are_suggested_in_order_and_phrased_in_one_call() -> None:
    names = ("p0_2", "unknown", "p1.p1_0", "p0_1", "p2.p2_0")
    found = await suggested(names, {"suggestions": [{"p0.p0_2": "And tomorrow?", "p1.p1_0": "x" * 31}]})

    assert found == [
        {"flow": "p0.p0_2", "question": "And tomorrow?"},
        {"flow": "p1.p1_0", "question": "host vulnerabilities, way 0"},
        {"flow": "p0.p0_1", "question": "weather forecast, way 1".replace(" forecast", "")},
    ]


async def test_R_12_4_without_a_model_suggestions_are_the_descriptions() -> None:
    assert await suggested(("p0_1",), {}) == [{"flow": "p0.p0_1", "question": "weather, way 1"}]


async def test_R_12_5_without_next_flow_a_search_suggests_flows_and_an_empty_list_suggests_none() -> None:
    found = await suggested(None, {})

    assert len(found) == 3
    assert "p0.p0_0" not in [one["flow"] for one in found]
    assert await suggested((), {}) == []
