"""`rightseat eval compare`: compares two results."""

import sys
from pathlib import Path

import click

from rightseat.cli import setup
from rightseat.cli.eval.reports import ReportFormat, format_comparison
from rightseat.cli.eval.stored_results import open_results
from rightseat.evals.comparison import compare

SHOWN = {"worse": ("worse",), "difference": ("better", "worse")}
"""The verdicts on which the command fails."""


@click.command()
@click.argument("a")
@click.argument("b")
@setup.file_option
@click.option("--fail-on", type=click.Choice(list(SHOWN)), help="Exit with 1 if B is shown to be worse, or to differ.")
@click.option("--format", "form", type=click.Choice(["table", "json", "markdown"]), default="table", show_default=True)
@click.option("-o", "output", type=click.Path(path_type=Path), help="Write the report to this file.")
def command(a: str, b: str, path: Path | None, fail_on: str | None, form: ReportFormat, output: Path | None) -> None:
    """Compare the results A and B: ids, labels, `last` or `last~1`.

    The cases are paired, and the test is exact. It exits with 0 whatever the verdict is, unless --fail-on is given.
    """
    with open_results(path) as results:
        comparison = compare(results.find_result(a), results.find_result(b))
    text = format_comparison(comparison, form)
    if output is None:
        click.echo(text)
    else:
        output.write_text(text + "\n", encoding="utf-8")
    sys.exit(int(comparison.verdict in SHOWN.get(fail_on or "", ())))
