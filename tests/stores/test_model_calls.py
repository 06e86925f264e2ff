"""What models were sent, in the stores: contents once for each thread, and erased with it, its user and its time."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

from rightseat.core.ask import Ask, Parameters, Principal
from rightseat.core.call_labels import CallLabels
from rightseat.core.errors import ModelError, StoreUnreachable
from rightseat.core.events import Usage
from rightseat.core.messages import Call, File, Image, Message, Result, Text, assistant, system, user
from rightseat.core.model import Chunk, Prompt, StopChunk, TextChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.operations import prompt_recorder
from rightseat.operations.model_calls import CallEnd, CallRun, SentCall, StoredCallPage
from rightseat.operations.prompt_recorder import PromptRecording, RunPromptRecorder
from rightseat.stores.databases import connect
from rightseat.stores.model_calls import SqlModelCalls
from rightseat.stores.sql import SqlThreads

ANNA = Principal("anna")
ADD = Tool("add", "Adds.", {"type": "object"})
EARLY, SOON, LATER = "2001-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z", "2999-02-01T00:00:00.000Z"
ANSWER = CallLabels()


@pytest.fixture
async def store(where: Path | str) -> AsyncIterator[SqlThreads]:
    async with SqlThreads(connect(where)) as threads:
        yield threads


def ask(run: str = "r", **given: object) -> Ask:
    known = {"messages": (user("Hi"),), "thread_id": "t", "run_id": run, "principal": ANNA, "agent": "clerk"}
    return Ask(**(known | given))  # type: ignore[arg-type]


def record(store: SqlThreads, run: str = "r", expires_at: str = SOON) -> RunPromptRecorder:
    return RunPromptRecorder(store.model_calls, ask(run), expires_at)


async def answer(prompt: Prompt) -> AsyncIterator[Chunk]:
    yield TextChunk("Yes")
    yield UsageChunk(12, 3)
    yield StopChunk("stop")


async def send(recorder: RunPromptRecorder, *messages: Message, tools: Sequence[Tool] = ()) -> None:
    async for _ in recorder.wrap("main", "gpt", ANSWER, answer)(Prompt(messages, tools)):
        pass


def texts(page: StoredCallPage) -> list[list[str]]:
    """The texts of the messages of each call."""
    return [
        [msgspec.json.decode(page.contents[hash])["parts"][0]["text"] for hash in call.sent.messages]
        for call in page.calls
    ]


async def count_contents(store: SqlThreads) -> int:
    exported = await store.model_calls.read_user("anna")
    assert isinstance(exported, list)
    return len(
        {str(part) for call in exported for name in ("instructions", "messages", "tools") for part in call[name]}
    )


async def test_a_call_is_read_as_it_was_sent(store: SqlThreads) -> None:
    image, paper = Image("image/png", "QUJD", "", "a.png"), File("document", "application/pdf", "QUJDREVG")
    called = Message("assistant", (Call("c", "add", "{}"),))
    result = Message("tool", (Result("c", "add", "3\0", None),))
    messages = (system("Be short."), system("Facts"), Message("user", (Text("Add"), image, paper)), called, result)
    prompt = Prompt(messages, (ADD,), Parameters(temperature=0.0, stop=("END",)))
    async for _ in record(store).wrap("main", "gpt", CallLabels("helper", "schema"), answer)(prompt):
        pass

    page = await store.model_calls.list("r", 10)

    (call,) = page.calls
    sent, read = call.sent, {hash: msgspec.json.decode(text) for hash, text in page.contents.items()}
    assert (sent.agent, sent.purpose, sent.model, sent.provider_model) == ("helper", "schema", "main", "gpt")
    assert [read[hash]["parts"][0]["text"] for hash in sent.instructions] == ["Be short.", "Facts"]
    assert [read[hash] for hash in sent.messages] == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "text": "Add"},
                {"type": "image", "media_type": "image/png", "bytes": 3, "name": "a.png", "url": ""},
                {"type": "file", "media_type": "application/pdf", "bytes": 6, "name": "", "url": ""},
            ],
        },
        {"role": "assistant", "parts": [{"type": "call", "id": "c", "name": "add", "arguments": "{}"}]},
        {"role": "tool", "parts": [{"type": "result", "call_id": "c", "name": "add", "content": "3\0", "error": None}]},
    ]
    assert [read[hash]["name"] for hash in sent.tools] == ["add"]
    assert sent.parameters == {"temperature": 0.0, "stop": ["END"]}
    assert call.end is not None
    assert (call.end.usage, call.end.error) == (Usage(12, 3), None)


async def test_a_content_is_stored_once_for_a_thread(store: SqlThreads) -> None:
    for run in ("r", "r2"):
        recorder = record(store, run)
        await send(recorder, system("Be short."), user("Hi"), tools=(ADD,))
        await send(recorder, system("Be short."), user("Hi"), assistant("Yes"), tools=(ADD,))

    pages = [await store.model_calls.list(run, 10) for run in ("r", "r2")]
    assert [texts(page) for page in pages] == [[["Hi"], ["Hi", "Yes"]]] * 2
    assert pages[0].contents == pages[1].contents
    assert await count_contents(store) == 4


async def test_a_call_without_an_end_is_in_progress(store: SqlThreads) -> None:
    chunks = record(store).wrap("main", "gpt", ANSWER, answer)(Prompt((user("Hi"),)))
    await anext(chunks)
    (open_call,) = (await store.model_calls.list("r", 10)).calls
    await chunks.aclose()  # type: ignore[attr-defined]
    (cancelled,) = (await store.model_calls.list("r", 10)).calls

    assert open_call.end is None
    assert cancelled.end is not None
    assert cancelled.end.error == "cancelled"


async def test_a_call_that_fails_has_its_error(store: SqlThreads) -> None:
    async def fail(prompt: Prompt) -> AsyncIterator[Chunk]:
        if prompt.messages:
            raise ModelError("The provider is down.")
        yield TextChunk("")

    with pytest.raises(ModelError):
        async for _ in record(store).wrap("main", "gpt", ANSWER, fail)(Prompt((user("Hi"),))):
            pass

    (call,) = (await store.model_calls.list("r", 10)).calls
    assert call.end is not None
    assert call.end.error == ModelError.code


async def test_the_calls_of_a_run_are_listed_in_pages(store: SqlThreads) -> None:
    recorder = record(store)
    for text in ("one", "two", "three"):
        await send(recorder, user(text))

    first = await store.model_calls.list("r", 2)
    second = await store.model_calls.list("r", 2, first.next)

    assert (texts(first), texts(second)) == ([["one"], ["two"]], [["three"]])
    assert (first.next, second.next) == (first.calls[1].sent.call, None)
    assert await store.model_calls.find("r") == CallRun("r", "t", "anna", "clerk")
    assert await store.model_calls.find("no\0ne") is None


async def test_a_deleted_thread_takes_its_calls_and_their_contents_with_it(store: SqlThreads) -> None:
    await store.claim(ask())
    await send(record(store), user("Hi"))
    other = RunPromptRecorder(store.model_calls, ask("o", thread_id="t2"), SOON)
    await send(other, user("Hi"))

    await store.delete("t", ANNA)

    assert await store.model_calls.find("r") is None
    assert texts(await store.model_calls.list("o", 10)) == [["Hi"]]
    assert await count_contents(store) == 1


async def test_a_user_is_forgotten_with_what_models_were_sent(store: SqlThreads) -> None:
    await send(record(store), user("Hi"))

    (exported,) = await store.model_calls.read_user("anna")
    assert isinstance(exported, dict)
    assert exported["messages"] == [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}]
    assert await store.model_calls.forget_user("ben") == 0
    assert await store.model_calls.forget_user("anna") == 1
    assert await store.model_calls.read_user("anna") == []
    await store.model_calls.add(CallRun("r", "t", "anna", "clerk"), bare_call(), {}, SOON)
    assert (await store.model_calls.list("r", 10)).contents == {}


def bare_call() -> SentCall:
    """A call whose content is not stored with it."""
    hash = "x" * 22
    return SentCall(call="c", at=SOON, agent="a", purpose="answer", model="m", provider_model="p", messages=(hash,))


async def test_a_call_expires_with_its_contents_unless_its_run_is_kept(store: SqlThreads) -> None:
    await send(record(store, "old", EARLY), user("old"))
    kept = RunPromptRecorder(store.model_calls, ask("kept", thread_id="t2"), EARLY)
    await send(kept, user("kept"))
    await store.recordings.keep("kept", LATER)

    async for _ in store.expire():
        pass

    assert await store.model_calls.find("old") is None
    assert texts(await store.model_calls.list("kept", 10)) == [["kept"]]
    assert await count_contents(store) == 1


async def test_a_content_expires_with_the_last_call_that_has_it(store: SqlThreads) -> None:
    await send(record(store, "old", EARLY), user("Hi"))
    await send(record(store, "new", SOON), user("Hi"))

    async for _ in store.expire():
        pass

    assert texts(await store.model_calls.list("new", 10)) == [["Hi"]]


async def test_a_prompt_that_is_too_large_is_sent_and_says_that_it_is_not_recorded(
    store: SqlThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt_recorder, "MAX_CALL_CHARS", 100)
    await send(record(store), user("Hi"), user("x" * 100))

    page = await store.model_calls.list("r", 10)
    (call,) = page.calls
    assert (call.sent.messages, page.contents) == ((), {})
    assert call.sent.omitted == "The prompt has more than 100 characters, so it is not recorded."


async def test_a_call_goes_on_that_cannot_be_recorded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Unreachable(SqlModelCalls):
        async def add(self, *_: object) -> None:
            raise StoreUnreachable

        async def end(self, call: str, end: CallEnd) -> None:
            raise AssertionError("it was not begun")

    recorder = RunPromptRecorder(Unreachable(connect(tmp_path / "no.db")), ask(), SOON)
    chunks = [chunk async for chunk in recorder.wrap("main", "gpt", ANSWER, answer)(Prompt((user("Hi"),)))]

    assert chunks[0] == TextChunk("Yes")
    assert "a prompt of run r is not recorded" in caplog.text


async def test_a_call_that_could_not_be_recorded_leaves_its_contents_to_the_next(store: SqlThreads) -> None:
    class Failing(SqlModelCalls):
        failures = 1

        async def add(self, run: CallRun, call: SentCall, contents: object, expires_at: str) -> None:
            if self.failures:
                self.failures -= 1
                raise StoreUnreachable
            await super().add(run, call, contents, expires_at)  # type: ignore[arg-type]

    recorder = RunPromptRecorder(Failing(store._database), ask(), SOON)
    await send(recorder, question := user("Hi"))
    await send(recorder, question)

    assert texts(await store.model_calls.list("r", 10)) == [["Hi"]]


@pytest.mark.parametrize(
    ("given", "includes_transient", "is_recorded"),
    [
        ({}, False, True),
        ({"transient": True}, False, False),
        ({"transient": True}, True, True),
        ({"purpose": "suggestions"}, True, False),
    ],
)
async def test_the_runs_that_are_recorded(
    store: SqlThreads, given: dict[str, object], includes_transient: bool, is_recorded: bool
) -> None:
    recording = PromptRecording(store.model_calls, 14, includes_transient=includes_transient)
    assert (recording.find_recorder(ask(**given)) is not None) == is_recorded  # type: ignore[arg-type]
