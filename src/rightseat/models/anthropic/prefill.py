"""Continues an interrupted response with a prefill: its text so far is the last message of the request.

Claude supports this up to 4.5, without reasoning. Later models reject it (HTTP 400). A prefill must not end in white
space, which the model then repeats. https://platform.claude.com/docs/en/build-with-claude
"""

import re
from collections.abc import Mapping

from rightseat.core.model import CannotContinue, PartialOutput
from rightseat.models.anthropic.encoder import text_block
from rightseat.models.anthropic.options import Options
from rightseat.models.anthropic.request import AnthropicRequest

PREFILL_MODELS = re.compile(
    r"claude-(3(-[57])?-(opus|sonnet|haiku)|(opus|sonnet|haiku)-4(-[0-5])?)(-latest)?([-@]\d{8})?", re.IGNORECASE
)
"""Models that support prefill, as documented."""
COUNTED_FIELDS = ("model", "messages", "system", "tools", "tool_choice", "thinking")
"""Fields of a request that the token count depends on."""


def supports_prefill(options: Options, model: str) -> bool:
    return PREFILL_MODELS.fullmatch(model) is not None if options.prefill is None else options.prefill


def write_prefill(options: Options, request: AnthropicRequest, begun: PartialOutput) -> dict[str, object]:
    """Return the body with the text so far as its last message. Raises `CannotContinue` if that is not supported."""
    body, text = request.body, begun.text.rstrip()
    if options.platform != "anthropic":
        raise CannotContinue(f"the platform {options.platform} does not count tokens")
    if not supports_prefill(options, request.model):
        raise CannotContinue(f"the model {request.model} does not support prefill")
    if begun.reasoning or has_reasoning(body):
        raise CannotContinue("this provider does not continue reasoning")
    if isinstance(output := body.get("output_config"), Mapping) and "format" in output:
        raise CannotContinue("this provider does not continue a response with a schema")
    messages = body["messages"]
    if not text or not isinstance(messages, list) or not messages or messages[-1]["role"] != "user":
        raise CannotContinue("there is no text to continue")
    return body | {"messages": [*messages, {"role": "assistant", "content": [text_block(text)]}]}


def trailing_space(begun: PartialOutput) -> PartialOutput:
    """Return the white space at the end, which is not sent."""
    return PartialOutput(text=begun.text[len(begun.text.rstrip()) :])


def has_reasoning(body: Mapping[str, object]) -> bool:
    thinking = body.get("thinking")
    return isinstance(thinking, Mapping) and thinking.get("type") != "disabled"


def select_counted(body: Mapping[str, object]) -> dict[str, object]:
    return {name: body[name] for name in COUNTED_FIELDS if name in body}
