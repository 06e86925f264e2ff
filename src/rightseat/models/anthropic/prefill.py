"""An answer that broke off goes on behind a prefill: what was said of it stands as the last message of the request.

Claude took one up to 4.5; from 4.6 on it is refused (HTTP 400), and so it is beside thoughts. A prefill must not end in
white space, which the model has to say again. https://platform.claude.com/docs/en/build-with-claude
"""

import re
from collections.abc import Mapping

from rightseat.core.model import Begun, CannotContinue
from rightseat.models.anthropic.options import Options
from rightseat.models.anthropic.request import Request
from rightseat.models.anthropic.writing import text_block

TAKERS = re.compile(
    r"claude-(3(-[57])?-(opus|sonnet|haiku)|(opus|sonnet|haiku)-4(-[0-5])?)(-latest)?([-@]\d{8})?", re.IGNORECASE
)
"""Models that are documented to take one."""
COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking")
"""What of a request has to do with how many tokens it has."""


def takes_prefill(options: Options, model: str) -> bool:
    return TAKERS.fullmatch(model) is not None if options.prefill is None else options.prefill


def write_prefill(options: Options, request: Request, begun: Begun) -> dict[str, object]:
    """The body of the request with what was said at its end. Raises `CannotContinue` where none would be taken."""
    body, text = request.body, begun.text.rstrip()
    if options.platform != "anthropic":
        raise CannotContinue(f"its tokens are not counted on the platform {options.platform}")
    if not takes_prefill(options, request.model):
        raise CannotContinue(f"the model {request.model} takes no prefill")
    if begun.thought or is_thinking(body):
        raise CannotContinue("thoughts are not continued by this provider")
    if isinstance(output := body.get("output_config"), Mapping) and "format" in output:
        raise CannotContinue("an answer that has a schema is not continued by this provider")
    messages = body["messages"]
    if not text or not isinstance(messages, list) or not messages or messages[-1]["role"] != "user":
        raise CannotContinue("there is nothing that it could be continued from")
    return body | {"messages": [*messages, {"role": "assistant", "content": [text_block(text)]}]}


def unsent(begun: Begun) -> Begun:
    """The white space at the end."""
    return Begun(text=begun.text[len(begun.text.rstrip()) :])


def is_thinking(body: Mapping[str, object]) -> bool:
    thinking = body.get("thinking")
    return isinstance(thinking, Mapping) and thinking.get("type") != "disabled"


def counted(body: Mapping[str, object]) -> dict[str, object]:
    return {name: body[name] for name in COUNTED if name in body}
