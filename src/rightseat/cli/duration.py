"""Durations on the command line: `90d`, `24h`, `30m`, `0`."""

import re
from datetime import timedelta

import click

PATTERN = re.compile(r"(\d{1,6})([smhdw])|0")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        match = PATTERN.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is no duration. Write a number and a unit: 30m, 24h, 90d or 12w.", param, ctx)
        return timedelta() if match[1] is None else timedelta(**{UNITS[match[2]]: int(match[1])})
