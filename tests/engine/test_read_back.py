"""Other readers read what we write, cell by cell, for every kind of table and every kind of write; a write that a table
forbids is rejected with its condition, and leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import refuse, run, table
from tests.engine.peer_readers import PEERS, Rows, comparable
from tests.engine.stats_truth import deserved, logged
from tests.engine.written_features import FEATURES, Feature
from tests.samples import with_slow

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    yield opened
    opened.close()


# --- The four ways to write ------------------------------------------------------------------------------------------


def source(feature: Feature, rows: tuple[str, ...], *parts: int, only: tuple[str, ...] = ()) -> str:
    """Returns a query for these rows, once for each value of `p`."""
    values = ", ".join(f"({row}, {part})" for part in parts for row in rows)
    columns = (*feature.columns, "p")
    return f"SELECT {', '.join((*only, 'p') if only else columns)} FROM VALUES {values} AS t({', '.join(columns)})"


def create(feature: Feature, name: str, *partition: str) -> str:
    columns = [f"{column} {kind}" for column, kind in (feature.columns | {"p": "INT"}).items()]
    checks = [feature.table_checks] if feature.table_checks else []
    return f"CREATE TABLE {name} ({', '.join(columns + checks)}){options(feature, partition)}"


def options(feature: Feature, partition: tuple[str, ...]) -> str:
    columns = feature.partitions(*partition)
    clause = f" PARTITIONED BY ({', '.join(columns)})" if columns else ""
    if feature.clustered:
        clause = f" CLUSTER BY ({', '.join(feature.clustered)})"
    settings = ", ".join(f"'{key}' = '{value}'" for key, value in feature.properties.items())
    return clause + (f" TBLPROPERTIES ({settings})" if settings else "")


def insert(feature: Feature, name: str, rows: tuple[str, ...], *parts: int, how: str = "INTO {}") -> str:
    columns = f" ({', '.join((*feature.given, 'p'))})" if feature.given else ""
    head = how.format(f"{name}{columns}")
    return f"INSERT {head} {source(feature, rows, *parts, only=feature.given)}"


REPLACE_WHERE = "INTO {} REPLACE WHERE p = 2"
# Other partition columns that a kind of write requires.
_PARTS = {"replace where": ("p",)}


def ctas(feature: Feature, name: str) -> tuple[list[str], str]:
    made = f"CREATE TABLE {name}{options(feature, ())} AS {source(feature, feature.first, 1)}"
    return [made], source(feature, feature.first, 1)


def inserted(feature: Feature, name: str) -> tuple[list[str], str]:
    statements = [
        create(feature, name),
        insert(feature, name, feature.first, 1),
        insert(feature, name, feature.second, 2),
    ]
    return statements, f"{source(feature, feature.first, 1)} UNION ALL {source(feature, feature.second, 2)}"


def overwritten(feature: Feature, name: str) -> tuple[list[str], str]:
    statements = [
        create(feature, name),
        insert(feature, name, feature.first, 1, 2),
        insert(feature, name, feature.second, 2, how="OVERWRITE {}"),
    ]
    return statements, source(feature, feature.second, 2)


def replaced(feature: Feature, name: str) -> tuple[list[str], str]:
    statements = [
        create(feature, name, *_PARTS["replace where"]),
        insert(feature, name, feature.first, 1, 2),
        insert(feature, name, feature.second, 2, how=REPLACE_WHERE),
    ]
    return statements, f"{source(feature, feature.first, 1)} UNION ALL {source(feature, feature.second, 2)}"


WRITE_FORMS = {"ctas": ctas, "insert": inserted, "overwrite": overwritten, "replace where": replaced}


def possible(feature: Feature) -> list[str]:
    return [
        form
        for form in WRITE_FORMS
        if (feature.as_select or form != "ctas") and (feature.replaces or form in ("ctas", "insert"))
    ]


def _name(feature: str, form: str) -> str:
    return f"{feature}_{form}".replace(" ", "_").replace("-", "_")


CASES = [(name, form) for name, feature in FEATURES.items() for form in possible(feature)]
# Every second kind of write for each feature.
SLOW = {
    number
    for number, (name, form) in enumerate(CASES)
    if (list(FEATURES).index(name) + list(WRITE_FORMS).index(form)) % 2
}


each_case = pytest.mark.parametrize(
    ("feature", "form"), with_slow(CASES, SLOW), ids=lambda value: value.replace(" ", "-")
)


def written(session: LakeSession, folder: Path, feature: str, form: str) -> str:
    """Makes the table at `folder`, once; the query that answers its rows."""
    statements, query = WRITE_FORMS[form](FEATURES[feature], folder.name)
    if not folder.exists():
        for statement in statements:
            run(session, statement)
    return query


@each_case
def test_other_readers_see_the_rows_that_were_written(
    session: LakeSession, lake: Path, feature: str, form: str
) -> None:
    kind, name = FEATURES[feature], _name(feature, form)
    truth = table(session, written(session, lake / "default" / name, feature, form))
    columns = truth.column_names
    expected = comparable(truth)
    assert comparable(table(session, f"SELECT * FROM {name}")) == expected
    seen: dict[str, Rows | str] = {}
    for peer, read in PEERS.items():
        try:
            seen[peer] = read(lake / "default" / name, columns)
        except Exception as error:  # noqa: BLE001 whatever a peer raises, it does not read the table
            seen[peer] = str(error)
    for peer, found in seen.items():
        if kind.unread(peer, partitioned=bool(kind.partitions(*_PARTS.get(form, ())))):
            assert found != expected, f"{peer} reads it by now"
        else:
            assert found == expected, peer


@each_case
def test_the_log_has_the_statistics_of_the_rows(session: LakeSession, lake: Path, feature: str, form: str) -> None:
    folder = lake / "default" / _name(feature, form)
    written(session, folder, feature, form)
    stats = logged(folder)
    assert stats
    for path, found in stats.items():
        assert found == deserved(folder / path)


# --- Forbidden writes -------------------------------------------------------------------------------------------------

VIOLATIONS = [(name, text, condition) for name, feature in FEATURES.items() for text, condition in feature.violations]


def state(session: LakeSession, folder: Path, name: str) -> Any:
    """Returns all state that a failed write could have changed, without checksums and checkpoints, which come later."""
    files = {path for path in folder.rglob("*") if path.is_file() and "_delta_log" not in path.parts}
    return DeltaTable(folder).version(), files, comparable(table(session, f"SELECT * FROM {name}"))


@pytest.mark.parametrize(("feature", "text", "condition"), VIOLATIONS)
@pytest.mark.parametrize("how", ["INTO {}", "OVERWRITE {}", REPLACE_WHERE])
def test_a_violation_is_refused_and_leaves_no_trace(
    session: LakeSession, lake: Path, feature: str, text: str, condition: str, how: str
) -> None:
    kind, name = FEATURES[feature], _name(feature, "kept")
    folder = lake / "default" / name
    if not folder.exists():
        run(session, create(kind, name, "p"))
        run(session, insert(kind, name, kind.first, 1, 2))
    before = state(session, folder, name)
    columns, values = text.split("VALUES ")
    head = how.format(f"{name} {columns}")
    error = refuse(session, f"INSERT {head} VALUES {values}")
    assert error.condition == condition, error
    assert state(session, folder, name) == before
