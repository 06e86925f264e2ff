"""Families of models: what their chat templates hold, and how they speak."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue

Arguments = dict[str, JsonValue]
Spoken = Sequence[tuple[str, Arguments]]

WEATHER = Tool(
    "get_weather",
    "The weather of a place.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
        "required": ["city"],
    },
)
NOTE = Tool(
    "send_note",
    "Send a note.",
    {
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "text": {"type": "string"},
            "copies": {"type": "integer", "minimum": 0, "maximum": 9},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["to", "text"],
    },
)
TOOLS = (WEATHER, NOTE)

PARIS: tuple[str, Arguments] = ("get_weather", {"city": "Paris", "unit": "celsius"})
NASTY: tuple[str, Arguments] = (
    "send_note",
    {
        "to": "Zoë 東京 🎈",
        "text": 'a "b" \\ {"name": "x"}\n</tool_cal [ ``` >> <|recip',
        "copies": 3,
        "tags": ["x}", "]"],
    },
)


def js(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def enveloped(name: str, arguments: Arguments) -> str:
    return js({"name": name, "arguments": arguments})


def tags(name: str, arguments: Arguments, write: Callable[[str, str, bool], str]) -> str:
    """`write` gets a parameter's name, its text, and whether it is a string."""
    return "".join(
        write(key, value if isinstance(value, str) else js(value), isinstance(value, str))
        for key, value in arguments.items()
    )


@dataclass(frozen=True)
class Family:
    """`speak` writes a text and the calls after it; `several`: more than one call in an answer."""

    name: str
    template: str
    speak: Callable[[str, Spoken], str]
    several: bool = True
    style: str = "auto"


def hermes(text: str, calls: Spoken) -> str:
    said = [f"<tool_call>\n{enveloped(*call)}\n</tool_call>" for call in calls]
    return "\n".join([text] * bool(text) + said)


def qwen3_coder(text: str, calls: Spoken) -> str:
    def one(name: str, arguments: Arguments) -> str:
        inside = tags(name, arguments, lambda key, value, _: f"<parameter={key}>\n{value}\n</parameter>\n")
        return f"<tool_call>\n<function={name}>\n{inside}</function>\n</tool_call>"

    return "\n".join([text] * bool(text) + [one(*call) for call in calls])


def glm(text: str, calls: Spoken) -> str:
    def one(name: str, arguments: Arguments) -> str:
        inside = tags(
            name, arguments, lambda key, value, _: f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"
        )
        return f"<tool_call>{name}\n{inside}</tool_call>"

    return "\n".join([text] * bool(text) + [one(*call) for call in calls])


def deepseek_v32(text: str, calls: Spoken) -> str:
    def write(key: str, value: str, is_string: bool) -> str:
        kind = "true" if is_string else "false"
        return f'<｜DSML｜parameter name="{key}" string="{kind}">{value}</｜DSML｜parameter>\n'

    said = [
        f'<｜DSML｜invoke name="{name}">\n{tags(name, arguments, write)}</｜DSML｜invoke>' for name, arguments in calls
    ]
    section = "<｜DSML｜function_calls>\n" + "\n".join(said) + "\n</｜DSML｜function_calls>" if calls else ""
    return "\n\n".join(part for part in (text, section) if part)


