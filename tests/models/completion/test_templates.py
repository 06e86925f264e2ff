"""Chat templates, rendered by the process that renders them; Jinja itself says what is right."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rightseat.core.errors import BadRequest, BadTemplate
from rightseat.models.completion import templates as rendering
from rightseat.models.completion.templates import Templates

SOON = 3.0  # seconds: twice what the renderer allows itself

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather's <b>state</b> & more",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "zone": {"enum": ["é", None, 1.5]}},
                "required": ["city"],
            },
        },
    }
]

CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Køln"}}}

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": " Be brief. "},
    {"role": "user", "content": "Is 3 < 4 in 'Köln'?\n"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": '{"temp": 3}', "name": "get_weather", "tool_call_id": "abcdefghi"},
    {"role": "assistant", "content": "Yes.</think> It is."},
    {"role": "user", "content": "Thanks"},
]

CHATML = """\
{% if not messages[0]['role'] == 'system' %}
{{ '<|im_start|>system\nYou are kind.<|im_end|>\n' }}
{% endif %}
{% for message in messages %}
{% if message.tool_calls is defined and message.tool_calls %}
<|im_start|>assistant
{% for call in message.tool_calls %}
<tool_call>
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{% endfor %}
<|im_end|>
{% else %}
{{ '<|im_start|>' + message.role + '\n' + message.content.strip() + '<|im_end|>' }}
{% endif %}
{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""

HEADERS = """\
{{- bos_token }}
{%- set date = strftime_now('%Y') if false else 'today' %}
{%- set ns = namespace(system='', seen=0) -%}
{%- for m in messages if m.role == 'system' %}{% set ns.system = ns.system ~ m.content | trim %}{% endfor %}
{{- '<|start_header_id|>system<|end_header_id|>\n\n' + ns.system + ' ' + date }}
{%- if tools is not none %}
    {%- for tool in tools %}
        {{- tool | tojson(indent=4) }}
        {{- "\n\n" }}
    {%- endfor %}
{%- endif %}
{%- for message in messages[1:] %}
    {%- if message.role == 'tool' %}{% continue %}{% endif %}
    {%- set ns.seen = ns.seen + 1 %}
    {{- '<|start_header_id|>' ~ message['role'] ~ '<|end_header_id|>\n\n' ~ (message.content or '') ~ '<|eot_id|>' }}
{%- endfor %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' if add_generation_prompt else '' }}{{ ns.seen }}"""

MACROS = """\
{%- macro kind(schema) -%}
{%- if schema.enum is defined %}{{ schema.enum | map('tojson') | join(' | ') }}
{%- elif schema.type == 'object' %}{ {%- for key, value in schema.properties.items() %}{{ key }}: {{ kind(value) }}
{%- if not loop.last %}, {% endif %}{% endfor -%} }
{%- else %}{{ schema.type }}{% endif %}
{%- endmacro -%}
{%- for tool in tools %}type {{ tool.function.name }} = (_: {{ kind(tool.function.parameters) }}) => any;{% endfor %}
{%- for role, group in [('user', 1), ('assistant', 2)] %}{{ role | upper }}{{ group }}{% endfor %}
{{- messages | selectattr('role', 'equalto', 'user') | list | length }}
{{- messages[::-1][0].content }}{{ messages | map(attribute='role') | unique | join(',') }}"""

THINKING = """\
{%- for message in messages %}
{%- set content = message.content %}
{%- if '</think>' in content %}{% set content = content.split('</think>')[-1].lstrip() %}{% endif %}
{%- if content is string and content.startswith('Thank') and not content.endswith('x') %}{{ content[:3] }}{% endif %}
{{- loop.index0 ~ ':' ~ content.replace('\n', ' ').rstrip('\n') }}
{%- if loop.last or (not loop.last and loop.nextitem.role != 'tool') %}|{% endif %}
{%- endfor %}"""

MORE_THAN_MINIJINJA = """\
{%- for message in messages %}
{{- message.content.rpartition(' ')[2] }}{{ message.role.ljust(12, '.') }}
{%- if message.role == 'assistant' %}{% generation %}{{ message.content }}{% endgeneration %}{% endif %}
{%- endfor %}"""

FAMILIES = {
    "chatml": CHATML,
    "headers": HEADERS,
    "macros": MACROS,
    "thinking": THINKING,
}


@pytest.fixture
async def templates() -> AsyncIterator[Templates]:
    async with Templates() as made:
        yield made


def by_jinja(source: str, **names: Any) -> str:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    return environment.from_string(source).render(strftime_now=str, **names)


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_prompt_is_what_jinja_makes_of_it(family: str, templates: Templates) -> None:
    names = {"messages": MESSAGES, "tools": TOOLS, "bos_token": "<s>", "eos_token": "</s>"}
    expected = by_jinja(FAMILIES[family], add_generation_prompt=True, **names)

    assert await templates.get(FAMILIES[family], bos="<s>", eos="</s>").render(MESSAGES, TOOLS) == expected


async def test_what_minijinja_lacks_is_left_to_jinja(templates: Templates) -> None:
    template = templates.get(MORE_THAN_MINIJINJA)

    said = [await template.render([{"role": "assistant", "content": "so it is"}]) for _ in range(2)]

    assert said == ["isassistant...so it is"] * 2


async def test_a_template_may_read_the_arguments_of_a_call(templates: Templates) -> None:
    source = "{% set read = messages[0].arguments | from_json %}{{ read.city }}{{ read | from_json | tojson }}"

    assert await templates.get(source).render([{"arguments": '{"city": "Rome"}'}]) == 'Rome{"city": "Rome"}'


async def test_more_names_reach_the_template(templates: Templates) -> None:
    template = templates.get("{{ builtin_tools | join('+') }}{{ tools is none }}")

    assert await template.render([], more={"builtin_tools": ["a", "b"]}) == "a+bTrue"


async def test_a_template_that_refuses_the_messages_raises_with_the_reason(templates: Templates) -> None:
    with pytest.raises(BadRequest, match="roles must alternate"):
        await templates.get("{{ raise_exception('roles must alternate') }}").render(MESSAGES)


LOOP = (
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}"
)

