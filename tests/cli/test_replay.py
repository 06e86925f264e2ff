"""`rightseat replay RUN` shows a run as it happened."""

import asyncio
import json
from pathlib import Path

from click.testing import CliRunner

from rightseat.cli import main
from rightseat.cli.replay import timeline
from rightseat.copilot import Copilot
from rightseat.core.ask import Ask
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    RunFailed,
    RunFinished,
    RunStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    Usage,
)
from rightseat.core.log import Entry
from rightseat.core.messages import user

EVENTS: list[Event] = [
    RunStarted("r", "t", "clerk"),
    StepStarted("look"),
    CallStarted("c", "get_weather"),
    CallDelta("c", '{"city": '),
    CallDelta("c", '"Ulm"}'),
    CallEnded("c"),
    CallReturned("c", "get_weather", "rain\nand wind"),
    StepEnded("look"),
    Custom("guard.denied", {"guard": "g"}),
    TextStarted("m"),
    TextDelta("m", "It "),
    TextDelta("m", "rains."),
    TextEnded("m", whole=False),
    RunFinished("waiting", (Interrupt("i", "why", "Really?"),)),
]


def test_a_run_is_a_timeline() -> None:
    lines = list(timeline(Entry(1, seq, event) for seq, event in enumerate(EVENTS, 1)))

    assert lines == [
        "     1-1  run r of clerk, thread t",
        "     1-2  step look",
        '     1-6    calls get_weather({"city": "Ulm"})',
        "     1-7    get_weather gave: rain\\nand wind",
        '     1-9  {"type":"Custom","name":"guard.denied","value":{"guard":"g"}}',
        "    1-13  says (cut off): It rains.",
        "    1-14  ends: waiting; asks: Really?",
    ]


def test_a_failure_says_what_went_wrong() -> None:
    assert list(timeline([Entry(2, 7, RunFailed("denied", "Not here."))])) == ["     2-7  fails: denied: Not here."]


async def chat(file: Path) -> str:
    copilot = Copilot.from_file(file)
    async with copilot.opened():
        ask = await copilot.runtime.start(Ask(messages=(user("Hi"),)))
        async for _ in copilot.runtime.follow(ask.run_id):
            pass
    return ask.run_id


def test_it_reads_the_log_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.yaml"
    file.write_text("models: {default: {type: scripted, pause: 0}}\n")
    run = asyncio.run(chat(file))

    shown = CliRunner().invoke(main, ["replay", run, "--config", str(file)])
    as_json = CliRunner().invoke(main, ["replay", run, "--config", str(file), "--json"])

    assert shown.exit_code == 0, shown.output
    assert f"run {run} of default" in shown.output
    assert shown.output.rstrip().endswith("ends: done")
    assert json.loads(as_json.output.splitlines()[0])["event"]["type"] == "RunStarted"


def test_a_run_that_is_not_there_is_said_to_be_unknown(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.yaml"
    file.write_text("models: {default: {type: scripted}}\n")

    shown = CliRunner().invoke(main, ["replay", "run_nowhere", "--config", str(file)])

    assert shown.exit_code == 1
    assert "run_nowhere" in shown.output


def test_the_end_of_an_answer_and_a_new_beginning_are_told_in_words() -> None:
    events: list[Event] = [
        AnswerEnded("stop", Usage(19, 9)),
        AnswerEnded("length"),
        MessagesReplaced((user("Hi"),), ()),
    ]

    assert list(timeline(Entry(1, seq, event) for seq, event in enumerate(events, 1))) == [
        "     1-1  the model ends: stop, 19 tokens read, 9 written",
        "     1-2  the model ends: length",
        "     1-3  goes on from message 1: what was said behind it is taken back",
    ]
