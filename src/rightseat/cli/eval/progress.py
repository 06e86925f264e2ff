"""Reports on stderr how far an evaluation is: at a terminal in one line, elsewhere in a plain line now and then."""

import sys
import time
from collections import Counter

import click

from rightseat.evals.attempts import Outcome
from rightseat.evals.results import AttemptResult

INTERVAL_S = 10.0
"""Between two plain lines."""


class EvalProgress:
    def __init__(self, attempts: int) -> None:
        self._attempts = attempts
        self._outcomes: Counter[Outcome] = Counter()
        self._is_terminal = sys.stderr.isatty()
        self._shown_at = time.monotonic()

    def add(self, attempt: AttemptResult) -> None:
        self._outcomes[attempt.outcome] += 1
        if self._is_terminal:
            click.echo(f"\r\x1b[K{self._describe()}", err=True, nl=False)
        elif self._outcomes.total() < self._attempts and (now := time.monotonic()) - self._shown_at >= INTERVAL_S:
            self._shown_at = now
            click.echo(self._describe(), err=True)

    def end(self) -> None:
        click.echo(("\r\x1b[K" if self._is_terminal else "") + self._describe(), err=True)

    def _describe(self) -> str:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self._outcomes.items())
        return f"{self._outcomes.total()} of {self._attempts} attempts{f': {counts}' if counts else ''}"
