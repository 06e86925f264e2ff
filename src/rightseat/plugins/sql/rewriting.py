"""Changes to a statement that was judged, so that it cannot reach past the catalog, whatever its names mean.

Every table becomes a subquery of the columns that the catalog lists: others do not exist, not even for `*`. The names
of `WITH` become names of ours, so that none of them can stand for a table of the system. Columns must be known by
name, because PostgreSQL takes `a.f` for `f(a)`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from rightseat.plugins.sql.allowed import OURS, Columns, Dialect, Refused
from rightseat.plugins.sql.bounds import MAX_COLUMNS, check_bound

Withs = Mapping[str, tuple[str, exp.Expr]]
"""What the names of WITH have become, and the query that each belongs to."""


def limit(tree: exp.Expr, rows: int) -> exp.Expr:
    """At most so many rows. The limit stands inside as well: MariaDB forgets the order of a subquery without one."""
    inner = tree.unnest() if isinstance(tree, exp.Subquery) else tree
    if isinstance(inner, exp.Query) and not inner.args.get("limit"):
        inner = inner.limit(rows, copy=False)
    return exp.select("*").from_(exp.Subquery(this=inner, alias=alias("result"))).limit(rows)


def narrow(tree: exp.Expr, columns: Columns, dialect: Dialect, schema: str) -> None:
    """Raises `Refused`: a table or a column that the catalog does not have."""
    withs = rename_withs(tree, columns, dialect)
    tables = [(node, find(node, columns, dialect, schema, withs)) for node in list(tree.find_all(exp.Table))]
    check_columns(tree, [(node.alias_or_name, name) for node, name in tables if name in columns], columns, dialect)
    for node, name in tables:
        shown = node.alias_or_name
        if name in columns:
            node.replace(exp.Subquery(this=listed(node, name, columns[name], schema), alias=alias(shown)))
        else:
            node.replace(exp.Table(this=identifier(name), alias=alias(shown)))


def find(table: exp.Table, columns: Columns, dialect: Dialect, schema: str, withs: Withs) -> str:
    """The name in the catalog, or ours of a WITH."""
    if not isinstance(table.this, exp.Identifier):
        raise Refused("Functions cannot stand in FROM here; only tables of the catalog can.")
    alias_node = table.args.get("alias")
    if alias_node is not None and alias_node.args.get("columns"):
        raise Refused("The columns of a table cannot be renamed in FROM; rename them with AS.")
    name = fold(table.name, dialect)
    if table.db:
        if not schema or fold(table.db, dialect) != fold(schema, dialect):
            raise Refused(f"{table.db} is no schema that can be read here. Write table names without a schema.")
    elif name in withs:
        ours, query = withs[name]
        if not any(query is one for one in ancestors(table)):
            raise Refused(f"The WITH {table.name} is not known where it is read.")
        return ours
    known = {fold(one, dialect): one for one in columns}
    if name not in known:
        raise Refused(f"There is no table {table.name}. The tables are: {', '.join(columns)}.")
    return known[name]


def rename_withs(tree: exp.Expr, columns: Columns, dialect: Dialect) -> Withs:
    found: dict[str, tuple[str, exp.Expr]] = {}
    taken = {fold(name, dialect) for name in columns}
    for number, part in enumerate(list(tree.find_all(exp.CTE)), 1):
        name = fold(part.alias, dialect)
        if not isinstance(part.this, exp.Query):
            raise Refused("WITH may only hold SELECT.")
        if name in taken or name in found:
            raise Refused(f"Give the WITH {part.alias} another name: there is a table or another WITH of that name.")
        found[name] = (f"{OURS}{number}", owner(part))
        part.args["alias"].set("this", identifier(f"{OURS}{number}"))
    return found


def owner(part: exp.CTE) -> exp.Expr:
    """The query that a WITH stands before."""
    query = part.find_ancestor(exp.Query)
    if query is None:
        raise Refused("WITH stands before a SELECT.")
    return query


def ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None:
        node = node.parent
        yield node


def listed(node: exp.Table, name: str, columns: Sequence[str], schema: str) -> exp.Select:
    source = exp.Table(this=identifier(name), db=identifier(schema) if schema else None)
    return exp.select(*(exp.Column(this=identifier(column)) for column in columns)).from_(source)


def check_columns(tree: exp.Expr, sources: Sequence[tuple[str, str]], columns: Columns, dialect: Dialect) -> None:
    """Every name of a column is one of a table that is read, or was given in the statement itself."""
    real: dict[str, set[str]] = {}
    for shown, name in sources:
        real.setdefault(fold(shown, dialect), set()).update(fold(column, dialect) for column in columns[name])
    given = {fold(name, dialect) for name in names_given(tree)}
    known = {column for each in real.values() for column in each} | given | set(real)
    for node in tree.find_all(exp.Column):
        if isinstance(node.this, exp.Star):
            continue
        name, source = fold(node.name, dialect), fold(node.table, dialect)
        within = real.get(source, known)
        if name not in within:
            among = f" {node.table} has: {', '.join(sorted(within))}." if within is not known else ""
            raise Refused(f"There is no column {node.name}.{among}")


def names_given(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(exp.Alias, exp.TableAlias, exp.Subquery):
        if node.alias_or_name:
            yield node.alias_or_name
        if isinstance(node, exp.TableAlias):
            yield node.name
            yield from (column.name for column in node.args.get("columns") or ())


def name_outputs(tree: exp.Expr, columns: Columns, dialect: Dialect) -> None:
    """Two columns of one name become `name` and `name_2`; for that, `*` is written out where its columns are known."""
    quote(tree, dialect)
    inner = tree.unnest() if isinstance(tree, exp.Subquery) else tree
    while isinstance(inner, exp.SetOperation):
        inner = inner.this.unnest() if isinstance(inner.this, exp.Subquery) else inner.this
    if not isinstance(inner, exp.Select):
        return
    outputs: list[exp.Expr] = []
    for each in inner.expressions:
        outputs += expand(each, inner, columns, dialect)
        check_bound("columns in its result", len(outputs), MAX_COLUMNS)
    seen: Counter[str] = Counter()
    for at, output in enumerate(outputs):
        name = output.alias_or_name
        if not name or output.is_star:
            continue
        seen[fold(name, dialect)] += 1
        if (count := seen[fold(name, dialect)]) > 1:
            outputs[at] = exp.alias_(output.unalias(), f"{name}_{count}", quoted=True)
    inner.set("expressions", outputs)


def expand(output: exp.Expr, select: exp.Select, columns: Columns, dialect: Dialect) -> list[exp.Expr]:
    if not output.is_star or isinstance(output, exp.Func) or select.find(exp.With):
        return [output]
    from_ = select.args.get("from_")
    sources = [from_.this] if from_ else []
    joins = select.args.get("joins") or []
    sources += [join.this for join in joins]
    if any(join.args.get("using") or join.args.get("method") for join in joins):
        return [output]
    wanted = output.table if isinstance(output, exp.Column) else ""
    known = {fold(name, dialect): name for name in columns}
    found: list[exp.Expr] = []
    for source in sources:
        if wanted and fold(source.alias_or_name, dialect) != fold(wanted, dialect):
            continue
        name = known.get(fold(source.name, dialect)) if isinstance(source, exp.Table) else None
        if name is None:
            return [output]
        table = source.alias_or_name
        found += [exp.column(identifier(column), table=identifier(table)) for column in columns[name]]
    return found or [output]


def quote(tree: exp.Expr, dialect: Dialect) -> None:
    """Every name in quotation marks, as PostgreSQL reads it without: then a name is nothing else, and no keyword."""
    for node in tree.find_all(exp.Identifier):
        if dialect == "postgres" and not node.args.get("quoted"):
            node.set("this", node.name.lower())
        node.set("quoted", True)


def fold(name: str, dialect: Dialect) -> str:
    """How an engine compares names that are quoted: PostgreSQL letter by letter, the others whatever the case."""
    return name if dialect == "postgres" else name.casefold()


def identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=identifier(name))
