"""The command of a suite in Python: which scenarios run, what is printed of each, and the exit code.

A scenario's line begins with `ok`, `FAIL`, `skip` or `beyond` (the peer is known to fail here) and its name; the last
line is `N passed, N failed[, N skipped]`. The exit code is 0 where nothing failed, 1 where something did, and 2 where
nothing could be judged.
"""

import argparse
import asyncio
import fnmatch
import json
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tests.acceptance._lib.processes import Server

MESSAGE_LIMIT = 900


class Skip(Exception):
    """Raised by a scenario that does not apply to what is judged. It passes, with the reason in its line."""


@dataclass(frozen=True)
class Scenario:
    name: str
    about: str
    run: Callable[..., Any]
    group: str = ""
    beyond: bool = False
    """The peer is known to get it wrong."""
    peer: bool = False
    """The peer can be judged by it."""
    quick: bool = False
    alone: bool = False
    """It measures time or ends its server, so that nothing else may run beside it."""
    needs: str = ""
    """The suite's name for what must be there."""


class Scenarios(dict[str, Scenario]):
    """A suite's scenarios, by name, in the order in which they run."""

    def add(self, name: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator; the function's docstring says what the scenario asserts."""

        def register(run: Callable[..., Any]) -> Callable[..., Any]:
            assert name not in self, f"two scenarios with the name {name}"
            self[name] = Scenario(name, " ".join((run.__doc__ or "").split()), run, **more)
            return run

        return register


@dataclass
class Outcome:
    """`outcome` is what the line begins with; `note` is shown of every outcome, `message` says what is wrong."""

    name: str
    outcome: str
    message: str = ""
    note: str = ""
    seconds: float = 0.0
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        note = f" [{self.note}]" if self.note else ""
        message = f": {' '.join(self.message.split())[:MESSAGE_LIMIT]}" if self.message else ""
        return f"{self.outcome:<6} {self.name} ({self.seconds:.1f} s){note}{message}"


def add_options(parser: argparse.ArgumentParser, groups: Iterable[str] = ()) -> None:
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    parser.add_argument("--json", metavar="FILE", help="write the outcomes there")
    words = f", or groups: {', '.join(groups)}" if groups else ""
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"names or patterns{words}")


def choose(scenarios: Mapping[str, Scenario], wanted: Sequence[str]) -> list[Scenario]:
    """Those with a name that fits one of the patterns, or of a group that is named; all where nothing is wanted."""
    if unknown := [word for word in wanted if not any(_fits(scenario, word) for scenario in scenarios.values())]:
        fail(f"no such scenario: {', '.join(unknown)}")
    return [one for one in scenarios.values() if not wanted or any(_fits(one, word) for word in wanted)]


def _fits(scenario: Scenario, word: str) -> bool:
    return scenario.group == word or fnmatch.fnmatchcase(scenario.name, word)


def read_skips(suite: Path, is_known: Callable[[str], bool]) -> dict[str, str]:
    """Why scenarios are left out, by name or pattern: lines of skips.txt with two spaces or more before the reason."""
    lines = [line.strip() for line in (suite / "skips.txt").read_text().splitlines()]
    pairs = [re.split(r"\s{2,}", line, maxsplit=1) for line in lines if line and not line.startswith("#")]
    if unknown := [pair[0] for pair in pairs if not is_known(pair[0])]:
        fail(f"skips.txt names what is no scenario: {', '.join(unknown)}")
    if silent := [pair[0] for pair in pairs if len(pair) == 1]:
        fail(f"skips.txt gives no reason for {', '.join(silent)}")
    return dict(pairs)


def leave_out(
    chosen: Sequence[Scenario], skips: Mapping[str, str], is_silent: bool = False
) -> tuple[list[Scenario], list[Outcome]]:
    """The others, and the outcomes of those that are left out, which are printed unless `is_silent`."""
    left = [Outcome(one.name, "skip", skips[one.name]) for one in chosen if one.name in skips]
    for outcome in left if not is_silent else ():
        report(outcome)
    return [one for one in chosen if one.name not in skips], left


