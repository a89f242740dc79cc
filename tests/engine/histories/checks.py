"""Invariants of a table after each statement, and at its history's end."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from catalog.errors import SqlError
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path
from tests.engine.histories.history import Commits, FeedFidelity, History, Statement
from tests.engine.histories.model import Version
from tests.engine.peer_readers import PEERS, Rows, comparable

Row = tuple[Any, ...]
DELETED, INSERTED, BEFORE, AFTER = "delete", "insert", "update_preimage", "update_postimage"


def check_step(history: History, statement: Statement) -> None:
    """The versions, rows and ids that the statement made, and its feed."""
    model, first = history.model, len(history.model.versions)
    version = history.version
    if first > 0:
        changed = _is_changed(history)
        match statement.commits:
            case Commits.SOME:
                assert version >= first
            case Commits.NONE:
                assert version < first
            case Commits.IF_CHANGED:
                assert (version >= first) == changed
            case Commits.ANY:
                assert version >= first or not changed
    row_ids = _check_rows(history, first)
    model.keep_version(row_ids, version + 1 - first, is_replaced=statement.feed is FeedFidelity.IF_READABLE)
    if version >= first > 0:
        check_feed(history, statement.feed, first)
    statement.also()


def _is_changed(history: History) -> bool:
    found = history.model.versions[-1].table
    gone = f"SELECT count(*) FROM {found} AS a FULL JOIN t AS b ON a._key = b._key AND a._change = b._change "
    ((count,),) = history.model.raw(f"{gone} WHERE a._key IS NULL OR b._key IS NULL")
    return bool(count)


# --- Rows, with hidden columns ----------------------------------------------------------------------------------------


def _check_rows(history: History, version: int) -> dict[int, tuple[int, int]]:
    """Checks the rows against the model; returns row ids and versions, which stay with the keys."""
    model, definition = history.model, history.definition
    names = ", ".join(definition.names)
    tracked = definition.is_tracked
    query = ", _metadata.row_id, _metadata.row_commit_version" if tracked else ""
    found = comparable(history.read(f"SELECT {names}{query} FROM {history.name}"))
    expected = [_split(row, 2) for row in comparable_rows(history, f"SELECT {names}, _key, _change FROM t")]
    width = len(definition.columns)
    place = definition.names.index(definition.identity) if definition.identity else None
    if not tracked and place is None:
        assert Counter(row[:width] for row in found) == Counter(row for row, _ in expected)
        return {}
    known = model.versions[model.row_ids_from].row_ids if model.versions else {}
    pairs = _paired(found, expected, known if tracked else {}, width, place)
    if place is not None:
        _check_identity(history, pairs, place)
    if not tracked:
        return {}
    return _check_row_ids(history, pairs, known, version)


def comparable_rows(history: History, query: str) -> Rows:
    return history.model.rows(query)


def _split(row: Row, behind: int) -> tuple[Row, Row]:
    return row[:-behind], row[-behind:]


def _paired(
    found: Rows, expected: list[tuple[Row, Row]], known: dict[int, tuple[int, int]], width: int, place: int | None
) -> list[tuple[Row, Row, int, int]]:
    """Returns each row found with the expected one: both, its key and its last change's number."""

    def blank(row: Row) -> Row:
        return row[:width] if place is None else (*row[:place], None, *row[place + 1 : width])

    by_id = {row[width]: row for row in found} if known else {}
    by_row: dict[Row, list[Row]] = defaultdict(list)
    for row in found:
        by_row[row[:width]].append(row)
    pairs, later, taken = [], [], set()
    for row, (key, change) in expected:
        if key in known:
            same = by_id.get(known[key][0])
            assert same is not None and same[:width] == row, ("of this id", known[key], row, same)
            pairs.append((same, row, key, change))
            taken.add(id(same))
        elif place is not None and row[place] is None:
            later.append((row, key, change))
        elif known:
            later.append((row, key, change))
        else:
            assert by_row[row], ("missing", row, "found", found)
            same = by_row[row].pop()
            pairs.append((same, row, key, change))
            taken.add(id(same))
    rest: dict[Row, list[Row]] = defaultdict(list)
    for row in found:
        if id(row) not in taken:
            rest[blank(row)].append(row)
    for row, key, change in later:
        candidates = rest[blank(row)]
        fitting = [each for each in candidates if place is None or row[place] in (None, each[place])]
        assert fitting, ("missing", row, "left", rest)
        candidates.remove(fitting[0])
        pairs.append((fitting[0], row, key, change))
    assert not any(rest.values()), ("too many", {row: rows for row, rows in rest.items() if rows})
    return pairs


