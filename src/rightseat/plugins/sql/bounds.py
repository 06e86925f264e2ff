"""How large a statement may be, so that checking, rewriting and running it stay cheap. What exceeds a bound is refused.

Each bound is far above what a question needs: the largest of the project's examples has 150 nodes and 4 tables.
"""

from functools import cache

from sqlglot import exp

from rightseat.plugins.sql.allowed import Refused

MAX_CHARACTERS = 10_000
MAX_NODES = 4_000  # of the syntax tree
MAX_DEPTH = 200  # levels of the syntax tree; a chain of 200 ORs has as many
MAX_STARS = 50  # `*` and `t.*`; count(*) is none
MAX_TABLES = 100  # those of a WITH counted each time that the WITH is read
MAX_COLUMNS = 1_000  # of the result, with every star written out; PostgreSQL takes 1,664, SQLite 2,000
MAX_WRITTEN_CHARACTERS = 200_000  # of what is run


def check_bound(name: str, count: int, most: int) -> None:
    if count > most:
        raise Refused(f"The statement has {count:,} {name}; at most {most:,} are allowed. Write a smaller one.")


def check_size(tree: exp.Expr) -> None:
    nodes = stars = tables = depth = 0
    level = [tree]
    while level:
        depth += 1
        nodes += len(level)
        stars += sum(isinstance(node, exp.Star) and not isinstance(node.parent, exp.Func) for node in level)
        tables += sum(isinstance(node, exp.Table) for node in level)
        level = [child for node in level for child in node.iter_expressions()]
    check_bound("stars", stars, MAX_STARS)
    check_bound("tables", tables, MAX_TABLES)
    check_bound("levels of nesting", depth, MAX_DEPTH)
    check_bound("words and names", nodes, MAX_NODES)


def check_tables_read(tree: exp.Expr) -> None:
    """Of a tree whose WITHs have their final names. WITHs that read each other twice double what is read."""
    withs = {part.alias: part.this for part in tree.find_all(exp.CTE)}

    @cache
    def count(name: str) -> int:
        return read_by(withs[name], without=name)

    def read_by(query: exp.Expr, without: str = "") -> int:
        tables = [node for node in query.walk(prune=is_with) if isinstance(node, exp.Table)]
        return sum(count(table.name) if table.name in withs and table.name != without else 1 for table in tables)

    check_bound("tables, each WITH counted as often as it is read", read_by(tree), MAX_TABLES)


def is_with(node: exp.Expr) -> bool:
    return isinstance(node, exp.With)
