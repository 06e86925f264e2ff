"""The first guard of a query: what a model wrote is taken apart, judged, and written anew.

The model's own text is never run. Whatever its tree holds must be on a list: kinds of nodes, their parts, types,
functions, tables. What is not known is refused, so that a parser that learns new words opens no door. The second guard
is the engine's own (`engines/`), because a parser and an engine may read one text in two ways.

It runs in a child process (`checker.py`): the parser takes seconds and gigabytes for some statements.
"""

import re

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from rightseat.plugins.sql import bounds, rewriting
from rightseat.plugins.sql.allowed import BARE, FUNCTIONS, OURS, Columns, Dialect, Refused, words


def guard(sql: str, columns: Columns, dialect: Dialect, rows: int, schema: str = "") -> str:
    """The statement to run, which gives one row more than `rows` where there are more. Raises `Refused`."""
    try:
        bounds.check_bound("characters", len(sql), bounds.MAX_CHARACTERS)
        tree = parse(sql, dialect)
        bounds.check_size(tree)
        check(tree, dialect)
        rewriting.name_outputs(tree, columns, dialect)
        rewriting.narrow(tree, columns, dialect, schema)
        bounds.check_tables_read(tree)
        written = write(rewriting.limit(tree, rows + 1), dialect)
        bounds.check_bound("characters in the form that is run", len(written), bounds.MAX_WRITTEN_CHARACTERS)
        check_again(written, columns, dialect, schema)
    except RecursionError:
        most = bounds.MAX_DEPTH
        raise Refused(f"The statement is nested too deeply; at most {most} levels are allowed.") from None
    return written


def parse(sql: str, dialect: Dialect) -> exp.Expr:
    if "\0" in sql:
        raise Refused("The statement has the character NUL. Leave it out.")
    try:
        trees = sqlglot.parse(sql, dialect=dialect)
    except SqlglotError as error:
        said = re.sub(r"\x1b\[\d*m", "", str(error)).split("\n")[0][:200]
        raise Refused(f"The statement cannot be parsed: {said}") from None
    statements = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1:
        raise Refused(f"Exactly one SELECT is run, and this is {len(statements)} statements.")
    (tree,) = statements
    if isinstance(tree, exp.Subquery) and any(tree.args.get(part) for part in ("with_", "order", "limit", "offset")):
        raise Refused("Leave out the parentheses around the statement.")
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        raise Refused(f"Only a SELECT is run here, and this is {tree.key.upper()}.")
    return tree