def _check_identity(history: History, pairs: list[tuple[Row, Row, int, int]], place: int) -> None:
    """New values are on the grid and were never given before; the model learns them."""
    new = {key: found[place] for found, row, key, _ in pairs if row[place] is None}
    assert len(set(new.values())) == len(new) and not history.given_out & set(new.values()), new
    assert all(value is not None and value >= 1 for value in new.values()), new
    history.given_out |= set(new.values())
    history.model.set_identity(new)


def _check_row_ids(
    history: History, pairs: list[tuple[Row, Row, int, int]], known: dict[int, tuple[int, int]], version: int
) -> dict[int, tuple[int, int]]:
    """Rows keep their ids; changed rows have the new version, and new rows have new ids."""
    now = {key: found[-2:] for found, _, key, _ in pairs}
    assert None not in {each for of in now.values() for each in of}
    ids = {row_id for row_id, _ in now.values()}
    assert len(ids) == len(now), "ids are given twice"
    if known or (history.model.versions and history.model.versions[-1].definition.is_tracked):
        changed = {key for _, _, key, change in pairs if change == history.model.change}
        for key, (row_id, last) in now.items():
            if key in changed:
                assert last == version, (key, last, version)
            elif key in known:
                assert (row_id, last) == known[key], key
        fresh = {row_id for key, (row_id, _) in now.items() if key not in known}
        assert not fresh & history.row_ids_seen or not known, (fresh, history.row_ids_seen)
    history.row_ids_seen |= ids
    return now


# --- The feed --------------------------------------------------------------------------------------------------------


def check_feed(history: History, fidelity: FeedFidelity, first: int) -> None:
    """Checks that a statement's feed, applied to the version before, yields the last one."""
    versions = history.model.versions
    before, after = versions[first - 1], versions[-1]
    if not (before.definition.has_feed and after.definition.has_feed) or not _same_columns(before, after):
        return
    try:
        feed = read_feed(history, first, len(versions) - 1)
    except SqlError as error:
        if fidelity is FeedFidelity.IF_READABLE and error.condition.startswith("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE"):
            return
        raise
    if fidelity is FeedFidelity.NOT_AT_ALL:
        assert not feed
    elif fidelity is FeedFidelity.EXACTLY:
        expected = _expected_feed(history, before, after)
        assert feed == expected, ("told", feed - expected, "not told", expected - feed)
    assert_replays(history, feed, before, after)


def _same_columns(before: Version, after: Version) -> bool:
    return _shape(before) == _shape(after)


def _shape(version: Version) -> list[tuple[str, str]]:
    return [(column.name, column.of) for column in version.definition.columns]


def read_feed(history: History, first: int, last: int) -> Counter[Row]:
    names = ", ".join(history.model.versions[last].definition.names)
    text = f"SELECT _change_type, {names} FROM table_changes('{history.name}', {first}, {last})"
    return Counter(comparable(history.read(text)))


def _expected_feed(history: History, before: Version, after: Version) -> Counter[Row]:
    names = before.definition.names
    old, new = (", ".join(f"{side}.{name}" for name in names) for side in "ab")
    joined = f"FROM {before.table} AS a FULL JOIN {after.table} AS b ON a._key = b._key"
    changed = "a._change <> b._change"
    parts = (
        f"SELECT '{DELETED}', {old} {joined} WHERE b._key IS NULL",
        f"SELECT '{INSERTED}', {new} {joined} WHERE a._key IS NULL",
        f"SELECT '{BEFORE}', {old} {joined} WHERE {changed}",
        f"SELECT '{AFTER}', {new} {joined} WHERE {changed}",
    )
    return Counter(history.model.rows(" UNION ALL ".join(parts)))


def assert_replays(history: History, feed: Counter[Row], before: Version, after: Version) -> None:
    balance = Counter(rows_of(history, before))
    balance.subtract(Counter(rows_of(history, after)))
    for row, count in feed.items():
        balance[row[1:]] += count if row[0] in (INSERTED, AFTER) else -count
    assert not {row: count for row, count in balance.items() if count}, balance


def rows_of(history: History, version: Version) -> Rows:
    return history.model.rows(f"SELECT {', '.join(version.definition.names)} FROM {version.table}")


# --- More ------------------------------------------------------------------------------------------------------------


def check_version(history: History, number: int) -> None:
    version = history.model.versions[number]
    found = history.read(f"SELECT * FROM {history.name} VERSION AS OF {number}")
    assert found.column_names == version.definition.names and comparable(found) == rows_of(history, version), number


