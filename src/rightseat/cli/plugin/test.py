"""`rightseat plugin test`: runs the test cases of plugins."""

import asyncio
from pathlib import Path

import click

from rightseat.cli.plugin import lib_option
from rightseat.cli.plugin.report import select_folders
from rightseat.core.errors import ConfigError
from rightseat.plugins import testing


@click.command("test")
@click.argument("folders", metavar="DIR...", type=click.Path(path_type=Path), nargs=-1, required=True)
@lib_option
def command(folders: tuple[Path, ...], allow_lib: bool) -> None:
    """Run the cases in DIR/tests/cases.yaml.

    Cases need no network and no model. Exits with status 1 if one fails.
    """
    failed = blocked = 0
    for folder in select_folders(folders):
        try:
            reports = asyncio.run(testing.run_all(folder, allow_lib=allow_lib))
        except OSError as error:
            raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
        for report in reports:
            click.echo(f"{'passed' if report.passed else 'FAILED'}  {folder.name}: {report.name}")
            for problem in report.problems:
                click.echo(f"        {problem}")
        failed += sum(not report.passed for report in reports)
        blocked += not allow_lib and (folder / "lib").is_dir()
        click.echo(f"{folder}: {len(reports)} cases" if reports else f"{folder}: no cases ({testing.FILE})")
    if failed and blocked:
        click.echo("Flows that use the Python code in lib only run with --allow-lib.", err=True)
    if failed:
        raise SystemExit(1)
