"""Every value of a run is stored, listed and remembered under its name."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import msgspec
import pytest
from sqlalchemy import Column, ColumnElement, create_engine, insert, literal

import rightseat.stores
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.events import Interrupt, RunFinished, Usage
from rightseat.core.messages import user
from rightseat.core.threads import Summary, Threads
from rightseat.core.tracing import NO_OBSERVER
from rightseat.core.usage import ModelUsage, RunTotals
from rightseat.operations.records import RunEnd, RunQuery, RunRecord, begin_record, describe_end, end_record
from rightseat.operations.transient_runs import TransientRuns
from rightseat.stores.record_queries import VISITED_RUN_ROWS, VISITED_RUNS
from rightseat.stores.run_columns import OTHER_NAMES, READ_FROM_OTHER_TABLES, RUN_COLUMNS
from rightseat.stores.struct_rows import StructRows
from rightseat.stores.tables import metadata, runs

QUESTION = Interrupt("i", "approval", "Really?")
TOTALS = RunTotals((ModelUsage("upstream", 2, Usage(11, 7, cache_read_tokens=3), "gpt-5"),), 4, "shop.orders")


def ask(run_id: str, **given: object) -> Ask:
    return Ask(
        messages=(user(f"Question {run_id}"),),
        run_id=run_id,
        thread_id="t",
        principal=Principal("anna"),
        agent="clerk",
        face="openbb",
        **given,  # type: ignore[arg-type]  # each test gives a few fields
    )


def expected_record() -> RunRecord:
    """A run that answers a question and asks another one. Its times are those of the store."""
    record = begin_record(ask("answers"), "started", "asked")
    end = describe_end(RunFinished("waiting", (QUESTION,)), TOTALS, "ended")
    return msgspec.structs.replace(end_record(record, end), is_waiting=True)


def list_set_fields() -> set[str]:
    defaults = {field.name: field.default for field in msgspec.structs.fields(RunRecord)}
    values = msgspec.structs.asdict(expected_record())
    return {name for name, value in values.items() if value != defaults[name]}


def test_these_tests_compare_every_field_that_a_run_can_have() -> None:
    assert list_set_fields() == {*RunRecord.__struct_fields__} - {"code", "feedback"}


async def test_every_store_has_every_value_of_a_run(threads: Threads) -> None:
    asked, answers = ask("asks"), ask("answers", answers=(Answer("i", "resolved"),))
    await threads.claim(asked)
    await threads.finish(asked, (), None, RunFinished("waiting", (QUESTION,)))
    await threads.claim(answers)
    await threads.finish(answers, (), None, RunFinished("waiting", (QUESTION,)), TOTALS)

    found = await threads.records.run("answers")  # type: ignore[attr-defined]  # all three stores list records
    assert found is not None
    times = {"started_at": found.started_at, "ended_at": found.ended_at, "asked_at": found.asked_at}
    assert found.asked_at is not None
    assert found.asked_at < found.started_at < found.ended_at
    assert found == msgspec.structs.replace(expected_record(), **times)


def test_a_transient_run_has_the_values_of_a_stored_one() -> None:
    transient = TransientRuns()
    transient.start(ask("asks"), NO_OBSERVER)
    transient.end("asks", RunFinished("waiting", (QUESTION,)))
    answering = transient.start(ask("answers", answers=(Answer("i", "resolved"),)), NO_OBSERVER)
    span = answering.recorder.start_span("model", "upstream", None, {"model": "gpt-5"})
    span.note(input_tokens=11, output_tokens=7, cache_read_tokens=3)
    span.end()
    transient.end("answers", RunFinished("waiting", (QUESTION,)))

    found, asked = transient.list(RunQuery())
    unknown = {name for name in list_set_fields() if getattr(found, name) in (None, ())}
    assert unknown == {"flow", "is_waiting"}  # no flow ran, and its face stores the question
    assert found.asked_at == asked.ended_at
    assert (asked.has_questions, asked.is_waiting) == (True, False)


def test_a_column_has_the_name_of_its_field_or_another_that_is_listed() -> None:
    assert {field: column.name for field, column in RUN_COLUMNS.items()} == {
        field: OTHER_NAMES.get(field, field)
        for field in RunRecord.__struct_fields__
        if field not in READ_FROM_OTHER_TABLES
    }
    assert set(OTHER_NAMES) <= set(RUN_COLUMNS)
    assert len({column.name for column in RUN_COLUMNS.values()}) == len(RUN_COLUMNS)


def test_the_end_of_a_run_has_fields_of_the_record() -> None:
    assert set(RunEnd.__struct_fields__) <= set(RunRecord.__struct_fields__)


def list_struct_rows() -> Iterator[tuple[str, StructRows[object]]]:
    for module in iter_modules(rightseat.stores.__path__):
        for name, value in vars(import_module(f"rightseat.stores.{module.name}")).items():
            if isinstance(value, StructRows):
                yield f"{module.name}.{name}", value


STRUCT_ROWS = dict(list_struct_rows())
RENAMED = {"active_run": "active_run_id", "title": "name", **OTHER_NAMES}
"""Fields of structs, and the columns that have other names."""
RENAMED_OF_ROWS = {
    "feedback.FEEDBACK_ROWS": {"run": "run_id", "message": "message_id", "through": "face", "text": "answer_text"},
    "memories.MEMORY_ROWS": {"text": "memory"},
}


@pytest.mark.parametrize("name", STRUCT_ROWS)
def test_a_field_is_read_from_the_column_of_its_name(name: str) -> None:
    elements = {label.name: label.element for label in STRUCT_ROWS[name].columns}
    columns = {field: element.name for field, element in elements.items() if isinstance(element, Column)}

    renamed = RENAMED | RENAMED_OF_ROWS.get(name, {})
    assert columns == {field: renamed.get(field, field) for field in columns}


def test_a_struct_is_not_read_from_columns_that_it_does_not_have() -> None:
    columns: dict[str, ColumnElement[str]] = {name: literal("") for name in Summary.__struct_fields__}

    with pytest.raises(TypeError, match=r"unknown fields \['owner'\]"):
        StructRows(Summary, columns | {"owner": literal("")})
    with pytest.raises(TypeError, match=r"lack \['updated_at'\]"):
        StructRows(Summary, {name: column for name, column in columns.items() if name != "updated_at"})


def test_two_swapped_columns_of_one_type_are_read_by_their_names(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'threads.db'}")
    metadata.create_all(engine, tables=[runs])
    values = {"id": "r", "thread_id": "t", "owner": "anna", "agent": "clerk", "epoch": 1, "process_id": 1}
    with engine.begin() as connection:
        connection.execute(insert(runs).values(**values, created_at="now", input_tokens=1, output_tokens=2))
        swapped = dict(RUN_COLUMNS)
        swapped |= {"output_tokens": swapped.pop("output_tokens"), "input_tokens": swapped.pop("input_tokens")}
        rows = StructRows(RunRecord, swapped, {"models": lambda _: ()})

        found = rows.read(connection.execute(VISITED_RUNS.with_only_columns(*rows.columns)).one())
        usual = VISITED_RUN_ROWS.read(connection.execute(VISITED_RUNS).one())

    assert found == usual
    assert (found.input_tokens, found.output_tokens) == (1, 2)
    engine.dispose()
