"""Builds the request to Anthropic's API. Parameters that it does not support become warnings in `notes`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rightseat.core.ask import NamedTool, Parameters
from rightseat.core.model import Prompt
from rightseat.models.anthropic.encoder import (
    Block,
    closed,
    signed_reasoning,
    text_block,
    write_messages,
    write_system,
    write_tool,
)
from rightseat.models.anthropic.options import Options
from rightseat.models.upstream import choose_model
from rightseat.wire.openai_chat import ANY_OBJECT

UNSUPPORTED = ("seed", "presence_penalty", "frequency_penalty", "logprobs")
CHOICES = {"auto": "auto", "none": "none", "required": "any"}
ANY_JSON = "Answer with one JSON object and nothing else: no words around it, no code fence."


@dataclass(slots=True)
class AnthropicRequest:
    model: str
    body: dict[str, object]
    notes: list[str] = field(default_factory=list)


def write_request(options: Options, prompt: Prompt) -> AnthropicRequest:
    parameters = prompt.parameters
    model = choose_model(options.model, options.client_models, parameters.model)
    request = AnthropicRequest(model, {"model": model, "stream": True})
    body = request.body
    body["max_tokens"] = options.max_tokens if parameters.max_tokens is None else parameters.max_tokens
    body["messages"] = write_messages(prompt.messages, model, request.notes)
    if system := write_system(prompt.messages):
        body["system"] = system
    if prompt.tools:
        body["tools"] = [write_tool(tool) for tool in prompt.tools]
    if prompt.tools and (choice := write_choice(parameters)):
        body["tool_choice"] = choice
    if parameters.stop:
        body["stop_sequences"] = parameters.stop
    write_sampling(request, options, parameters)
    write_output(request, options, prompt)
    write_thinking(request, options, prompt)
    if options.cache is not None:
        mark_cacheable(body, {"type": "ephemeral", "ttl": options.cache})
    body |= options.extra
    return request


def write_choice(parameters: Parameters) -> Block:
    """The API has one field for the tool choice and for parallel calls."""
    choice = parameters.tool_choice
    one_at_most = parameters.parallel_calls is False and choice != "none"
    if choice is None and not one_at_most:
        return {}
    written: Block = (
        {"type": "tool", "name": choice.name} if isinstance(choice, NamedTool) else {"type": CHOICES[choice or "auto"]}
    )
    return written | {"disable_parallel_tool_use": True} if one_at_most else written


def write_sampling(request: AnthropicRequest, options: Options, parameters: Parameters) -> None:
    wanted = {"temperature": options.temperature if parameters.temperature is None else parameters.temperature}
    wanted["top_p"] = parameters.top_p
    sampling = {name: value for name, value in wanted.items() if value is not None}
    if options.version == "2023-06-01":
        request.body |= sampling
    elif sampling:
        request.notes.append(
            f"Claude supports no {' and no '.join(f'`{name}`' for name in sampling)} any more, so it was not sent. "
            "A model from before 4.7 does, with `version: 2023-06-01` in its configuration."
        )
    for name in UNSUPPORTED:
        if getattr(parameters, name) is not None:
            request.notes.append(f"Claude does not support `{name}`, so it was not sent.")


def write_output(request: AnthropicRequest, options: Options, prompt: Prompt) -> None:
    output: Block = {}
    if (effort := choose_effort(options, prompt.parameters)) is not None:
        output["effort"] = effort
    schema = prompt.parameters.response_schema
    if schema == ANY_OBJECT:  # the API enforces complete schemas only
        request.body["system"] = [*write_system(prompt.messages), text_block(ANY_JSON)]
    elif schema is not None:
        output["format"] = {"type": "json_schema", "schema": closed(dict(schema))}
    if output:
        request.body["output_config"] = output


def choose_effort(options: Options, parameters: Parameters) -> str | None:
    is_passed_on = options.effort is not None if options.client_effort is None else options.client_effort
    wanted = parameters.effort if is_passed_on else None
    return "low" if wanted == "minimal" else wanted or options.effort


def write_thinking(request: AnthropicRequest, options: Options, prompt: Prompt) -> None:
    wanted = options.thinking
    if wanted is None:
        return
    if wanted == "disabled" or (obstacle := find_obstacle(request, wanted, prompt)) is None:
        kind: Block = {"type": wanted} if isinstance(wanted, str) else {"type": "enabled", "budget_tokens": wanted}
        request.body["thinking"] = kind
        return
    request.body["thinking"] = {"type": "disabled"}
    request.notes.append(f"Claude responds without reasoning: {obstacle}.")


def find_obstacle(request: AnthropicRequest, wanted: str | int, prompt: Prompt) -> str | None:
    """Return why the provider would reject a request with reasoning, else None."""
    choice, limit = request.body.get("tool_choice"), request.body["max_tokens"]
    if isinstance(choice, Mapping) and choice["type"] in ("any", "tool"):
        return "it must call a tool"
    if not isinstance(wanted, int):
        return None
    if isinstance(limit, int) and limit <= wanted:
        return f"its response may have {limit} tokens, of which reasoning needs {wanted}"
    if lacks_signed_reasoning(prompt, request.model):
        return "its reasoning before the tool result was not kept"
    return None


def lacks_signed_reasoning(prompt: Prompt, model: str) -> bool:
    """Whether the conversation ends in results of a response without its signed reasoning, which the API requires."""
    if not prompt.messages or prompt.messages[-1].role != "tool":
        return False
    response = next((message for message in reversed(prompt.messages) if message.role == "assistant"), None)
    return response is not None and not signed_reasoning(response, model)


def mark_cacheable(body: dict[str, object], control: Mapping[str, object]) -> None:
    """Mark the ends of the parts that later requests repeat: tools, system messages, and the conversation so far."""
    tools, system, messages = (body.get(name) for name in ("tools", "system", "messages"))
    last = messages[-1]["content"] if isinstance(messages, list) and messages else None
    for blocks in (tools, system, last):
        if isinstance(blocks, list) and blocks and blocks[-1].get("type") not in ("thinking", "redacted_thinking"):
            blocks[-1]["cache_control"] = control