def deepseek_r1(text: str, calls: Spoken) -> str:
    said = [
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{js(arguments)}\n```<｜tool▁call▁end｜>"
        for name, arguments in calls
    ]
    return text + ("<｜tool▁calls▁begin｜>" + "\n".join(said) + "<｜tool▁calls▁end｜>" if calls else "")


def deepseek_v31(text: str, calls: Spoken) -> str:
    said = [f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{js(arguments)}<｜tool▁call▁end｜>" for name, arguments in calls]
    return text + ("<｜tool▁calls▁begin｜>" + "".join(said) + "<｜tool▁calls▁end｜>" if calls else "")


def kimi_k2(text: str, calls: Spoken) -> str:
    said = [
        f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{js(arguments)}<|tool_call_end|>"
        for number, (name, arguments) in enumerate(calls)
    ]
    return text + ("<|tool_calls_section_begin|>" + "".join(said) + "<|tool_calls_section_end|>" if calls else "")


def mistral_nemo(text: str, calls: Spoken) -> str:
    said = [
        js({"name": name, "arguments": arguments, "id": f"abc{number:06}"})
        for number, (name, arguments) in enumerate(calls)
    ]
    return text + (f"[TOOL_CALLS][{', '.join(said)}]" if calls else "")


def mistral_3(text: str, calls: Spoken) -> str:
    return text + "".join(f"[TOOL_CALLS]{name}[ARGS]{js(arguments)}" for name, arguments in calls)


def command_r7b(text: str, calls: Spoken) -> str:
    said = [
        js({"tool_call_id": str(number), "tool_name": name, "parameters": arguments})
        for number, (name, arguments) in enumerate(calls)
    ]
    return text + (f"<|START_ACTION|>[{', '.join(said)}]<|END_ACTION|>" if calls else "")


def granite(text: str, calls: Spoken) -> str:
    return text + (f"<|tool_call|>[{', '.join(enveloped(*call) for call in calls)}]" if calls else "")


def phi_4(text: str, calls: Spoken) -> str:
    return text + (f"functools[{', '.join(enveloped(*call) for call in calls)}]" if calls else "")


def functionary_v2(text: str, calls: Spoken) -> str:
    turns = [("all", text)] * bool(text) + [(name, js(arguments)) for name, arguments in calls]
    return "\n<|from|>assistant\n".join(f"<|recipient|>{to}\n<|content|>{said}" for to, said in turns)


def functionary_v31(text: str, calls: Spoken) -> str:
    return text + "".join(f"<function={name}>{js(arguments)}</function>" for name, arguments in calls)


def functionary_v32(text: str, calls: Spoken) -> str:
    turns = [("all", text)] * bool(text) + [(name, js(arguments)) for name, arguments in calls]
    return "".join(f">>>{to}\n{said}" for to, said in turns)


def llama_31(text: str, calls: Spoken) -> str:
    said = "".join(js({"name": name, "parameters": arguments}) for name, arguments in calls)
    return text + ("<|python_tag|>" if text and calls else "") + said


def harmony(text: str, calls: Spoken) -> str:
    said = [f"<|channel|>final<|message|>{text}"] * bool(text)
    said += [
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{js(arguments)}<|call|>"
        for name, arguments in calls
    ]
    return "<|end|><|start|>assistant".join(said)


def generic(text: str, calls: Spoken) -> str:
    listed = [{"name": name, "arguments": arguments} for name, arguments in calls]
    step = {"tool_calls": listed} if calls else {"result": text}
    return js({"thought_about_next_step_only": "Let me see.", "next_step": step})


FAMILIES = (
    Family("hermes", "{{ tools }} <tool_call> </tool_call>", hermes),
    Family("qwen3-coder", "{{ tools }} <tool_call> <function=x> <parameter=y>", qwen3_coder),
    Family("glm", "{{ tools }} <tool_call>{name} <arg_key> </arg_key> <arg_value>", glm),
    Family("deepseek-v3.2", "{{ tools }} <｜DSML｜function_calls>", deepseek_v32),
    Family("deepseek-r1", "{{ tools }} <｜tool▁calls▁begin｜> ```json", deepseek_r1),
    Family("deepseek-v3.1", "{{ tools }} <｜tool▁calls▁begin｜>", deepseek_v31),
    Family("kimi-k2", "{{ tools }} <|tool_calls_section_begin|>", kimi_k2),
    Family("mistral-nemo", "{{ tools }} [TOOL_CALLS]", mistral_nemo),
    Family("mistral-3", "{{ tools }} [TOOL_CALLS] [ARGS]", mistral_3),
    Family("command-r7b", "{{ tools }} <|START_ACTION|>", command_r7b),
    Family("granite", "{{ tools }} <|tool_call|>", granite),
    Family("phi-4", "<|tool|> {{ message.tools }} <|/tool|> <|tool_call|>", phi_4),
    Family("functionary-v2", "<|from|> <|recipient|> <|content|>", functionary_v2),
    Family("functionary-v3.1", "{{ tools }} <function=x>{}</function>", functionary_v31),
    Family("functionary-v3.2", "{{ tools }} >>>all", functionary_v32),
    Family("llama-3.1", "{{ tools }} <|start_header_id|> <|python_tag|> {{ builtin_tools }}", llama_31, several=False),
    Family("llama-3.1-functions", "<|start_header_id|> <|python_tag|>", functionary_v31, several=False),
    Family("harmony", "{{ tools }} <|channel|>", harmony, several=False),
    Family("forced-hermes", "{{ messages }}", hermes),
    Family("generic", "{{ messages }}", generic, style="generic"),
)
