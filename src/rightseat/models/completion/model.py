"""The adapter of models behind a raw completion endpoint: writes the prompt and parses the text."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core.ask import Parameters
from rightseat.core.errors import ConfigError, ContextTooLong
from rightseat.core.events import StopReason
from rightseat.core.messages import Message, user
from rightseat.core.model import (
    Chunk,
    NoteChunk,
    PartialOutput,
    Prompt,
    StopChunk,
    SupervisesServer,
    UsageChunk,
)
from rightseat.core.tools import Tool
from rightseat.egress.deadlines import Deadlines, Timeouts, model_timeout
from rightseat.models.completion import continuation
from rightseat.models.completion import plan as plans
from rightseat.models.completion.backend import Backend, CompletionRequest, Constraint, Description, End, TextPiece
from rightseat.models.completion.backends.prompt_cache import PromptCache, WarmedPrompt, count_shared_chars
from rightseat.models.completion.parsing.reader import Reader
from rightseat.models.completion.styles import select
from rightseat.models.completion.styles.style import Signatures, Style
from rightseat.models.completion.supported_tools import explain_too_long
from rightseat.models.completion.templates import Template, Templates


class OpenableBackend(Backend, Protocol):
    """A backend as an async context manager. `has_triggers`: it supports lazy grammars."""

    @property
    def has_triggers(self) -> bool: ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Completion:
    def __init__(
        self,
        backend: OpenableBackend,
        *,
        style: str = "auto",
        tool_signature_format: Signatures | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        timeouts: Timeouts = Timeouts(),  # noqa: B008
    ) -> None:
        self._backend = backend
        self._style = style
        self._tool_signature_format = tool_signature_format
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._timeouts = timeouts
        self._timeout = model_timeout(f"The model of {getattr(backend, 'place', 'the backend')}", timeouts)
        self._templates = Templates()
        self._profiles: dict[bool, _Profile] = {}  # of requests with tools, and without

    async def __aenter__(self) -> Self:
        await self._backend.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._templates.__aexit__(kind, error, trace)
        await self._backend.__aexit__(kind, error, trace)

    async def wait_until_ready(self) -> None:
        """Wait until a backend that rightseat starts is ready. Raises a `ModelError` if it fails."""
        if wait := getattr(self._backend, "wait", None):
            await wait()

    def find_crash_loop(self) -> str | None:
        return self._backend.find_crash_loop() if isinstance(self._backend, SupervisesServer) else None

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        return self._answer(prompt)

    def continue_stream(self, prompt: Prompt, begun: PartialOutput) -> AsyncIterator[Chunk]:
        return self._answer(prompt, begun)

    async def count_prompt(self, prompt: Prompt) -> int | None:
        """With the chat template and the tools, as the model reads them."""
        if not isinstance(self._backend, continuation.SupportsTokenCount):
            return None
        return await self._backend.count((await self._render(self._with_defaults(prompt))).text)

    async def warm(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> WarmedPrompt:
        """Process and save the beginning that all conversations with these messages and tools share.

        It is what the prompts of two different questions have in common: only the template knows where a question
        begins. Raises `ConfigError` if the backend has no prompt cache, or the beginning is too short for it.
        """
        cache = getattr(self._backend, "prompt_cache", None)
        if not isinstance(cache, PromptCache):
            raise ConfigError(
                "Only a llama-server that rightseat starts has a prompt cache: the model needs `backend.model`, and no "
                "`prompt_cache: {max_files: 0}`."
            )
        prompts = [Prompt((*messages, user(question)), tools) for question in ("0 is a number?", "Who is it?")]
        one, other = [(await self._render(prompt)).text for prompt in prompts]
        return await cache.warm(one[: count_shared_chars(one, other)])

    async def _answer(self, prompt: Prompt, begun: PartialOutput | None = None) -> AsyncIterator[Chunk]:
        prompt = self._with_defaults(prompt)
        rendered = await self._render(prompt)
        profile, plan, text = rendered.profile, rendered.plan, rendered.text
        request = self._request(prompt, text, plan.constraint(text, thinks=profile.reasons), profile)
        reader, rest = plan.reader(text), None
        if begun is None:
            for warning in plan.warnings:
                yield NoteChunk("warning", warning)
        else:
            rest = await continuation.prepare(self._backend, plan, request, reader, begun)
            request = rest.request
        try:
            with Deadlines(self._timeouts, self._timeout) as deadlines:
                async with aclosing(self._backend.generate(request)) as pieces:
                    async for piece in pieces:
                        deadlines.pause()
                        if type(piece) is TextPiece:
                            chunks = reader.feed(piece.text)
                            if piece.logprobs:
                                chunks.insert(0, NoteChunk("logprobs", list(piece.logprobs)))
                            for chunk in chunks if rest is None else rest.filter_new(chunks):
                                yield chunk
                        elif type(piece) is End:
                            end = piece if rest is None else rest.add_known_tokens(piece)
                            chunks = finish_response(reader, end, prompt.parameters)
                            for chunk in chunks if rest is None else rest.filter_new(chunks):
                                yield chunk
                        deadlines.resume(True)
        except ContextTooLong as error:
            raise explain_too_long(error, plan.tools, text) from None

    async def _render(self, prompt: Prompt) -> "_Rendered":
        profile = await self._profile(has_tools=bool(prompt.tools) and prompt.parameters.tool_choice != "none")
        plan = plans.make_plan(prompt, profile.style, triggers=self._backend.has_triggers)
        template_input = plans.write_template_input(plan, prompt, profile.description, self._tool_signature_format)
        text = await profile.template.render(template_input.turns, template_input.tools, template_input.variables)
        return _Rendered(profile, plan, text)

    async def _profile(self, *, has_tools: bool) -> "_Profile":
        """Return the description of the model and its style for this kind of request; refreshed when it changes."""
        source = await self._backend.describe()
        cached = self._profiles.get(has_tools)
        if cached is None or cached.source is not source:
            description, style, _ = select(source, self._style, has_tools=has_tools)
            template = self._templates.get(description.template, bos=description.bos, eos=description.eos)
            cached = self._profiles[has_tools] = _Profile(source, description, style, template)
        return cached

    def _with_defaults(self, prompt: Prompt) -> Prompt:
        """Fill in the configured settings that the client leaves open."""
        parameters = prompt.parameters
        configured = {"max_tokens": self._max_tokens, "temperature": self._temperature}
        missing = {
            name: value for name, value in configured.items() if getattr(parameters, name) is None and value is not None
        }
        if not missing:
            return prompt
        return msgspec.structs.replace(prompt, parameters=msgspec.structs.replace(parameters, **missing))

    def _request(
        self, prompt: Prompt, text: str, constraint: Constraint | None, profile: "_Profile"
    ) -> CompletionRequest:
        parameters = prompt.parameters
        return CompletionRequest(
            prompt=text,
            constraint=constraint,
            preserved=() if constraint else profile.style.preserved,
            stop=(*(parameters.stop or ()), *profile.style.stop, *profile.template.stop),
            max_tokens=parameters.max_tokens,
            temperature=parameters.temperature,
            top_p=parameters.top_p,
            seed=parameters.seed,
            presence_penalty=parameters.presence_penalty,
            frequency_penalty=parameters.frequency_penalty,
            logprobs=parameters.logprobs,
            thread_id=prompt.thread_id,
            cache_key=parameters.cache_key,
        )


@dataclass(frozen=True, slots=True)
class _Profile:
    """`source` is the backend's description, `description` has the template for this kind of request."""

    source: Description
    description: Description
    style: Style
    template: Template

    @property
    def reasons(self) -> bool:
        """Whether the model was trained to reason before it responds."""
        return plans.THINK in self.template.source


@dataclass(frozen=True, slots=True)
class _Rendered:
    profile: _Profile
    plan: plans.Plan
    text: str


def finish_response(reader: Reader, end: End, parameters: Parameters) -> list[Chunk]:
    """Return the buffered rest, the stop reason and the usage. A stop word of the client may cut a call short."""
    cut = end.reason != "stop" or (end.stop is not None and end.stop in (parameters.stop or ()))
    chunks = reader.end(cut=cut)
    reason: StopReason = "tool_calls" if end.reason == "stop" and reader.called else end.reason
    if reader.open and end.reason == "stop":
        reason = "length"
    cached = min(end.cached_tokens, end.input_tokens)  # those of a continued response may include its partial output
    return [*chunks, StopChunk(reason), UsageChunk(end.input_tokens, end.output_tokens, cached)]