BOMBS = {
    "a loop without end": LOOP,
    "the same in Jinja": "{{ 'x'.ljust(1) }}" + LOOP,
    "a text that doubles": "{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s * 2 %}{% endfor %}",
    "a list that doubles": "{% for i in range(99) %}{{ messages.extend(messages) }}{% endfor %}",
    "a long output": "{% set a = 'x' * 999999 %}{% for i in range(99999) %}{{ a }}{% endfor %}",
    "a deep recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "no template": "{% if %}",
    "an unknown word": "{% nonsense %}",
    "a missing value": "{{ messages[77].content.strip() }}",
}


@pytest.mark.serial
@pytest.mark.parametrize("what", BOMBS)
async def test_a_bad_template_is_an_error_and_soon(what: str, templates: Templates) -> None:
    start = time.monotonic()
    with pytest.raises(BadTemplate):
        await templates.get(BOMBS[what]).render(MESSAGES)

    assert time.monotonic() - start < SOON


async def test_after_a_bad_one_the_others_are_rendered(templates: Templates) -> None:
    for what in ("the same in Jinja", "a text that doubles"):
        with pytest.raises(BadTemplate):
            await templates.get(BOMBS[what]).render(MESSAGES)

    assert await templates.get("{{ messages | length }}").render(MESSAGES) == "6"


async def test_a_process_that_was_killed_is_replaced(templates: Templates) -> None:
    template = templates.get("{{ messages | length }}")
    await template.render(MESSAGES)
    process = templates._renderer._process
    assert process is not None
    process.kill()
    await process.wait()

    assert await template.render(MESSAGES) == "6"


async def test_the_time_that_the_process_takes_to_start_is_not_the_templates(
    templates: Templates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(f"import time; time.sleep(0.5)\n{rendering.WORKER.read_text()}")
    monkeypatch.setattr(rendering, "WORKER", slow)
    monkeypatch.setattr(rendering, "RENDER_TIMEOUT_S", 0.3)

    assert await templates.get("{{ messages | length }}").render(MESSAGES) == "6"


ESCAPES = [
    "{{ messages[0].content.__class__.__mro__[1].__subclasses__() }}",
    "{{ messages.__class__.__base__.__subclasses__() }}",
    "{{ raise_exception.__globals__ }}{{ strftime_now.__globals__.sys }}",
    "{{ cycler.__init__.__globals__.os.environ }}",
    "{{ 'x'.ljust(1) }}{{ cycler.__init__.__globals__.os.environ }}",
    "{{ 'x'.ljust(1) }}{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ 'x'.ljust(1) }}{{ (raise_exception | attr('__globals__')).sys.modules }}",
    "{{ 'x'.ljust(1) }}{{ '{0.__class__}'.format(messages) }}",
    "{% include '/etc/passwd' %}",
    "{{ 'x'.ljust(1) }}{% import '/etc/passwd' as x %}",
]


@pytest.mark.parametrize("source", ESCAPES)
async def test_a_template_does_not_reach_the_interpreter(source: str, templates: Templates) -> None:
    try:
        said = await templates.get(source).render(MESSAGES)
    except BadTemplate as error:
        said = error.message

    assert not any(word in said for word in ("<class", "PATH", "root:", "<module", "<function"))


async def test_a_template_cannot_change_its_arguments(templates: Templates) -> None:
    messages = [{"role": "user", "content": "Hi"}]

    await templates.get("{{ messages.append(1) }}{{ messages[0].update({'role': 'x'}) }}").render(messages)

    assert messages == [{"role": "user", "content": "Hi"}]


async def test_a_model_without_a_template_gets_plain_text(templates: Templates) -> None:
    template = templates.get("")
    said = await template.render(
        [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi\n"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "More"},
        ]
    )

    assert said == "Be kind.\n\nUser: Hi\nAssistant: Hello.\nUser: More\nAssistant:"
    assert "\nUser:" in template.stop


async def test_prompts_are_rendered_side_by_side_and_not_mixed_up(templates: Templates) -> None:
    template = templates.get("{{ messages[0].content }}")

    said = await asyncio.gather(*(template.render([{"content": str(number)}]) for number in range(50)))

    assert said == [str(number) for number in range(50)]


async def test_a_cancelled_prompt_does_not_affect_later_ones(templates: Templates) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await templates.get(BOMBS["the same in Jinja"]).render(MESSAGES)

    assert await templates.get("{{ messages[0] }}").render([{"a": "b"}]) == "{'a': 'b'}"