def check_files(history: History) -> None:
    """Checks that all files referenced by retained versions exist: data files, vectors, and change files. A log without
    its first commits is not checked.
    """
    if not (history.folder / "_delta_log" / f"{0:020}.json").exists():
        return
    live: dict[tuple[str, str], list[Path]] = {}
    for number in range(history.newest + 1):
        feed: list[Any] = []
        for name, action in _file_actions(history.folder, number):
            key = (action["path"], json.dumps(action.get("deletionVector")))
            if name == "add":
                live[key] = list(_paths(history.folder, action))
            elif name == "remove":
                live.pop(key, None)
            else:
                feed += _paths(history.folder, action)
        if number >= history.readable_from:
            named = [path for paths in live.values() for path in paths]
            missing = [
                path for path in (*named, *(feed if number > history.readable_from else ())) if not path.exists()
            ]
            assert not missing, (number, missing)


def _file_actions(folder: Path, version: int) -> Iterator[tuple[str, dict[str, Any]]]:
    log = folder / "_delta_log" / f"{version:020}.json"
    for line in log.read_text(encoding="utf-8").splitlines():
        for name, action in json.loads(line).items():
            if name in ("add", "remove", "cdc"):
                yield name, action


def _paths(folder: Path, action: dict[str, Any]) -> Iterator[Path]:
    """Yields the paths of the file and its deletion vector."""
    path = unquote(action["path"]).removeprefix("file://")
    yield Path(path) if path.startswith("/") else folder / path
    vector = action.get("deletionVector")
    if vector and vector["storageType"] == "p":
        yield Path(unquote(vector["pathOrInlineDv"]).removeprefix("file://"))
    elif vector and vector["storageType"] == "u":
        yield folder / deletion_vector_path(
            DeletionVectorDescriptor(
                storage_type="u",
                path_or_inline_dv=vector["pathOrInlineDv"],
                offset=vector.get("offset"),
                size_in_bytes=vector["sizeInBytes"],
                cardinality=vector["cardinality"],
            )
        )


def check_condition(history: History) -> None:
    """Checks the rows for a condition, which may prune files."""
    condition = history.expressions().condition()
    found = comparable(history.read(f"SELECT id FROM {history.name} WHERE {condition.ours}"))
    assert found == history.model.rows(f"SELECT id FROM t WHERE {condition.duck}"), condition.ours


def check_answers(history: History) -> None:
    """Checks counts, minimum and maximum values, from the log if possible."""
    query = "count(*) AS n" + "".join(
        f", {name}({column.name}) AS {name}_{column.name}"
        for column in history.definition.columns
        if column.of in ("long", "int", "date", "decimal", "stamp")
        for name in ("min", "max", "count")
    )
    assert comparable(history.read(f"SELECT {query} FROM {history.name}")) == history.model.rows(
        f"SELECT {query} FROM t"
    )


def check_end(history: History) -> None:
    check_condition(history)
    check_answers(history)
    for number in {history.readable_from, *_some(history, 2)}:
        check_version(history, number)
    check_whole_feed(history)
    check_peers(history)
    for name, columns, rows in history.ancestors:
        assert comparable(history.read(f"SELECT {', '.join(columns)} FROM {name}")) == rows, name


def _some(history: History, count: int) -> list[int]:
    readable = range(history.readable_from, history.newest + 1)
    return history.random.sample(readable, min(count, len(readable)))


def check_whole_feed(history: History) -> None:
    """All versions at once, as far back as the feed goes and the columns are the same."""
    versions, first = history.model.versions, feed_start(history)
    if first <= history.newest:
        feed = read_feed(history, first, history.newest)
        assert_replays(history, feed, versions[first - 1], versions[-1])


def feed_start(history: History) -> int:
    """Returns the first version from which on the feed is there, with the columns that the table has now."""
    versions, first = history.model.versions, len(history.model.versions)
    while first > history.readable_from + 1:
        before, after = versions[first - 2 : first]
        if not (before.definition.has_feed and after.definition.has_feed and _same_columns(before, after)):
            break
        if before.definition.partitions != after.definition.partitions or after.is_replaced:
            break
        first -= 1
    return first


def features_of(history: History) -> set[str]:
    (detail,) = history.read(f"DESCRIBE DETAIL {history.name}").to_pylist()
    return set(detail["tableFeatures"] or ())


def check_peers(history: History) -> None:
    expected = history.model.rows(f"SELECT {', '.join(history.definition.names)} FROM t")
    for peer, read in PEERS.items():
        if is_beyond(peer, history):
            continue
        assert read(history.folder, history.definition.names) == expected, peer


def is_beyond(peer: str, history: History) -> bool:
    features = features_of(history)
    match peer:
        case "deltalake":
            return "typeWidening" in features
        case "duckdb":
            # it takes absolute paths for names below the table's folder, and shows mapped partition values as null
            return history.is_shallow or (history.definition.is_mapped and bool(history.definition.partitions))
        case _:
            return False
