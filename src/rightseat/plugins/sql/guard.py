"""The first check of a query: parses the model's statement, allows only listed constructs, and rewrites it.

The model's own text is never run. Every part of the syntax tree must be on an allow list: node types, their arguments,
data types, functions, tables. Unknown constructs are refused, so a parser update cannot allow more. The second check is
the database's own (`dialects/`), because a parser and a database may read one text differently.

It runs in a child process (`checker.py`): the parser takes seconds and gigabytes for some statements.
"""

import re

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from rightseat.plugins.sql import bounds, rewrite
from rightseat.plugins.sql.functions import (
    CTE_PREFIX,
    FUNCTIONS,
    NO_PARENTHESES,
    Columns,
    DialectName,
    StatementRefused,
    split_names,
)


def check_statement(sql: str, columns: Columns, dialect: DialectName, max_rows: int, schema: str = "") -> str:
    """Return the statement to run, limited to `max_rows` + 1 rows to detect more. Raises `StatementRefused`."""
    try:
        bounds.check_bound("characters", len(sql), bounds.MAX_CHARACTERS)
        tree = parse(sql, dialect)
        bounds.check_size(tree)
        check_tree(tree, dialect)
        rewrite.name_outputs(tree, columns, dialect)
        rewrite.restrict_tables(tree, columns, dialect, schema)
        bounds.check_tables_read(tree)
        written = write(rewrite.add_limit(tree, max_rows + 1), dialect)
        bounds.check_bound("characters after rewriting", len(written), bounds.MAX_WRITTEN_CHARACTERS)
        check_written(written, columns, dialect, schema)
    except RecursionError:
        limit = bounds.MAX_DEPTH
        raise StatementRefused(f"The statement is nested too deeply; at most {limit} levels are allowed.") from None
    return written


def parse(sql: str, dialect: DialectName) -> exp.Expr:
    if "\0" in sql:
        raise StatementRefused("The statement contains the character NUL. Remove it.")
    try:
        trees = sqlglot.parse(sql, dialect=dialect)
    except SqlglotError as error:
        message = re.sub(r"\x1b\[\d*m", "", str(error)).split("\n")[0][:200]
        raise StatementRefused(f"The statement cannot be parsed: {message}") from None
    statements = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1:
        raise StatementRefused(f"Exactly one SELECT is allowed; these are {len(statements)} statements.")
    (tree,) = statements
    if isinstance(tree, exp.Subquery) and any(tree.args.get(part) for part in ("with_", "order", "limit", "offset")):
        raise StatementRefused("Leave out the parentheses around the statement.")
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        raise StatementRefused(f"Only SELECT is allowed; this is {tree.key.upper()}.")
    return tree


def write(tree: exp.Expr, dialect: DialectName) -> str:
    try:
        return tree.sql(dialect=dialect, identify=True, comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except SqlglotError as error:
        raise StatementRefused(f"The statement cannot be written for {dialect}: {error}") from None


def check_tree(tree: exp.Expr, dialect: DialectName) -> None:
    for node in tree.walk():
        if isinstance(node, exp.Func) and type(node) not in NODES:
            check_function(node, dialect)
        elif type(node) not in NODES:
            raise StatementRefused(f"{describe_node(node)} is not allowed.")
        allowed = PARTS.get(type(node))
        if allowed is not None:
            more = [part for part, value in node.args.items() if value and part not in allowed]
            if more:
                raise StatementRefused(f"{', '.join(more).upper()} is not allowed with {describe_node(node)}.")
        if isinstance(node, exp.Var) and not WORD.fullmatch(node.name):
            raise StatementRefused(f"{node.name[:40]!r} is not an SQL keyword.")
        if isinstance(node, exp.Literal) and not node.is_string and not NUMBER.fullmatch(node.name):
            raise StatementRefused(f"{node.name[:40]!r} is not a number.")
        if isinstance(node, exp.DataType) and node.this not in TYPES:
            raise StatementRefused(f"The type {node.sql(dialect=dialect)} is not allowed.")


def check_function(node: exp.Func, dialect: DialectName) -> None:
    """Check the name in the rewritten statement, which may differ from the model's."""
    written = node.sql(dialect=dialect, comments=False, normalize_functions="lower")
    name = re.match(r"[A-Za-z_][A-Za-z0-9_]*", written)
    function = name.group().lower() if name else written
    rest = written[len(function) :].lstrip()
    if function in NO_PARENTHESES and (not rest or rest.startswith("(")):
        return
    if function not in FUNCTIONS[dialect] or not rest.startswith("("):
        shown = function if name else describe_node(node)
        raise StatementRefused(f"The function {shown} is not allowed.")


def check_written(written: str, columns: Columns, dialect: DialectName, schema: str) -> None:
    """Check the rewritten statement once more, like a foreign one."""
    tree = parse(written, dialect)
    check_tree(tree, dialect)
    for table in tree.find_all(exp.Table):
        is_listed = table.name in columns and table.db == schema
        if not is_listed and not (table.name.startswith(CTE_PREFIX) and not table.db):
            raise StatementRefused(f"There is no table {table.name}.")
    check_tokens(written, dialect)


def check_tokens(written: str, dialect: DialectName) -> None:
    """Check the tokens of the rewritten statement: only allowed functions stand before a parenthesis."""
    tokens = sqlglot.tokenize(written, dialect=dialect)
    for previous, token, following in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if following.token_type is not TokenType.L_PAREN or token.token_type is TokenType.STRING:
            continue
        name = token.text.lower()
        if token.token_type is TokenType.IDENTIFIER:  # names before a list of columns: WITH x (a, b), AS x (a, b)
            is_allowed = name.startswith(CTE_PREFIX) or (
                previous is not None and previous.token_type is TokenType.ALIAS
            )
        else:
            is_allowed = (
                not re.match(r"[a-z_]", name)
                or name in FUNCTIONS[dialect]
                or name in NO_PARENTHESES | KEYWORDS_BEFORE_PARENTHESIS
            )
        if not is_allowed:
            raise StatementRefused(f"The function {name} is not allowed.")
    if any(one.token_type is TokenType.SEMICOLON for one in tokens):
        raise StatementRefused("Exactly one SELECT is run.")


WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*")
NUMBER = re.compile(r"\d*\.?\d*([eE][+-]?\d+)?")


def describe_node(node: exp.Expr) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()


KEYWORDS_BEFORE_PARENTHESIS = split_names("""
    all and any as between by case char decimal distinct else except exists filter from having in intersect interval
    is join like glob not numeric on or order over partition select separator set sets some then union using varchar
    when where within group rollup cube limit offset recursive escape materialized time timestamp with nchar binary
    double
""")  # fmt: skip

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
    for name in split_names("""
        BIGINT BOOLEAN CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INT INTERVAL SMALLINT TEXT TIME TIMESTAMP TIMESTAMPTZ
        TINYINT UBIGINT UINT UUID VARCHAR NCHAR NVARCHAR INT128 TIMESTAMPNTZ TIMESTAMPLTZ
    """)
)
