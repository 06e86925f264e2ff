"""`rightseat plugin test`"""

import asyncio
from pathlib import Path

import click

from rightseat.cli.plugin import lib_option
from rightseat.cli.plugin.telling import only_folders
from rightseat.core.errors import ConfigError
from rightseat.plugins import cases


@click.command("test")
@click.argument("folders", metavar="DIR...", type=click.Path(path_type=Path), nargs=-1, required=True)
@lib_option
def command(folders: tuple[Path, ...], allow_lib: bool) -> None:
    """Run the cases in DIR/tests/cases.yaml.

    They need no network and no model. Ends with 1 where one of them fails.
    """
    failed = waiting = 0
    for folder in only_folders(folders):
        try:
            reports = asyncio.run(cases.run_all(folder, allow_lib=allow_lib))
        except OSError as error:
            raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
        for report in reports:
            click.echo(f"{'passed' if report.passed else 'FAILED'}  {folder.name}: {report.name}")
            for problem in report.problems:
                click.echo(f"        {problem}")
        failed += sum(not report.passed for report in reports)
        waiting += not allow_lib and (folder / "lib").is_dir()
        click.echo(f"{folder}: {len(reports)} cases" if reports else f"{folder}: there are no cases ({cases.FILE})")
    if failed and waiting:
        click.echo("Flows that use the Python code in lib run with --allow-lib only.", err=True)
    if failed:
        raise SystemExit(1)
