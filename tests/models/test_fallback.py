"""Several models as one."""

import asyncio
import logging
from contextlib import aclosing
from typing import Any, cast

import pytest

from rightseat import app, config
from rightseat.core.errors import ConfigError, ModelBusy, ModelError, ModelRefused, ModelRefusedKey, ModelUnreachable
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Model, NoteChunk, Prompt, TextChunk
from rightseat.models.fallback import Fallback, Options
from rightseat.testing import ScriptedModel, ScriptedResponse, says

PROMPT = Prompt((user("Hi"),))


def busy(retry_after: float | None = None) -> ModelBusy:
    error = ModelBusy("too much to do")
    error.retry_after = retry_after
    return error


def chain(*answers: list[ScriptedResponse], clock: Any = None, **options: Any) -> tuple[Fallback, list[ScriptedModel]]:
    """Models `a`, `b`, …, each with what it answers, one answer after another."""
    models = {chr(ord("a") + number): ScriptedModel(script) for number, script in enumerate(answers)}
    given = Options(**{"models": tuple(models), "backoff": 0, **options})
    return Fallback(given, dict(models), clock), list(models.values())


async def ask(model: Model) -> tuple[str, list[str]]:
    chunks: list[Chunk] = [chunk async for chunk in model.stream(PROMPT)]
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
    return text, [str(chunk.value) for chunk in chunks if isinstance(chunk, NoteChunk)]


async def test_the_first_model_responds_without_a_report() -> None:
    model, (first, second) = chain([says("Hi")], [says("Ho")])

    assert await ask(model) == ("Hi", [])
    assert (len(first.prompts), len(second.prompts)) == (1, 0)


async def test_a_model_that_was_busy_is_asked_again() -> None:
    model, (first, second) = chain([[busy()], says("Hi")], [says("Ho")])

    assert await ask(model) == ("Hi", ["The model 'a' failed (model_busy): too much to do", "The model 'a' responds."])
    assert (len(first.prompts), len(second.prompts)) == (2, 0)


async def test_the_next_model_responds_if_the_first_fails_and_the_run_reports_it() -> None:
    model, (first, _) = chain([[ModelUnreachable("down")], [ModelUnreachable("down")]], [says("Ho")])

    text, notes = await ask(model)

    assert text == "Ho"
    assert notes == ["The model 'a' failed (model_unreachable): down"] * 2 + ["The model 'b' responds."]
    assert len(first.prompts) == 2


@pytest.mark.parametrize("error", [ModelRefusedKey("no such key"), ModelRefused("no such model", 404)])
async def test_what_stays_refused_is_not_asked_for_again(error: ModelError) -> None:
    model, (first, _) = chain([[error]], [says("Ho")])

    assert (await ask(model))[0] == "Ho"
    assert len(first.prompts) == 1


async def test_a_retry_after_beyond_the_longest_backoff_is_not_waited_for() -> None:
    model, (first, _) = chain([[busy(60)]], [says("Ho")])

    async with asyncio.timeout(1):
        assert (await ask(model))[0] == "Ho"
    assert len(first.prompts) == 1


async def test_an_answer_that_has_begun_is_never_asked_for_again() -> None:
    model, (_, second) = chain([[TextChunk("Hel"), ModelUnreachable("gone")]], [says("Ho")])

    with pytest.raises(ModelUnreachable, match="gone"):
        await ask(model)
    assert second.prompts == []


async def test_if_none_can_answer_the_last_error_is_the_error() -> None:
    model, _ = chain([[ModelRefusedKey("no such key")]], [[ModelRefused("too old", 404)]])

    with pytest.raises(ModelRefused, match="too old"):
        await ask(model)


async def test_a_model_that_fails_often_is_skipped_and_then_probed(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    failing: list[ScriptedResponse] = [[ModelUnreachable("down")]] * 3
    model, (first, _) = chain(
        [*failing, says("Hi")], [says("Ho")] * 4, clock=lambda: now[0], retries=0, failure_threshold=2, cooldown=30
    )
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            text, notes = await ask(model)

    assert text == "Ho"
    assert notes[0] == "The model 'a' is skipped for another 30 s: it failed too often."
    assert len(first.prompts) == 2
    assert "the model a failed 2 times in a row and is skipped for 30 s" in caplog.text

    now[0] = 31.0
    assert (await ask(model))[0] == "Ho"  # it was tried, and failed again
    assert len(first.prompts) == 3
    now[0] = 62.0
    assert (await ask(model))[0] == "Hi"
    assert "the model a works again" in caplog.text


async def test_if_all_models_are_skipped_that_is_the_error() -> None:
    model, _ = chain([[ModelUnreachable("down")]], retries=0, failure_threshold=1)
    with pytest.raises(ModelUnreachable, match="down"):
        await ask(model)

    with pytest.raises(ModelUnreachable, match="All models are unavailable"):
        await ask(model)


async def test_a_cancelled_attempt_does_not_count() -> None:
    now = [0.0]
    model, _ = chain(
        [[ModelUnreachable("down")], says("Hi"), says("Hi")], clock=lambda: now[0], retries=0, failure_threshold=1
    )
    with pytest.raises(ModelUnreachable):
        await ask(model)
    now[0] = 31.0
    async with aclosing(cast(Any, model.stream(PROMPT))) as chunks:
        await anext(chunks)

    assert (await ask(model))[0] == "Hi"


def test_it_is_built_from_models_of_the_configuration() -> None:
    text = "models: {default: {type: fallback, models: [a, b]}, a: {type: scripted}, b: {type: scripted}}"

    models = app.assemble(config.parse(text)).runtime.models

    assert list(models) == ["default", "a", "b"]
    assert isinstance(models["default"], Fallback)


def test_an_unknown_model_name_is_reported_when_the_file_is_read() -> None:
    with pytest.raises(ConfigError, match="no model is named 'c'"):
        config.parse("models: {default: {type: fallback, models: [c]}, a: {type: scripted}}")
