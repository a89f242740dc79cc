"""UPDATE, DELETE, TRUNCATE and MERGE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.engine.histories.definition import Column
from tests.engine.histories.expressions import Expressions
from tests.engine.histories.history import Commits, History, Statement
from tests.engine.histories.inserts import ROWS_MAX, source_rows
from tests.engine.histories.model import Model
from tests.engine.histories.values import NOT_COMPARED, TYPES, Sql, fill

SEVERAL = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
Assignments = list[tuple[str, Sql]]


def delete(history: History) -> Statement:
    condition = history.expressions().condition("a.", with_subquery=True)
    if history.random.random() < 0.6:
        condition = fill("a.id %% 3 = 1 AND %s", condition)  # most rows stay
    return Statement(
        f"DELETE FROM {history.name} AS a WHERE {condition.ours}",
        lambda model: model.duck.execute(f"DELETE FROM t AS a WHERE {condition.duck}"),
        commits=Commits.IF_CHANGED,
    )


def delete_few(history: History) -> Statement:
    ids = history.model.ids() or [0]
    selected = ", ".join(map(str, history.random.sample(ids, min(3, len(ids)))))
    return Statement(
        f"DELETE FROM {history.name} WHERE id IN ({selected})",
        lambda model: model.delete(f"id IN ({selected})"),
        commits=Commits.IF_CHANGED,
    )


def delete_all(history: History) -> Statement:
    text = history.random.choice((f"TRUNCATE TABLE {history.name}", f"DELETE FROM {history.name}"))
    return Statement(text, lambda model: model.delete("true"), commits=Commits.ANY)


def update(history: History) -> Statement:
    made = history.expressions()
    assignments = random_assignments(history, made, "a.", in_update=True)
    sets = ", ".join(f"{path} = {value.ours}" for path, value in assignments)
    condition = made.condition("a.", with_subquery=True) if history.random.random() < 0.9 else Sql("true", "true")
    duck = ", ".join(_duck_set(path, value, "a") for path, value in assignments)

    def effect(model: Model) -> None:
        model.duck.execute(f"UPDATE t AS a SET {duck}, _change = {model.change} WHERE {condition.duck}")

    return Statement(
        f"UPDATE {history.name} AS a SET {sets} WHERE {condition.ours}", effect, commits=Commits.IF_CHANGED
    )


def random_assignments(history: History, made: Expressions, alias: str, *, in_update: bool = False) -> Assignments:
    """Returns columns, or fields in them, and their new values."""
    given = history.definition.given
    selected = history.random.sample(given, history.random.choice((1, 1, 2, 3)))
    found: Assignments = []
    for name in selected:
        if name == "st" and history.random.random() < 0.6:
            found.append(("st.a", history.random.choice(TYPES["int"].values)))
        else:
            value = made.expression(name, alias)
            found.append((name, value if in_update or "SELECT" not in value.ours else made.value(name)))
    return found


def _duck_set(path: str, value: Sql, alias: str) -> str:
    if path == "st.a":
        return f"st = {{'a': {value.duck}, 'b': {alias}.st.b}}"
    return f"{path} = {value.duck}"


# --- MERGE -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clause:
    # From WHEN to THEN, without the condition.
    head: str
    condition: Sql | None
    # Our action.
    action: str
    # New values for a kept or new row; None deletes the row.
    sets: Assignments | None = None

    @property
    def text(self) -> str:
        condition = f" AND {self.condition.ours}" if self.condition else ""
        return f"{self.head}{condition} THEN {self.action}"

    @property
    def duck_condition(self) -> str:
        return self.condition.duck if self.condition else "true"


@dataclass(frozen=True)
class Merge:
    on: Sql
    matched: list[Clause]
    unmatched: list[Clause]
    # BY SOURCE.
    lone: list[Clause]
    # The one that the source brings.
    column: Column | None = None

    @property
    def clauses(self) -> list[Clause]:
        return [*self.matched, *self.unmatched, *self.lone]

    @property
    def is_delete(self) -> bool:
        return len(self.matched) == 1 and self.matched[0].sets is None and self.matched[0].condition is None

    def matches(self, model: Model) -> None:
        """Puts matched rows, and the clause for each, into `pairs` and `lone`."""
        model.duck.execute(
            f"CREATE OR REPLACE TABLE pairs AS SELECT t._key AS k, s._n AS n, {_drawn_text(self.matched)} AS c "
            f"FROM t JOIN new AS s ON ({self.on.duck})"
        )
        model.duck.execute(
            f"CREATE OR REPLACE TABLE lone AS SELECT t._key AS k, {_drawn_text(self.lone)} AS c FROM t "
            f"WHERE t._key NOT IN (SELECT k FROM pairs)"
        )

    def is_ambiguous(self, model: Model) -> bool:
        self.matches(model)
        several = "SELECT k FROM pairs WHERE c IS NOT NULL GROUP BY k HAVING count(*) > 1"
        return not self.is_delete and bool(model.raw(several))

    def effect(self, model: Model) -> None:
        if self.column:
            model.add_column(self.column)
        self.matches(model)
        for number, clause in enumerate(self.unmatched):
            names = [name for name, _ in clause.sets or ()]
            values = ", ".join(f"{value.duck} AS {name}" for name, value in clause.sets or ())
            before = " AND ".join(f"({each.duck_condition}) IS NOT TRUE" for each in self.unmatched[:number]) or "true"
            model.duck.execute(
                f"CREATE OR REPLACE TABLE come{number} AS SELECT {values} FROM new AS s "
                f"WHERE s._n NOT IN (SELECT n FROM pairs) AND {before} AND ({clause.duck_condition}) ORDER BY s._n"
            )
            model.insert(names, f"SELECT * FROM come{number}")
        for number, clause in enumerate(self.matched):
            if clause.sets is None:
                model.delete(f"_key IN (SELECT k FROM pairs WHERE c = {number})")
            else:
                _change(
                    model,
                    clause.sets,
                    f"FROM new AS s, pairs AS p WHERE p.k = t._key AND p.n = s._n AND p.c = {number}",
                )
        for number, clause in enumerate(self.lone):
            if clause.sets is None:
                model.delete(f"_key IN (SELECT k FROM lone WHERE c = {number})")
            else:
                _change(model, clause.sets, f"FROM lone AS p WHERE p.k = t._key AND p.c = {number}")


def _drawn_text(clauses: list[Clause]) -> str:
    whens = "".join(f"WHEN {clause.duck_condition} THEN {number} " for number, clause in enumerate(clauses))
    return f"CASE {whens}END" if whens else "CAST(NULL AS INT)"


def _change(model: Model, sets: Assignments, rest: str) -> None:
    duck = "".join(f"{_duck_set(path, value, 't')}, " for path, value in sets)
    model.duck.execute(f"UPDATE t SET {duck}_change = {model.change} {rest}")


def merge(history: History) -> Statement | None:
    if history.model.count() > ROWS_MAX:
        return None
    names = history.definition.given
    query = source_rows(history, names, count=history.random.choice((1, 3, 6, 10)), new_ids=False)
    return _merge_statement(history, _random_merge(history, None), query, "")


def merge_evolving(history: History) -> Statement | None:
    """Merges from a source with an additional column, which `*` adds to the table."""
    if history.model.count() > ROWS_MAX:
        return None
    of = history.new_type()
    column, value = Column(f"e{history.model.change}", of), history.random.choice(TYPES[of].values)
    query = source_rows(history, history.definition.given, count=4, new_ids=False)
    query = f"SELECT *, CAST({value.ours} AS {column.sql_type.ours}) AS {column.name} FROM ({query})"
    history.model.new_from(
        f"SELECT * EXCLUDE _n, CAST({value.duck} AS {column.sql_type.duck}) AS {column.name} FROM new"
    )
    return _merge_statement(history, _random_merge(history, column), query, "WITH SCHEMA EVOLUTION ")


def _merge_statement(history: History, merge: Merge, query: str, evolution: str) -> Statement:
    clauses = " ".join(clause.text for clause in merge.clauses)
    text = f"MERGE {evolution}INTO {history.name} AS t USING ({query}) AS s ON {merge.on.ours} {clauses}"
    if merge.is_ambiguous(history.model):
        return Statement(text, refused=SEVERAL)
    commits = Commits.ANY if merge.column else Commits.IF_CHANGED
    return Statement(text, merge.effect, commits=commits)


def _random_merge(history: History, column: Column | None) -> Merge:
    made = history.expressions()
    matched = [_matched(history, made, column) for _ in range(history.random.choice((0, 1, 1, 2)))]
    unmatched = [_unmatched(history, made, column) for _ in range(history.random.choice((0, 1, 1, 2)))]
    lone = [_lone(history, made) for _ in range(history.random.choice((0, 0, 0, 1, 2)))]
    if column:
        star = Clause("WHEN NOT MATCHED", None, "INSERT *", _stars(history, column))
        unmatched = [*unmatched, star]
    if not (matched or unmatched or lone):
        matched = [_matched(history, made, column)]
    return Merge(_condition(history, made), _ordered(matched), _ordered(unmatched), _ordered(lone), column)


def _ordered(clauses: list[Clause]) -> list[Clause]:
    """Only the last one may be without a condition."""
    always = Sql("true", "true")
    return [replace(each, condition=each.condition or always) for each in clauses[:-1]] + clauses[-1:]


def _condition(history: History, made: Expressions) -> Sql:
    chance = history.random.random()
    if chance < 0.6:
        return Sql(*["t.id = s.id"] * 2)
    if chance < 0.7:
        return fill("t.id = s.id AND %s", made.condition("t."))
    if chance < 0.75:
        return Sql("false", "false")
    usable = [name for name in history.definition.given[1:] if history.definition.column(name).of not in NOT_COMPARED]
    name = history.random.choice(usable)
    if chance < 0.88:
        return Sql(f"t.{name} <=> s.{name} AND t.id = s.id", f"t.{name} IS NOT DISTINCT FROM s.{name} AND t.id = s.id")
    return Sql(*[f"t.{name} = s.{name} AND t.id < s.id"] * 2)


def _some_condition(history: History, made: Expressions, *aliases: str) -> Sql | None:
    if history.random.random() < 0.5:
        return None
    given = tuple(each for each in history.definition.columns if each.name in history.definition.given)
    alias = history.random.choice(aliases)
    known = replace(made, definition=replace(history.definition, columns=given)) if alias == "s." else made
    return known.condition(alias)


def _matched(history: History, made: Expressions, column: Column | None) -> Clause:
    head, condition = "WHEN MATCHED", _some_condition(history, made, "t.", "s.")
    chance = history.random.random()
    if chance < 0.3:
        return Clause(head, condition, "DELETE")
    if chance < 0.55:
        return Clause(head, condition, "UPDATE SET *", _stars(history, column))
    sets = random_assignments(history, made, "t.")
    other = history.random.choice(history.definition.given)
    if other not in {path.split(".")[0] for path, _ in sets}:
        sets.append((other, Sql(*[f"s.{other}"] * 2)))
    return Clause(head, condition, _update(sets), sets)


def _lone(history: History, made: Expressions) -> Clause:
    head, condition = "WHEN NOT MATCHED BY SOURCE", _some_condition(history, made, "t.")
    if history.random.random() < 0.4:
        return Clause(head, condition, "DELETE")
    sets = random_assignments(history, made, "t.")
    return Clause(head, condition, _update(sets), sets)


def _unmatched(history: History, made: Expressions, column: Column | None) -> Clause:
    head, condition = "WHEN NOT MATCHED", _some_condition(history, made, "s.")
    if history.random.random() < 0.4:
        return Clause(head, condition, "INSERT *", _stars(history, column))
    others = history.definition.given[1:]
    names = ["id", *history.random.sample(others, history.random.randrange(len(others) + 1))]
    sets = [(name, Sql(*[f"s.{name}"] * 2) if history.random.random() < 0.7 else made.value(name)) for name in names]
    values = ", ".join(value.ours for _, value in sets)
    return Clause(head, condition, f"INSERT ({', '.join(names)}) VALUES ({values})", sets)


def _update(sets: Assignments) -> str:
    return f"UPDATE SET {', '.join(f'{path} = {value.ours}' for path, value in sets)}"


def _stars(history: History, column: Column | None) -> Assignments:
    names = [*history.definition.given, *([column.name] if column else [])]
    return [(name, Sql(*[f"s.{name}"] * 2)) for name in names]
