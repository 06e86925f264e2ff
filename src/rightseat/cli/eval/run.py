"""`rightseat eval run`: replays the cases of datasets, and scores and reports the answers."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path

import click

from rightseat.app import users
from rightseat.app.builder import prices_of
from rightseat.cli import setup
from rightseat.cli.eval import WRONG_FILES, clean_lines
from rightseat.cli.eval.progress import EvalProgress
from rightseat.cli.eval.reports import FORMATS, ReportFormat, format_result
from rightseat.config import FILE, Config
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.evals.cases import MissingPolicy
from rightseat.evals.dataset import list_datasets, read_dataset
from rightseat.evals.eval_meter import Budget, EvalMetering
from rightseat.evals.replay_runtime import open_replay_runtime
from rightseat.evals.replayed_case import check_case
from rightseat.evals.result_store import ResultStore
from rightseat.evals.results import EvalResult, Variant
from rightseat.evals.runner import EvalRunner, PlannedCase, RunSettings, plan
from rightseat.evals.scorers import check_scorers
from rightseat.evals.variants import describe_settings, load_variant, with_model
from rightseat.limits.ledger import Ledger

FAILED, NOT_JUDGED, INTERRUPTED = 1, 3, 130
USAGE_DELAY_S = 1.0
MANY = click.IntRange(1, 1000)
AMOUNT = click.FloatRange(min=0, min_open=True)
SHARE = click.FloatRange(0, 1)
POLICY = click.Choice(["fail", "stub", "live"])


@click.command()
@click.argument("datasets", nargs=-1)
@setup.file_option
@click.option("--case", "pattern", default="*", help="Only the cases whose names match, such as `refund-*`.")
@click.option("--model", help="The model of the agents that the cases ask.")
@click.option(
    "--set", "values", multiple=True, metavar="KEY=VALUE", help="Another value, as agents.default.max_turns=3."
)
@click.option("--label", help="A name for the result, for `eval compare`.")
@click.option("--repeat", type=MANY, default=1, show_default=True, help="Attempts of each case.")
@click.option("--concurrency", type=MANY, default=4, show_default=True, help="Attempts at once.")
@click.option("--budget", type=AMOUNT, help="The most that the models may cost, in the currency of `prices`.")
@click.option("--missing", type=POLICY, help="What a call without a recording gets, for all cases.")
@click.option("--threshold", type=SHARE, default=1.0, show_default=True, help="The share of cases that must pass.")
@click.option("--fresh", is_flag=True, help="Ask the models anew, also for attempts that are stored.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("-o", "output", type=click.Path(path_type=Path), help="Write the report to this file.")
def command(
    datasets: tuple[str, ...],
    path: Path | None,
    pattern: str,
    model: str | None,
    values: tuple[str, ...],
    label: str | None,
    repeat: int,
    concurrency: int,
    budget: float | None,
    missing: MissingPolicy | None,
    threshold: float,
    fresh: bool,
    form: ReportFormat,
    output: Path | None,
) -> None:
    """Replay the cases of DATASETS, by default of all, and score the answers.

    Models are asked, tools are answered from the recordings, and nothing is stored but attempts and the result.
    Exit codes: 0 passed, 1 below the threshold, 2 files or options are wrong, 3 not judged (budget, provider or judge
    failed), 130 interrupted.
    """
    setup.set_up_logging(level="error")
    try:
        config, cases = prepare(datasets, path, pattern, model, values, missing)
        if budget is not None:
            check_prices(config)
    except RightseatError as error:
        click.echo(clean_lines(error.message), err=True)
        sys.exit(WRONG_FILES)
    if config.hooks.before_request or config.hooks.after_request or config.hooks.on_error:
        click.echo("The `hooks` of the configuration do not run in evaluations: they may have effects.", err=True)
    variant = Variant(config=str(path or FILE), model=model, set=values, settings=describe_settings(config))
    progress = EvalProgress(len(cases) * repeat)
    settings = RunSettings(repeat, concurrency, fresh)
    result = asyncio.run(run(config, cases, settings, variant, label, budget, progress))
    report = format_result(result, form)
    if output is None:
        click.echo(report)
    else:
        output.write_text(report, encoding="utf-8")
    sys.exit(find_exit_code(result, threshold))


def prepare(
    datasets: Sequence[str],
    path: Path | None,
    pattern: str,
    model: str | None,
    values: Sequence[str],
    missing: MissingPolicy | None,
) -> tuple[Config, list[PlannedCase]]:
    """Raises `RightseatError` if files or options are wrong."""
    setup.add_to_import_path(path)
    config = load_variant(path, values)
    folder = config.evals_folder
    names = datasets or list_datasets(folder)
    files = [read_dataset(folder, name) for name in dict.fromkeys(names)]
    check_scorers(files, config.models)
    cases = [
        planned
        for file in files
        for planned in plan(file, lambda name: fnmatchcase(name, pattern), list(config.agents), missing)
    ]
    if not cases:
        raise ConfigError(f"There is no case {pattern!r} in {', '.join(names) or f'{folder}/'}.")
    for case in cases:
        check_case(case.case)
        if case.agent not in config.agents:
            raise ConfigError(
                f"{case.file.path}: the case {case.case.name!r} asks the agent {case.agent!r}, which is not configured."
            )
    return (with_model(config, {case.agent for case in cases}, model) if model else config), cases


def check_prices(config: Config) -> None:
    """Raises `ConfigError` for a model without a price: a budget could not bound it."""
    prices = prices_of(config)
    unpriced = [
        name
        for name, part in config.models.items()
        if not hasattr(part.options, "models") and prices.find(name, str(getattr(part.options, "model", ""))) is None
    ]
    if unpriced:
        raise ConfigError(f"--budget needs the price of every model. Add {', '.join(unpriced)} under `prices`.")


async def run(
    config: Config,
    cases: Sequence[PlannedCase],
    settings: RunSettings,
    variant: Variant,
    label: str | None,
    budget: float | None,
    progress: EvalProgress,
) -> EvalResult:
    with ResultStore(config.server.state_dir / "evals") as store:
        async with opened_ledger(config) as ledger, open_replay_runtime(config) as replay:
            metering = EvalMetering(prices_of(config), config.limits_reserve, Budget(budget), ledger)
            runner = EvalRunner(replay, store, metering, settings, progress.add)
            with stopping_at_interrupt(runner.stop):
                result = await runner.run(cases, variant, label)
        progress.end()
        return result


@contextmanager
def stopping_at_interrupt(stop: asyncio.Event) -> Iterator[None]:
    """The first Ctrl-C ends the evaluation with what there is, the second one the process."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stop.set()

    with suppress(NotImplementedError):  # Windows: Ctrl-C ends the process, and attempts are kept
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)


@asynccontextmanager
async def opened_ledger(config: Config) -> AsyncIterator[Ledger | None]:
    """The usage report; None if the server keeps none."""
    if not (config.limits or any(face.type == "usage" for face in config.faces)):
        yield None
        return
    async with users.opened_store(config) as store:
        store.limits.zone = config.timezone
        async with Ledger(store.limits, USAGE_DELAY_S) as ledger:
            yield ledger


def find_exit_code(result: EvalResult, threshold: float) -> int:
    totals = result.totals
    if result.stopped == "interrupted":
        return INTERRUPTED
    if not result.complete or totals.errors:
        return NOT_JUDGED
    return 0 if totals.pass_rate >= threshold - 1e-9 else FAILED