def judge(
    scenario: Scenario, run: Callable[[], object], describe: Callable[[Exception], str], is_peer: bool = False
) -> Outcome:
    """`describe` gives the message of an exception. The line is not printed yet: `report` does that."""
    began, outcome = time.monotonic(), Outcome(scenario.name, "ok")
    try:
        run()
    except Skip as reason:
        outcome.note = f"skipped: {reason}"
    except Exception as error:
        outcome.outcome = "beyond" if is_peer and scenario.beyond else "FAIL"
        outcome.message = describe(error) or type(error).__name__
    outcome.seconds = time.monotonic() - began
    return outcome


def explain(error: Exception) -> str:
    if isinstance(error, AssertionError):
        return str(error) or "an assertion"
    return f"expected an answer, got {type(error).__name__}: {error}"


def report(outcome: Outcome) -> Outcome:
    print(outcome.line, flush=True)
    return outcome


def judge_each(
    chosen: Sequence[Scenario], judge_one: Callable[[Scenario], Outcome], server: Server | None, may_end: str = ""
) -> list[Outcome]:
    """One after another while the server lives; the others fail. The scenario `may_end` ends it."""
    outcomes: list[Outcome] = []
    for scenario in chosen:
        outcomes.append(report(judge_one(scenario)))
        if server and not server.is_alive() and scenario.name != may_end:
            code = server.process.returncode if server.process else None
            print(f"the server ended with code {code}:\n{server.tail()}", flush=True)
            outcomes += [Outcome(one.name, "FAIL", "not judged") for one in chosen[len(outcomes) :]]
            break
    return outcomes


def leave_folder(folder: Path, is_kept: bool) -> None:
    """The folder with the logs of servers that may have failed."""
    if is_kept:
        print(f"the servers' logs are in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def conclude(suite: str, outcomes: Sequence[Outcome], began: float, json_file: str | None = None, **more: Any) -> int:
    """Print the last line and write the file; the exit code."""
    count = {word: sum(one.outcome == word for one in outcomes) for word in ("ok", "FAIL", "skip", "beyond")}
    if json_file:
        totals = {"passed": count["ok"], "failed": count["FAIL"], "skipped": count["skip"], "beyond": count["beyond"]}
        head = {"suite": suite, "seconds": round(time.monotonic() - began, 1), **totals}
        scenarios = [asdict(outcome) for outcome in outcomes]
        Path(json_file).write_text(json.dumps({**head, **more, "scenarios": scenarios}, indent=1, default=str) + "\n")
    if count["beyond"]:
        print(f"{count['beyond']} beyond the reference")
    print_totals(count["ok"], count["FAIL"], count["skip"])
    return 1 if count["FAIL"] else 0


def print_totals(passed: int, failed: int, skipped: int = 0) -> None:
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


def fail(message: str) -> NoReturn:
    """Nothing can be judged."""
    print(message, file=sys.stderr)
    raise SystemExit(2)


def exit_on_sigterm() -> None:
    """So that what was started is ended: `finally` runs."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def cancel_on_signals() -> None:
    """The same for the task that calls this."""
    task = asyncio.current_task()
    assert task
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)


def short(value: Any, limit: int = 400) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < limit else f"{text[: limit - 100]} ... {text[-80:]}"


def expect(holds: Any, expected: str, got: Any = "") -> None:
    if not holds:
        raise AssertionError(f"expected {expected}, got {short(got)}")


def until(probe: Callable[[], Any], expected: str, seconds: float = 20, every: float = 0.02) -> Any:
    """What `probe` returns once it is true."""
    end = time.monotonic() + seconds
    while not (got := probe()):
        expect(time.monotonic() < end, f"{expected} within {seconds:g} s", got)
        time.sleep(every)
    return got
