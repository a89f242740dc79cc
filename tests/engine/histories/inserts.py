"""INSERT in all forms, and COPY INTO."""

from __future__ import annotations

from dataclasses import replace

from tests.engine.histories.definition import Column
from tests.engine.histories.history import Commits, History, Statement
from tests.engine.histories.model import Model
from tests.engine.histories.values import NOT_COMPARED, TYPES, Sql

ROWS_MAX = 120


def source_rows(history: History, names: list[str], *, count: int | None = None, new_ids: bool = True) -> str:
    """Returns a query with random rows for these columns, which are in `new` too."""
    made = history.expressions()
    count = count or history.random.choice((1, 2, 3, 7))
    rows = [
        [history.new_id() if name == "id" and new_ids else made.value(name) for name in names] for _ in range(count)
    ]
    history.model.fill_new(names, rows)
    listed = ", ".join(f"({', '.join(map(_untyped, row))})" for row in rows)
    typed = [f"CAST({name} AS {history.definition.column(name).sql_type.ours}) AS {name}" for name in names]
    hint = history.random.choice(("", "/*+ COALESCE(1) */ ", "/*+ REPARTITION(3) */ "))
    return f"SELECT {hint}{', '.join(typed)} FROM VALUES {listed} AS v({', '.join(names)})"


def _untyped(value: Sql) -> str:
    return "NULL" if value.ours.startswith("CAST(NULL ") else value.ours


def some_columns(history: History) -> list[str]:
    given = history.definition.given[1:]
    selected = ["id", *history.random.sample(given, history.random.randrange(len(given) + 1))]
    history.random.shuffle(selected)
    return selected


def insert(history: History) -> Statement:
    names = history.definition.given if history.random.random() < 0.5 else some_columns(history)
    query = source_rows(history, names)
    listed = history.random.choice((f"({', '.join(names)})", "BY NAME"))
    return Statement(f"INSERT INTO {history.name} {listed} {query}", lambda model: model.insert_new(names))


def insert_many(history: History) -> Statement:
    names = history.definition.given
    query = source_rows(history, names, count=history.random.choice((15, 30)))
    return Statement(f"INSERT INTO {history.name} ({', '.join(names)}) {query}", lambda model: model.insert_new(names))


def insert_itself(history: History) -> Statement | None:
    if history.model.count() > ROWS_MAX:
        return None
    condition, names = history.expressions().condition(with_subquery=True), ", ".join(history.definition.given)
    return Statement(
        f"INSERT INTO {history.name} ({names}) SELECT {names} FROM {history.name} WHERE {condition.ours}",
        lambda model: model.insert(history.definition.given, f"SELECT * FROM t WHERE {condition.duck}"),
        commits=Commits.ANY,
    )


def insert_from_the_past(history: History) -> Statement | None:
    """Inserts an older version's rows, with the columns that it shares with the table."""
    if history.model.count() > ROWS_MAX:
        return None
    version = history.random.randrange(history.readable_from, history.newest + 1)
    then = history.model.versions[version]
    names = [
        name
        for name in history.definition.given
        if name in then.definition.names and then.definition.column(name).of == history.definition.column(name).of
    ]
    condition = replace(history.expressions(), definition=then.definition).condition()
    table = then.table
    return Statement(
        f"INSERT INTO {history.name} BY NAME SELECT {', '.join(names)} FROM {history.name} VERSION AS OF {version} "
        f"WHERE {condition.ours}",
        lambda model: model.insert(names, f"SELECT * FROM {table} WHERE {condition.duck}"),
        commits=Commits.ANY,
    )


def insert_evolving(history: History) -> Statement:
    """Inserts a query with a column that the table lacks."""
    of = history.new_type()
    column, value = Column(history_column(history, "e"), of), history.random.choice(TYPES[of].values)
    names = history.definition.given
    query = source_rows(history, names)

    def effect(model: Model) -> None:
        model.add_column(column)
        model.insert([*names, column.name], f"SELECT *, {value.duck} AS {column.name} FROM new ORDER BY _n")

    return Statement(
        f"INSERT WITH SCHEMA EVOLUTION INTO {history.name} BY NAME SELECT *, "
        f"CAST({value.ours} AS {column.sql_type.ours}) AS {column.name} FROM ({query})",
        effect,
    )


def history_column(history: History, letter: str) -> str:
    return f"{letter}{history.model.change}"


