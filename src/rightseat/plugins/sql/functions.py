"""The functions that a query may call, by dialect, under their names in the rewritten statement.

Not allowed: functions that read or write anything but their arguments (files, settings, sequences, other sessions),
that wait, or that produce large values from small ones (`repeat`, `generate_series`, `printf`).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

DialectName = Literal["sqlite", "postgres", "mysql", "duckdb"]

Columns = Mapping[str, Sequence[str]]
"""The tables of a catalog with their columns."""


def split_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMON = split_names("""
        abs avg cast ceil ceiling coalesce count cume_dist dense_rank exp first_value floor greatest lag last_value
        lead least length ln log lower ltrim max min mod ntile nullif nth_value percent_rank pow power rank replace
        round row_number rtrim sign sqrt substring sum trim upper concat concat_ws
    """)  # fmt: skip

FUNCTIONS: dict[DialectName, frozenset[str]] = {
    "sqlite": _COMMON - {"greatest", "least"} | split_names("""
        date datetime group_concat hex ifnull iif instr julianday strftime substr time total typeof unicode
        unixepoch
    """),
    "postgres": _COMMON | split_names("""
        age array_length bool_and bool_or btrim char_length corr date_part date_trunc div extract initcap left
        make_date median mode percentile_cont percentile_disc position regr_slope right split_part starts_with
        stddev stddev_pop stddev_samp string_agg strpos to_char to_date to_number to_timestamp trunc try_cast
        var_pop var_samp variance width_bucket
    """),
    "mysql": _COMMON | split_names("""
        adddate char_length curdate date date_add date_format date_sub datediff day dayname dayofmonth dayofweek
        dayofyear extract field find_in_set format from_unixtime group_concat hour if ifnull instr last_day left
        locate makedate mid minute month monthname position quarter right second std stddev stddev_pop stddev_samp
        str_to_date subdate timestampadd timestampdiff to_days truncate unix_timestamp var_pop var_samp variance
        week weekday yearweek year
    """),
    "duckdb": _COMMON | split_names("""
        arg_max arg_min any_value approx_count_distinct bool_and bool_or contains corr date_diff date_part date_sub
        date_trunc datediff day dayname dayofmonth dayofweek dayofyear epoch extract first hour if ifnull instr
        isodow last last_day left listagg make_date max_by median min_by minute mode month monthname position
        quantile_cont quantile_disc quarter regr_slope right round_even second skewness split_part starts_with
        stddev stddev_pop stddev_samp strftime string_agg string_split strpos strptime time_bucket trunc try_cast
        try_strptime var_pop var_samp variance week weekofyear year
    """),
}  # fmt: skip

NO_PARENTHESES = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})
"""Functions that are called without parentheses."""

OPERATORS = frozenset({"like", "glob"})
"""Operators that SQLite's authorizer reports as functions."""

CTE_PREFIX = "rs_with_"
"""The start of the names that rewriting gives to WITHs."""


class StatementRefused(Exception):
    """The statement is not allowed. The text is for the model that wrote it."""
