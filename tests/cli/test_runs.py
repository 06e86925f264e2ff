"""`rightseat runs` lists runs and shows one as it happened."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rightseat.cli import main
from rightseat.cli.runs import HEADINGS, timeline
from rightseat.copilot import Copilot
from rightseat.core.ask import Ask
from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    ModelResponseEnded,
    RunFailed,
    RunFinished,
    RunStarted,
    SpanEnded,
    SpanStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
    Usage,
)
from rightseat.core.log import Entry
from rightseat.core.messages import user
from tests.cli.conftest import Run

SCRIPTED = "models: {default: {type: scripted, chunk_delay: 0}}\n"
EVENTS: list[Event] = [
    RunStarted("r", "t", "clerk"),
    StepStarted("look"),
    ToolCallStarted("c", "get_weather"),
    ToolCallDelta("c", '{"city": '),
    ToolCallDelta("c", '"Ulm"}'),
    ToolCallEnded("c"),
    ToolCallReturned("c", "get_weather", "rain\nand wind"),
    StepEnded("look"),
    Custom("guard.denied", {"guard": "g"}),
    TextStarted("m"),
    TextDelta("m", "It "),
    TextDelta("m", "rains."),
    TextEnded("m", complete=False),
    RunFinished("waiting", (Interrupt("i", "why", "Really?"),)),
]


def test_a_run_is_printed_as_a_timeline() -> None:
    lines = list(timeline(Entry(1, seq, event) for seq, event in enumerate(EVENTS, 1)))

    assert lines == [
        "     1-1  run r of clerk, thread t",
        "     1-2  step look",
        '     1-6    tool call get_weather({"city": "Ulm"})',
        "     1-7    get_weather returned: rain\\nand wind",
        '     1-9  {"type":"Custom","name":"guard.denied","value":{"guard":"g"}}',
        "    1-13  text (cut off): It rains.",
        "    1-14  run finished: waiting; asks: Really?",
    ]


def test_a_failed_run_prints_its_error() -> None:
    assert list(timeline([Entry(2, 7, RunFailed("denied", "Not here."))])) == [
        "     2-7  run failed: denied: Not here."
    ]


def test_a_span_is_one_line_with_its_duration() -> None:
    events: list[Event] = [
        SpanStarted("s0", "run", "clerk", 0),
        SpanStarted("s1", "model", "upstream", 40, "s0"),
        SpanEnded("s1", 1290, 350, reason="stop"),
        SpanEnded("s0", 1300, error="cut_off"),
    ]

    assert list(timeline(Entry(1, number, event) for number, event in enumerate(events, 1))) == [
        "     1-3  model upstream took 1.25 s, first chunk after 0.31 s",
        "     1-4  run clerk took 1.30 s, cut_off",
    ]


async def chat(file: Path) -> str:
    copilot = Copilot.from_file(file)
    async with copilot.opened():
        ask = await copilot.runtime.start(Ask(messages=(user("Hi"),), face="openai"))
        async for _ in copilot.runtime.follow(ask.run_id):
            pass
    return ask.run_id


def test_show_reads_the_log_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.yaml"
    file.write_text("models: {default: {type: scripted, chunk_delay: 0}}\n")
    run = asyncio.run(chat(file))

    shown = CliRunner().invoke(main, ["runs", "show", run, "--config", str(file)])
    as_json = CliRunner().invoke(main, ["runs", "show", run, "--config", str(file), "--json"])
    replayed = CliRunner().invoke(main, ["replay", run, "--config", str(file), "--json"])

    assert shown.exit_code == 0, shown.output
    assert f"run {run} of default" in shown.output
    assert shown.output.rstrip().endswith("run finished: done")
    record, first, *_ = map(json.loads, as_json.output.splitlines())
    assert record["run"]["id"] == run
    assert (record["run"]["model_calls"], record["run"]["tool_calls"]) == (1, 0)
    assert "1 of models, 0 of tools" in shown.output
    assert "run default took" in shown.output
    assert first["event"]["type"] == "RunStarted"
    assert replayed.output.splitlines() == as_json.output.splitlines()[1:]


def test_show_last_prints_the_newest_run(run: Run) -> None:
    Path("rightseat.yaml").write_text(SCRIPTED)
    asyncio.run(chat(Path("rightseat.yaml")))
    newest = asyncio.run(chat(Path("rightseat.yaml")))

    lines = run("runs", "show", "--last").output.splitlines()

    assert lines[0] == f"run       {newest}"
    assert lines[2] == "user      anyone"
    assert lines[4] == "face      openai"
    assert lines[7:10] == ["tokens    - in, - out", "calls     1 of models, 0 of tools", "outcome   finished"]
    assert lines[11] == f"     1-1  run {newest} of default, thread {lines[1].split()[1]}"


def test_runs_are_listed_newest_first(run: Run) -> None:
    Path("rightseat.yaml").write_text(SCRIPTED)
    ids = [asyncio.run(chat(Path("rightseat.yaml"))) for _ in range(3)]

    listed = run("runs", "list", "--limit", "2")
    cursor = listed.stderr.split()[-1]
    older = run("runs", "list", "--after", cursor)
    as_json = [json.loads(line) for line in run("runs", "list", "--json").output.splitlines()]

    heading, *rows = listed.stdout.splitlines()
    assert re.split(r"  +", heading) == list(HEADINGS)
    assert [row.split()[0] for row in rows] == [ids[2], ids[1]]
    assert re.fullmatch(r"\S+ +thread_\w+ +default +openai +[\d-]+ [\d:]+ +\d+\.\d\d s +- +- +finished", rows[0])
    assert listed.stderr == f"There are older runs: --after {cursor}\n"
    assert [row.split()[0] for row in older.stdout.splitlines()[1:]] == [ids[0]]
    assert [one["id"] for one in as_json] == ids[::-1]
    assert as_json[0]["outcome"] == "done"


def test_an_empty_list_names_the_log_that_was_read(run: Run) -> None:
    result = run("runs", "list")

    assert result.stdout == ""
    assert result.stderr == "No run is stored in .rightseat/rightseat.db.\n"


def test_runs_in_the_memory_of_a_server_cannot_be_listed(run: Run) -> None:
    Path("rightseat.yaml").write_text("threads: {type: memory}\n")

    result = run("runs", "list")

    assert result.exit_code == 1
    assert "are only in the memory of the server" in result.output


def test_a_run_without_events_prints_the_reason(run: Run) -> None:
    Path("rightseat.yaml").write_text(f"{SCRIPTED}log: {{type: memory}}\n")
    asyncio.run(chat(Path("rightseat.yaml")))

    result = run("runs", "show", "--last")

    assert result.stdout.splitlines()[9] == "outcome   finished"
    assert result.stderr == "Its events are not in the log: it is in the memory of the server.\n"


@pytest.mark.parametrize("arguments", [(), ("run_1", "--last")], ids=["neither", "both"])
def test_show_takes_a_run_or_the_last_one(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("runs", "show", *arguments)

    assert result.exit_code == 2
    assert "Name a RUN, or use --last." in result.output


def test_an_unknown_run_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.yaml"
    file.write_text("models: {default: {type: scripted}}\n")

    shown = CliRunner().invoke(main, ["runs", "show", "run_nowhere", "--config", str(file)])

    assert shown.exit_code == 1
    assert "run_nowhere" in shown.output


def test_the_timeline_describes_response_ends_and_replaced_messages() -> None:
    events: list[Event] = [
        ModelResponseEnded("stop", Usage(19, 9)),
        ModelResponseEnded("length"),
        MessagesReplaced((user("Hi"),), ()),
    ]

    assert list(timeline(Entry(1, seq, event) for seq, event in enumerate(events, 1))) == [
        "     1-1  the model response ended: stop, 19 input tokens, 9 output tokens",
        "     1-2  the model response ended: length",
        "     1-3  resumes from message 1; later messages are discarded",
    ]
