"""Chat templates, which come with a model and are programs: a text or a known error, within the time limit, and the
renderer works afterwards."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from rightseat.core.errors import BadRequest, BadTemplate
from rightseat.models.completion.templates import RENDER_TIMEOUT_S, START_TIMEOUT_S, Templates
from tests.fuzz.engine import Check, Target
from tests.fuzz.mutation import TEXTS, make_value, mutate_json, mutate_text
from tests.models.completion.test_templates import CHATML, HEADERS, MESSAGES, TOOLS

SLACK_S = 20.0  # for a machine that is busy; a renderer that is over its time is killed and started again

WORDS = (
    "{{", "}}", "{%", "%}", "{%-", "-%}", "{#", "#}", "{{ 1/0 }}", "{{ messages }}", "{{ x.y.z }}",
    "{{ tools|tojson }}",
    "{% for i in range(99999999) %}{% endfor %}", "{% for a in range(3000) %}{% for b in range(3000) %}.{% endfor %}"
    "{% endfor %}", "{{ 'a' * 999999999 }}", "{{ 9**9**9 }}", "{% set x = x + x %}", "{% macro f() %}{{ f() }}"
    "{% endmacro %}{{ f() }}", "{{ ''.__class__.__mro__ }}", "{{ messages|map(attribute='__class__')|list }}",
    "{{ cycler.__init__.__globals__ }}", "{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}",
    "{{ raise_exception('no') }}", "{{ strftime_now('%' * 5000) }}", "{{ strftime_now('%\ud800') }}",
    "{{ messages|tojson(indent=9999) }}", "{{ '%999999999d'|format(1) }}", "{{ namespace(a=1).a }}",
    "{% generation %}x{% endgeneration %}", "{% break %}", "{% continue %}", "{{ loop }}", "{{ self }}",
    "{{ lipsum() }}",
    "{{ messages|sort }}", "{{ messages|groupby('role') }}", "{{ messages[::0] }}", "{{ 'x'|replace('', 'y' * 9999) }}",
    "{{ ('a' * 5000)|wordwrap(1) }}", "{{ messages|batch(0)|list }}", "{{ [1]|slice(10**9)|list }}",
    "{{ 'a'|center(10**9) }}", "{{ 'a'|indent(10**8) }}", "{{ 1e999 }}", "{{ {}|xmlattr }}", "{{ tojson }}",
    "{% if %}", "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", "{% call f() %}{% endcall %}", "{{ super() }}",
    "{% raw %}{{ {% endraw %}", "{% filter upper %}x{% endfilter %}", "{% autoescape true %}<{% endautoescape %}",
    " in ", " is ", " not ", " and ", " or ", "|", "(", ")", "[", "]", "'", '"', "\\", ":", ",", ".", "~", "==",
)  # fmt: skip
SOURCES = (CHATML, HEADERS)


def make(random: Random) -> Any:
    """The source, the messages and the tools."""
    source = random.choice(SOURCES)
    if random.random() < 0.3:
        source = "".join(random.choice(WORDS) for _ in range(random.randint(1, 6)))
    elif random.random() < 0.9:
        source = mutate_text(random, source, (*WORDS, *WORDS, *TEXTS))
    messages: Any = MESSAGES if random.random() < 0.6 else mutate_json(random, MESSAGES)
    tools: Any = TOOLS if random.random() < 0.6 else make_value(random, 3)
    return clean(source), clean(messages), clean(tools)


def clean(value: Any) -> Any:
    """Without halves of surrogate pairs: no face lets them in."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


@asynccontextmanager
async def opened() -> AsyncIterator[Check]:
    async with Templates() as templates:

        async def check(case: Any) -> None:
            source, messages, tools = case
            began = time.monotonic()
            try:
                text = await templates.get(source, bos="<s>", eos="</s>").render(messages, tools)
            except (BadRequest, BadTemplate):
                pass
            else:
                assert isinstance(text, str)
            took_s = time.monotonic() - began
            assert took_s < RENDER_TIMEOUT_S + SLACK_S < START_TIMEOUT_S, f"{took_s:.1f} s"

        yield check
        assert "Hello" in await templates.get("{{ messages[0].content }}").render([{"content": "Hello"}])


TARGETS = (Target("templates", make, opened, ((CHATML, MESSAGES, TOOLS), ("{% break", [], None)), night_cases=150),)
