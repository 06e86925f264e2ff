"""`rightseat eval list`: lists datasets, or results, and asks no model."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from rightseat.cli import setup
from rightseat.cli.eval import WRONG_FILES, clean_lines
from rightseat.cli.eval.stored_results import find_folder, open_results
from rightseat.cli.table import format_table, format_time
from rightseat.evals.dataset import list_datasets, read_dataset
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.results import CaseResult, EvalResult

DATASET_HEADINGS = ("DATASET", "CASES", "LATEST RESULT", "PASSED", "FLAKY")
RESULT_HEADINGS = ("RESULT", "LABEL", "BEGAN (UTC)", "DATASETS", "PASSED", "COST", "")


@click.command()
@click.argument("dataset", required=False)
@setup.file_option
@click.option("--results", "as_results", is_flag=True, help="List the results, the oldest first.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(dataset: str | None, path: Path | None, as_results: bool, form: str) -> None:
    """List the datasets with their latest results, or the results; only those of DATASET if it is given.

    No model is asked. Errors in the files are printed, and the command then exits with 2.
    """
    with open_results(path) as store:
        results = store.list_results()
    if as_results:
        chosen = [result for result in results if dataset is None or _find_cases(result, dataset)]
        _print("results", [_describe_result(result) for result in chosen], RESULT_HEADINGS, form)
        return
    rows, errors, folder = [], [], find_folder(path)
    for name in [dataset] if dataset is not None else list_datasets(folder):
        try:
            rows.append(_describe_dataset(folder, name, results))
        except DatasetError as error:
            errors.append(error.message)
    _print("datasets", rows, DATASET_HEADINGS, form)
    if errors:
        click.echo(clean_lines("\n".join(errors)), err=True)
        sys.exit(WRONG_FILES)


def _describe_dataset(folder: Path, name: str, results: Sequence[EvalResult]) -> dict[str, Any]:
    dataset = read_dataset(folder, name).dataset
    latest = next((result for result in reversed(results) if _find_cases(result, name)), None)
    return {
        "name": name,
        "cases": len(dataset.cases),
        "unscored": 0 if dataset.scorers else sum(not case.scorers for case in dataset.cases),
        "latest": None if latest is None else _describe_latest(latest, _find_cases(latest, name)),
    }


def _describe_latest(result: EvalResult, cases: Sequence[CaseResult]) -> dict[str, Any]:
    return {
        "id": result.id,
        "label": result.label,
        "at": result.at,
        "cases": len(cases),
        "passed": sum(case.outcome == "passed" for case in cases),
        "flaky": [case.name for case in cases if case.flaky],
    }


def _find_cases(result: EvalResult, dataset: str) -> list[CaseResult]:
    return [case for case in result.cases if case.dataset == dataset]


def _describe_result(result: EvalResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "label": result.label,
        "at": result.at,
        "datasets": list(dict.fromkeys(case.dataset for case in result.cases)),
        "complete": result.complete,
        "stopped": result.stopped,
        **msgspec.to_builtins(result.totals),
    }


def _print(key: str, rows: Sequence[dict[str, Any]], headings: Sequence[str], form: str) -> None:
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode({key: rows})))
    elif rows:
        cells = _result_cells(rows) if key == "results" else _dataset_cells(rows)
        click.echo("\n".join(format_table(headings, cells)))
    else:
        click.echo(f"There are no {key} yet.", err=True)


def _dataset_cells(rows: Sequence[dict[str, Any]]) -> Iterator[Sequence[str]]:
    for row in rows:
        cases = f"{row['cases']}" + (f", {row['unscored']} unscored" if row["unscored"] else "")
        latest = row["latest"]
        if latest is None:
            yield row["name"], cases, "-", "-", "-"
        else:
            passed = f"{latest['passed']} of {latest['cases']}"
            yield row["name"], cases, latest["label"] or latest["id"], passed, ", ".join(latest["flaky"]) or "-"


def _result_cells(rows: Sequence[dict[str, Any]]) -> Iterator[Sequence[str]]:
    for row in rows:
        passed, state = f"{row['passed']} of {row['cases']}", row["stopped"] or ""
        datasets = ", ".join(row["datasets"])
        yield row["id"], row["label"] or "-", format_time(row["at"]), datasets, passed, f"{row['cost']:.6g}", state