def overwrite(history: History) -> Statement:
    names = history.definition.given
    query = source_rows(history, names, count=8)

    def effect(model: Model) -> None:
        model.delete("true")
        model.insert_new(names)

    return Statement(f"INSERT OVERWRITE {history.name} ({', '.join(names)}) {query}", effect)


def overwrite_dynamically(history: History) -> Statement | None:
    partitions = history.definition.partitions
    if not partitions or not set(partitions) <= set(history.definition.given):
        return None
    names = history.definition.given
    query = source_rows(history, names)
    history.run("SET spark.sql.sources.partitionOverwriteMode = dynamic")

    def effect(model: Model) -> None:
        _normalize_new(model)
        replace_rows(model, names, " AND ".join(f"t.{name} IS NOT DISTINCT FROM new.{name}" for name in partitions))

    def undo() -> None:
        history.run("SET spark.sql.sources.partitionOverwriteMode = static")

    return Statement(f"INSERT OVERWRITE {history.name} ({', '.join(names)}) {query}", effect, after=undo)


def replace_using(history: History) -> Statement:
    names = history.definition.given
    usable = [name for name in names[1:] if history.definition.column(name).of not in NOT_COMPARED]
    selected = history.random.sample(usable, 2)
    query = source_rows(history, names)

    def effect(model: Model) -> None:
        _normalize_new(model)
        replace_rows(model, names, " AND ".join(f"t.{name} = new.{name}" for name in selected))

    columns = ", ".join(names)
    text = f"INSERT INTO {history.name} BY NAME REPLACE USING ({', '.join(selected)}) SELECT {columns} FROM ({query})"
    return Statement(text, effect)


def replace_on(history: History) -> Statement:
    names, by = history.definition.given, history.random.choice((1, 2))
    query = source_rows(history, names, new_ids=False)
    columns = ", ".join(names)
    text = (
        f"INSERT INTO {history.name} AS a BY NAME REPLACE ON (a.id + {by} = b.id AND a.id > 2) "
        f"(SELECT {columns} FROM ({query})) AS b"
    )
    return Statement(text, lambda model: replace_rows(model, names, f"t.id + {by} = new.id AND t.id > 2"))


def replace_where(history: History) -> Statement:
    """Replaces rows by id with new rows."""
    names, ids = history.definition.given, history.model.ids() or [0]
    selected = history.random.sample(ids, min(3, len(ids)))
    condition = f"id IN ({', '.join(map(str, selected))})"
    query = source_rows(history, names, new_ids=False)

    def effect(model: Model) -> None:
        model.delete(condition)
        model.insert(names, f"SELECT * FROM new WHERE {condition} ORDER BY _n")

    columns = ", ".join(names)
    rows = f"SELECT {columns} FROM ({query}) WHERE {condition}"
    return Statement(
        f"INSERT INTO {history.name} BY NAME REPLACE WHERE {condition} {rows}", effect, commits=Commits.ANY
    )


def replace_rows(model: Model, names: list[str], equal: str) -> None:
    model.delete(f"EXISTS (SELECT 1 FROM new WHERE {equal})")
    model.insert_new(names)


def _normalize_new(model: Model) -> None:
    """An empty text is null as a partition value."""
    for name in model.definition.partitions:
        if TYPES[model.definition.column(name).of].name.duck == "VARCHAR" and name in model.definition.given:
            model.duck.execute(f"UPDATE new SET {name} = NULL WHERE {name} = ''")


def copy_into(history: History) -> Statement:
    """Copies files from a separate folder; loaded files are not loaded again."""
    names = history.definition.given
    source_rows(history, names)
    folder = history.lake / "landing" / f"{history.name}_{history.model.change}"
    folder.mkdir(parents=True)
    listed = ", ".join(names)
    history.model.duck.execute(f"COPY (SELECT {listed} FROM new ORDER BY _n) TO '{folder}/a.parquet' (FORMAT parquet)")
    text = f"COPY INTO {history.name} FROM '{folder}' FILEFORMAT = PARQUET"

    def again() -> None:
        assert history.run(text) == 0 and history.version == history.newest

    return Statement(text, lambda model: model.insert_new(names), also=again)


def violate(history: History) -> Statement | None:
    """Inserts a value into a generated column."""
    made = [column.name for column in history.definition.columns if column.name not in history.definition.given]
    if not made:
        return None
    name = history.random.choice(made)
    value = "DATE'1999-01-01'" if history.definition.column(name).of == "date" else "99"
    text = f"INSERT INTO {history.name} (id, {name}) VALUES (7, {value})"
    return Statement(text, refused="", commits=Commits.NONE)
