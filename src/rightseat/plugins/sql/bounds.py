"""Size limits of SQL statements, so that checking, rewriting and running them stay cheap.

Each limit is far above what a question needs: the largest of the project's examples has 150 nodes and 4 tables.
"""

from functools import cache

from sqlglot import exp

from rightseat.plugins.sql.functions import StatementRefused

MAX_CHARACTERS = 10_000
MAX_NODES = 4_000  # of the syntax tree
MAX_DEPTH = 200  # levels of the syntax tree; a chain of 200 ORs has as many
MAX_STARS = 50  # `*` and `t.*`; count(*) does not count
MAX_TABLES = 100  # tables of a WITH count once per use of the WITH
MAX_COLUMNS = 1_000  # of the result, with stars expanded; PostgreSQL allows 1,664, SQLite 2,000
MAX_WRITTEN_CHARACTERS = 200_000  # of the rewritten statement


def check_bound(name: str, count: int, limit: int) -> None:
    if count > limit:
        raise StatementRefused(
            f"The statement has {count:,} {name}; at most {limit:,} are allowed. Write a smaller one."
        )


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
    """Needs the final names of WITHs. WITHs that use each other twice double the number of tables."""
    ctes = {part.alias: part.this for part in tree.find_all(exp.CTE)}

    @cache
    def count(name: str) -> int:
        return count_tables(ctes[name], without=name)

    def count_tables(query: exp.Expr, without: str = "") -> int:
        tables = [node for node in query.walk(prune=is_with) if isinstance(node, exp.Table)]
        return sum(count(table.name) if table.name in ctes and table.name != without else 1 for table in tables)

    check_bound("tables, counting each WITH once per use", count_tables(tree), MAX_TABLES)


def is_with(node: exp.Expr) -> bool:
    return isinstance(node, exp.With)
