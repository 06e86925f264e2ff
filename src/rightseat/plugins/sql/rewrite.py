"""Rewrites a checked statement so that it can only read the catalog, whatever its names mean.

Every table becomes a subquery of its listed columns: others do not exist, not even for `*`. Every `WITH` is renamed, so
that none can stand for a system table. Column names must be known, because PostgreSQL reads `a.f` as `f(a)`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from rightseat.plugins.sql.bounds import MAX_COLUMNS, check_bound
from rightseat.plugins.sql.functions import CTE_PREFIX, Columns, DialectName, StatementRefused

RenamedCtes = Mapping[str, tuple[str, exp.Expr]]
"""By the original name of a WITH: its new name, and the query that it belongs to."""


def add_limit(tree: exp.Expr, rows: int) -> exp.Expr:
    """The inner query gets a limit too: MariaDB ignores the order of a subquery without one."""
    inner = tree.unnest() if isinstance(tree, exp.Subquery) else tree
    if isinstance(inner, exp.Query) and not inner.args.get("limit"):
        inner = inner.limit(rows, copy=False)
    return exp.select("*").from_(exp.Subquery(this=inner, alias=alias("result"))).limit(rows)


def restrict_tables(tree: exp.Expr, columns: Columns, dialect: DialectName, schema: str) -> None:
    """Raises `StatementRefused` for a table or column that is not in the catalog."""
    ctes = rename_ctes(tree, columns, dialect)
    tables = [(node, find_table(node, columns, dialect, schema, ctes)) for node in list(tree.find_all(exp.Table))]
    check_columns(tree, [(node.alias_or_name, name) for node, name in tables if name in columns], columns, dialect)
    for node, name in tables:
        shown = node.alias_or_name
        if name in columns:
            node.replace(exp.Subquery(this=select_columns(name, columns[name], schema), alias=alias(shown)))
        else:
            node.replace(exp.Table(this=identifier(name), alias=alias(shown)))


def find_table(table: exp.Table, columns: Columns, dialect: DialectName, schema: str, ctes: RenamedCtes) -> str:
    """Return the name in the catalog, or the new name of a WITH."""
    if not isinstance(table.this, exp.Identifier):
        raise StatementRefused("FROM allows only tables of the catalog, no functions.")
    alias_node = table.args.get("alias")
    if alias_node is not None and alias_node.args.get("columns"):
        raise StatementRefused("The columns of a table cannot be renamed in FROM; rename them with AS.")
    name = fold_name(table.name, dialect)
    if table.db:
        if not schema or fold_name(table.db, dialect) != fold_name(schema, dialect):
            raise StatementRefused(f"The schema {table.db} cannot be read. Write table names without a schema.")
    elif name in ctes:
        cte_name, query = ctes[name]
        if not any(query is one for one in ancestors(table)):
            raise StatementRefused(f"The WITH {table.name} is out of scope where it is used.")
        return cte_name
    known = {fold_name(one, dialect): one for one in columns}
    if name not in known:
        raise StatementRefused(f"There is no table {table.name}. The tables are: {', '.join(columns)}.")
    return known[name]


def rename_ctes(tree: exp.Expr, columns: Columns, dialect: DialectName) -> RenamedCtes:
    renamed: dict[str, tuple[str, exp.Expr]] = {}
    table_names = {fold_name(name, dialect) for name in columns}
    for number, part in enumerate(list(tree.find_all(exp.CTE)), 1):
        name = fold_name(part.alias, dialect)
        if not isinstance(part.this, exp.Query):
            raise StatementRefused("WITH may only hold SELECT.")
        if name in table_names or name in renamed:
            raise StatementRefused(
                f"Give the WITH {part.alias} another name: there is a table or another WITH of that name."
            )
        renamed[name] = (f"{CTE_PREFIX}{number}", find_owner(part))
        part.args["alias"].set("this", identifier(f"{CTE_PREFIX}{number}"))
    return renamed


def find_owner(part: exp.CTE) -> exp.Expr:
    """The query that a WITH belongs to."""
    query = part.find_ancestor(exp.Query)
    if query is None:
        raise StatementRefused("WITH stands before a SELECT.")
    return query


def ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None:
        node = node.parent
        yield node


def select_columns(name: str, columns: Sequence[str], schema: str) -> exp.Select:
    source = exp.Table(this=identifier(name), db=identifier(schema) if schema else None)
    return exp.select(*(exp.Column(this=identifier(column)) for column in columns)).from_(source)


def check_columns(tree: exp.Expr, sources: Sequence[tuple[str, str]], columns: Columns, dialect: DialectName) -> None:
    """Every column must belong to a table of the statement, or be defined in the statement itself."""
    real: dict[str, set[str]] = {}
    for shown, name in sources:
        real.setdefault(fold_name(shown, dialect), set()).update(fold_name(column, dialect) for column in columns[name])
    defined = {fold_name(name, dialect) for name in list_aliases(tree)}
    known = {column for each in real.values() for column in each} | defined | set(real)
    for node in tree.find_all(exp.Column):
        if isinstance(node.this, exp.Star):
            continue
        name, source = fold_name(node.name, dialect), fold_name(node.table, dialect)
        candidates = real.get(source, known)
        if name not in candidates:
            hint = f" {node.table} has: {', '.join(sorted(candidates))}." if candidates is not known else ""
            raise StatementRefused(f"There is no column {node.name}.{hint}")


def list_aliases(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(exp.Alias, exp.TableAlias, exp.Subquery):
        if node.alias_or_name:
            yield node.alias_or_name
        if isinstance(node, exp.TableAlias):
            yield node.name
            yield from (column.name for column in node.args.get("columns") or ())


def name_outputs(tree: exp.Expr, columns: Columns, dialect: DialectName) -> None:
    """Duplicate columns become `name` and `name_2`; therefore `*` is expanded where its columns are known."""
    quote_names(tree, dialect)
    inner = tree.unnest() if isinstance(tree, exp.Subquery) else tree
    while isinstance(inner, exp.SetOperation):
        inner = inner.this.unnest() if isinstance(inner.this, exp.Subquery) else inner.this
    if not isinstance(inner, exp.Select):
        return
    outputs: list[exp.Expr] = []
    for each in inner.expressions:
        outputs += expand_star(each, inner, columns, dialect)
        check_bound("columns in its result", len(outputs), MAX_COLUMNS)
    seen: Counter[str] = Counter()
    for at, output in enumerate(outputs):
        name = output.alias_or_name
        if not name or output.is_star:
            continue
        seen[fold_name(name, dialect)] += 1
        if (count := seen[fold_name(name, dialect)]) > 1:
            outputs[at] = exp.alias_(output.unalias(), f"{name}_{count}", quoted=True)
    inner.set("expressions", outputs)


def expand_star(output: exp.Expr, select: exp.Select, columns: Columns, dialect: DialectName) -> list[exp.Expr]:
    if not output.is_star or isinstance(output, exp.Func) or select.find(exp.With):
        return [output]
    from_ = select.args.get("from_")
    sources = [from_.this] if from_ else []
    joins = select.args.get("joins") or []
    sources += [join.this for join in joins]
    if any(join.args.get("using") or join.args.get("method") for join in joins):
        return [output]
    table_name = output.table if isinstance(output, exp.Column) else ""
    known = {fold_name(name, dialect): name for name in columns}
    found: list[exp.Expr] = []
    for source in sources:
        if table_name and fold_name(source.alias_or_name, dialect) != fold_name(table_name, dialect):
            continue
        name = known.get(fold_name(source.name, dialect)) if isinstance(source, exp.Table) else None
        if name is None:
            return [output]
        table = source.alias_or_name
        found += [exp.column(identifier(column), table=identifier(table)) for column in columns[name]]
    return found or [output]


def quote_names(tree: exp.Expr, dialect: DialectName) -> None:
    """Quote every name, folded as PostgreSQL folds unquoted ones, so that none can be read as a keyword."""
    for node in tree.find_all(exp.Identifier):
        if dialect == "postgres" and not node.args.get("quoted"):
            node.set("this", node.name.lower())
        node.set("quoted", True)


def fold_name(name: str, dialect: DialectName) -> str:
    """Normalize a quoted name for comparison: PostgreSQL is case-sensitive, the others are not."""
    return name if dialect == "postgres" else name.casefold()


def identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=identifier(name))