def write(tree: exp.Expr, dialect: Dialect) -> str:
    try:
        return tree.sql(dialect=dialect, identify=True, comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except SqlglotError as error:
        raise Refused(f"The statement cannot be written for {dialect}: {error}") from None


def check(tree: exp.Expr, dialect: Dialect) -> None:
    for node in tree.walk():
        if isinstance(node, exp.Func) and type(node) not in NODES:
            check_function(node, dialect)
        elif type(node) not in NODES:
            raise Refused(f"{name_of(node)} cannot be used here.")
        allowed = PARTS.get(type(node))
        if allowed is not None:
            more = [part for part, value in node.args.items() if value and part not in allowed]
            if more:
                raise Refused(f"{', '.join(more).upper()} cannot be used with {name_of(node)} here.")
        if isinstance(node, exp.Var) and not WORD.fullmatch(node.name):
            raise Refused(f"{node.name[:40]!r} is no word of SQL.")
        if isinstance(node, exp.Literal) and not node.is_string and not NUMBER.fullmatch(node.name):
            raise Refused(f"{node.name[:40]!r} is no number.")
        if isinstance(node, exp.DataType) and node.this not in TYPES:
            raise Refused(f"The type {node.sql(dialect=dialect)} cannot be used here.")


def check_function(node: exp.Func, dialect: Dialect) -> None:
    """By the name under which it will be called, which may be another than the model wrote."""
    written = node.sql(dialect=dialect, comments=False, normalize_functions="lower")
    name = re.match(r"[A-Za-z_][A-Za-z0-9_]*", written)
    called = name.group().lower() if name else written
    rest = written[len(called) :].lstrip()
    if called in BARE and (not rest or rest.startswith("(")):
        return
    if called not in FUNCTIONS[dialect] or not rest.startswith("("):
        shown = called if name else name_of(node)
        raise Refused(f"The function {shown} cannot be used here.")


def check_again(written: str, columns: Columns, dialect: Dialect, schema: str) -> None:
    """What will be run is read once more, as if somebody else had written it."""
    tree = parse(written, dialect)
    check(tree, dialect)
    for table in tree.find_all(exp.Table):
        is_listed = table.name in columns and table.db == schema
        if not is_listed and not (table.name.startswith(OURS) and not table.db):
            raise Refused(f"There is no table {table.name}.")
    check_words(written, dialect)


def check_words(written: str, dialect: Dialect) -> None:
    """Once more, on the words of what will be run: only functions that are allowed stand before a parenthesis."""
    tokens = sqlglot.tokenize(written, dialect=dialect)
    for before, word, following in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if following.token_type is not TokenType.L_PAREN or word.token_type is TokenType.STRING:
            continue
        name = word.text.lower()
        if word.token_type is TokenType.IDENTIFIER:  # names before a list of columns: WITH x (a, b), AS x (a, b)
            is_allowed = name.startswith(OURS) or (before is not None and before.token_type is TokenType.ALIAS)
        else:
            is_allowed = not re.match(r"[a-z_]", name) or name in FUNCTIONS[dialect] or name in BARE | BEFORE
        if not is_allowed:
            raise Refused(f"The function {name} cannot be used here.")
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise Refused("Exactly one SELECT is run.")


WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*")
NUMBER = re.compile(r"\d*\.?\d*([eE][+-]?\d+)?")


def name_of(node: exp.Expr) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()


BEFORE = words("""
    all and any as between by case char decimal distinct else except exists filter from having in intersect interval
    is join like glob not numeric on or order over partition select separator set sets some then union using varchar
    when where within group rollup cube limit offset recursive escape materialized time timestamp with nchar binary
    double
""")  # fmt: skip
"""Words of SQL that may stand before a parenthesis and are no functions."""

NODES: frozenset[type[exp.Expr]] = frozenset({
    exp.Add, exp.Alias, exp.All, exp.And, exp.Any, exp.AtTimeZone, exp.Between, exp.Boolean, exp.Case, exp.Cast,
    exp.Column, exp.CTE, exp.Cube, exp.DataType, exp.DataTypeParam, exp.Distinct, exp.Div, exp.DPipe, exp.EQ,
    exp.Escape, exp.Except, exp.Exists, exp.Fetch, exp.Filter, exp.From, exp.Glob, exp.Group, exp.GroupingSets,
    exp.GT, exp.GTE, exp.Having, exp.Identifier, exp.If, exp.ILike, exp.In, exp.IntDiv, exp.Intersect, exp.Interval,
    exp.Is, exp.Join, exp.Like, exp.Limit, exp.Literal, exp.LT, exp.LTE, exp.Mod, exp.Mul, exp.Neg, exp.NEQ,
    exp.Not, exp.Null, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Offset, exp.Or, exp.Order, exp.Ordered, exp.Paren,
    exp.Qualify, exp.Rollup, exp.Select, exp.Star, exp.Sub, exp.Subquery, exp.Table, exp.TableAlias, exp.TryCast,
    exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.Tuple, exp.Union, exp.Var, exp.Where, exp.Window, exp.WindowSpec,
    exp.With, exp.WithinGroup,
})  # fmt: skip

_QUERY = {"with_", "order", "limit", "offset"}

PARTS: dict[type[exp.Expr], set[str]] = {
    exp.Select: {*_QUERY, "expressions", "from_", "joins", "where", "group", "having", "distinct", "qualify"},
    exp.Union: {*_QUERY, "this", "expression", "distinct"},
    exp.Intersect: {*_QUERY, "this", "expression", "distinct"},
    exp.Except: {*_QUERY, "this", "expression", "distinct"},
    exp.Subquery: {*_QUERY, "this", "alias"},
    exp.Table: {"this", "db", "alias"},
    exp.Join: {"this", "side", "kind", "method", "on", "using"},
    exp.With: {"expressions", "recursive"},
    exp.CTE: {"this", "alias", "materialized"},
    exp.Distinct: {"expressions", "on"},
    exp.Limit: {"expression"},
    exp.Fetch: {"direction", "count"},
    exp.Column: {"this", "table"},
    exp.Star: set(),
    exp.Cast: {"this", "to"},
    exp.TryCast: {"this", "to", "requires_string"},
}

TYPES = frozenset(
    exp.DataType.Type[name]
    for name in words("""
        BIGINT BOOLEAN CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INT INTERVAL SMALLINT TEXT TIME TIMESTAMP TIMESTAMPTZ
        TINYINT UBIGINT UINT UUID VARCHAR NCHAR NVARCHAR INT128 TIMESTAMPNTZ TIMESTAMPLTZ
    """)
)
