"""GBNF as others read it: vLLM hands it to xgrammar, or to llguidance.

llguidance splits a text greedily into the parts of a grammar, so it refuses some words in which free text comes before
a call. It must not let anything else through. xgrammar needs torch, so it runs with the packages of vLLM (`just vllm`).
"""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest
from llguidance.gbnf_to_lark import gbnf_to_lark

from rightseat.models.completion.grammar.nodes import Chars, Grammar, LiteralText, Repeat
from rightseat.models.completion.grammar.output import gbnf, lark
from rightseat.models.completion.styles import STYLES
from tests.models.completion.families import TOOLS
from tests.models.completion.grammar import tool_calls
from tests.models.completion.grammar.oracle import Judge
from tests.servers.installing import find_vllm
from tests.servers.running import PROGRAMS

HEX = "0123456789abcdefABCDEF"
ODD = '"\\\n\r\t\x00\x01a\x7fF[]{}^-/é\x80😀\u2028'
ANY_ODD = Chars(tuple((ord(sign), ord(sign)) for sign in sorted(ODD)))
NO_ODD = Chars(ANY_ODD.ranges, negated=True)

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "%s"}}\n</tool_call>'
WORDS = [CALL % text for text in ("Paris", r"C:\\b \b \f \n \r \t \"", "Zürich", "中")]
"""Words of the grammar of `TOOLS`, whether a call is required or not."""
TEXTS = ["Hello.", "if a < b", "<tool_c", "<tool_c is how a call begins"]
"""Words where no call is required."""
NO_WORDS = [
    CALL % "\\\u5cbf",
    CALL % r"\x41",
    CALL % "\x7f",
    CALL.replace("get_weather", "function_name") % "Paris",
    "Hello." + CALL.replace("get_weather", "function_name") % "Paris",
    "<tool_call>",
]


@pytest.mark.parametrize("digit", HEX)
def test_no_hex_digit_follows_an_escape(digit: str) -> None:
    member = Chars(((0x3C, 0x3C), (ord(digit), ord(digit))))
    code = f"\\x{ord(digit):02X}"

    assert gbnf.write(Grammar(member, {})) == f"root ::= [\\x3C{code}]\n"
    assert gbnf.write(Grammar(LiteralText(f"\x01{digit}{digit}g"), {})) == f'root ::= "\\x01{code}{code}g"\n'


def test_llguidance_reads_every_character_of_a_text_and_of_a_class() -> None:
    assert judge(Grammar(LiteralText(ODD), {})).accepts(ODD)
    assert judge(Grammar(Repeat(ANY_ODD), {})).accepts(ODD)
    assert all(judge(Grammar(NO_ODD, {})).accepts(sign) for sign in "bcdΌ")
    assert not any(judge(Grammar(NO_ODD, {})).accepts(sign) for sign in ODD)


@pytest.mark.parametrize("choice", ["required", "auto"])
def test_llguidance_lets_a_call_with_escapes_through_and_no_other_name(choice: str) -> None:
    held = judge(tool_calls.build(TOOLS, choice))

    assert [text for text in WORDS if not held.accepts(text)] == []
    assert [text for text in NO_WORDS if held.accepts(text)] == []


@pytest.mark.parametrize("case", tool_calls.read_own(), ids=lambda case: str(case["id"]))
def test_llguidance_holds_the_grammars_of_a_case(case: Any) -> None:
    tools = tool_calls.tools_of(case)
    required, auto = (tool_calls.build(tools, choice) for choice in ("required", "auto"))

    assert misread(judge(required), required) == []
    assert misread(Judge(lark.write(required)), required) == []
    assert misread(Judge(lark.write(auto)), auto) == []
    assert not any(is_word is False for _, is_word in misread(judge(auto), auto))


@pytest.mark.parametrize("style", STYLES)
def test_llguidance_lets_nothing_else_through_in_any_style(style: str) -> None:
    for choice in ("required", "auto"):
        grammar = tool_calls.build(TOOLS, choice, style)

        assert not any(is_word is False for _, is_word in misread(judge(grammar), grammar))


def misread(held: Judge, grammar: Grammar) -> list[tuple[str, bool]]:
    """Texts that it lets through though they are no words of the grammar, or the other way round."""
    return [(text, is_word) for text, is_word in tool_calls.samples(grammar) if held.accepts(text) is not is_word]


def judge(grammar: Grammar) -> Judge:
    found = Judge(gbnf_to_lark(gbnf.write(grammar)))
    assert not found.problem, found.problem
    return found


@pytest.mark.servers
def test_xgrammar_reads_every_character_of_a_text_and_of_a_class() -> None:
    tried = [
        (Grammar(LiteralText(ODD), {}), [ODD]),
        (Grammar(Repeat(ANY_ODD), {}), [ODD]),
        (Grammar(NO_ODD, {}), [*"bcdΌ", *ODD]),
    ]

    assert ask_xgrammar(tried) == [[True], [True], [*[True] * 4, *[False] * len(ODD)]]


@pytest.mark.servers
def test_xgrammar_lets_a_call_with_escapes_through_and_no_other_name() -> None:
    required, auto = ask_xgrammar(
        [(tool_calls.build(TOOLS, choice), [*WORDS, *TEXTS, *NO_WORDS]) for choice in ("required", "auto")]
    )

    assert required == [*[True] * len(WORDS), *[False] * len(TEXTS), *[False] * len(NO_WORDS)]
    assert auto == [*[True] * len(WORDS), *[True] * len(TEXTS), *[False] * len(NO_WORDS)]


@pytest.mark.night  # the gate tries every style with llguidance, and xgrammar with one
@pytest.mark.servers
def test_xgrammar_holds_the_grammars_of_all_two_hundred_cases_and_of_every_style() -> None:
    offered = [(tool_calls.tools_of(case), "forced-hermes") for case in tool_calls.read_all()]
    offered += [(TOOLS, style) for style in STYLES]
    grammars = [tool_calls.build(tools, choice, style) for tools, style in offered for choice in ("required", "auto")]
    tried = [dict(tool_calls.samples(grammar)) for grammar in grammars]
    found = ask_xgrammar([(grammar, list(texts)) for grammar, texts in zip(grammars, tried, strict=True)])

    assert len(found) == 2 * (200 + len(STYLES))
    for texts, accepted in zip(tried, found, strict=True):
        assert accepted == list(texts.values()), dict(zip(texts, accepted, strict=False))


def ask_xgrammar(tried: Sequence[tuple[Grammar, Sequence[str]]]) -> list[Any]:
    """For each grammar which of the texts are words of it; or a text, where it was refused."""
    lines = [json.dumps({"grammar": gbnf.write(grammar), "texts": texts}) for grammar, texts in tried]
    done = subprocess.run(
        [find_vllm(), PROGRAMS / "xgrammar_judge.py"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
