"""The `delta-gateway sql` shell: lines to statements, commands, a session, and its output."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.runtime.results import ResultStream, empty_result, string_rows
from gateway.cli.client import ApiClient, Statement
from gateway.cli.lines import Completer, join_history
from gateway.cli.shell import Shell, is_complete, progress_text, syntax_help
from gateway.cli.sql import _WRITERS
from tests.gateway.arrow_engine import rows, sleeps
from tests.gateway.http.conftest import Live, eventually, serving_http


@pytest.fixture
def live() -> Iterator[Live]:
    with serving_http() as live:
        yield live


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; ", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1 -- ;", False),
        ("SELECT 1", False),
        ("", False),
        ("SELECT ';", False),
        ("SELECT 'it''s;", False),
        ("SELECT 'a' || ';';", True),
        ("SELECT `a;", False),
        ("SELECT 1 /* ;", False),
        ("SELECT 1 /* ; */;", True),
        ("BEGIN SELECT 1;", False),
        ("begin\nSELECT 1;\nEND;", False),
        ("SELECT begin;", True),
    ],
)
def test_where_a_statement_ends(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run_shell(live: Live, *lines: str | type[BaseException], err: io.StringIO | None = None) -> tuple[str, str]:
    """Returns a shell's outputs for these lines; an exception class is raised instead of a line."""
    given: Iterator[str | type[BaseException]] = iter(lines)
    prompts: list[str] = []

    def read(prompt: str) -> str:
        prompts.append(prompt)
        line = next(given, EOFError)
        if isinstance(line, str):
            return line
        raise line()

    out, err = io.StringIO(), err or io.StringIO()
    with ApiClient(live.url) as client:
        assert Shell(client, _WRITERS, out, err, read).run(None, None) == 0
    assert eventually(lambda: not live.registry.sessions())
    return out.getvalue(), err.getvalue()


def test_statements_of_several_lines_run_in_one_session(live: Live) -> None:
    out, err = run_shell(live, "ROWS", "1;", "USE a;", "nonsense;", "SELECT 1;")
    assert "id | name\n---+------\n 0 | row 0\n(1 row)\n" in out and out.count(" s\n") == 3
    assert err == "[PARSE_SYNTAX_ERROR.TEST] Syntax error at or near 'nonsense'. SQLSTATE: 42601\n"
    assert [run.text for run in live.engine.runs] == ["ROWS\n1", "USE a", "nonsense", "SELECT 1"]
    assert len(live.engine.sessions) == 1


def test_the_history_has_a_statement_of_several_lines_as_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = ["SELECT 0;", "SELECT", "1;"]
    monkeypatch.setattr("gateway.cli.lines.readline", FakeHistory(entries))
    join_history(["FROM", "1;"])
    assert len(entries) == 3, "which are other lines"
    join_history(["SELECT", "1;"])
    assert entries == ["SELECT 0;", "SELECT\n1;"]


@dataclass
class FakeHistory:
    entries: list[str]

    def get_current_history_length(self) -> int:
        return len(self.entries)

    def get_history_item(self, number: int) -> str:
        return self.entries[number - 1]

    def remove_history_item(self, at: int) -> None:
        del self.entries[at]

    def add_history(self, entry: str) -> None:
        self.entries.append(entry)


def test_statement_line_numbers_are_shown(live: Live) -> None:
    given, shown_lines = iter(["SELECT", "", "1;", "SELECT 1;", "BEGIN", "SELECT 1; END", "/"]), list[Sequence[str]]()

    def read(_: str) -> str:
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    with ApiClient(live.url) as client:
        Shell(client, _WRITERS, io.StringIO(), io.StringIO(), read, shown_lines.append).run(None, None)
    assert shown_lines == [["SELECT", "1;"], ["BEGIN", "SELECT 1; END", "/"]]


def test_a_script_ends_with_a_slash(live: Live) -> None:
    script = "BEGIN\nSELECT 1;\nEND;"
    live.engine.answers[script.rstrip(";")] = rows(pa.table({"a": [7]}))
    out, _ = run_shell(live, *script.splitlines(), "/")
    assert " 7\n(1 row)" in out or "7\n(1 row)" in out


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("\\l", "SHOW CATALOGS"),
        ("\\dn", "SHOW SCHEMAS"),
        ("\\dt", "SHOW TABLES"),
        ("\\dt shop", "SHOW TABLES IN shop"),
        ("\\d shop.`odd name`", "DESCRIBE TABLE EXTENDED shop.`odd name`"),
        ("\\d a; DROP TABLE t", None),
        ("\\unknown", None),
    ],
)
def test_commands(live: Live, command: str, text: str | None) -> None:
    out, err = run_shell(live, command, "\\q", "SELECT 1;")
    assert [run.text for run in live.engine.runs] == ([text] if text else [])
    assert ("\\watch S" in out) == (text is None) and ("Unknown command" in err) == (text is None)


def test_typed_lines_can_be_forgotten(live: Live) -> None:
    run_shell(live, "SELECT", "\\c", "nothing", KeyboardInterrupt, "SELECT 1;")
    assert [run.text for run in live.engine.runs] == ["SELECT 1"]


def test_rows_in_another_format(live: Live) -> None:
    out, _ = run_shell(live, "\\format json", "SELECT 1;")
    assert json.loads(out.rpartition("]")[0] + "]") == [{"1": 1}]


def test_rows_go_into_a_file(live: Live, tmp_path: Path) -> None:
    lines = (
        "\\format parquet",
        f"\\o {tmp_path}/rows.parquet",
        "ROWS 3;",
        "\\format csv",
        f"\\o {tmp_path}/rows.csv",
        "ROWS 2;",
    )
    out, err = run_shell(live, *lines, f"\\o {tmp_path}/no/such", "SELECT 1;", "\\o", "\\format table", "SELECT 1;")
    assert pq.read_table(tmp_path / "rows.parquet").column("id").to_pylist() == [0, 1, 2]
    assert (tmp_path / "rows.csv").read_text() == "id,name\n0,row 0\n1,row 1\n"
    assert out.count("written to") == 2 and "1\n(1 row)" in out and "cannot be written: No such file" in err


def test_ctrl_c_cancels_the_statement_and_not_the_shell(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.engine.answers["SELECT slow"] = sleeps(60)
    monkeypatch.setattr("gateway.cli.client._SHORT_WAIT", "0s")
    texts: list[str] = []

    def interrupt(profile: object) -> str:
        texts.append(progress_text(profile))  # type: ignore[arg-type]
        if len(texts) == 1:
            assert eventually(lambda: bool(live.engine.runs))  # one that is cancelled earlier never reaches the engine
            raise KeyboardInterrupt
        return ""

    monkeypatch.setattr("gateway.cli.shell.progress_text", interrupt)
    out, err = run_shell(live, "SELECT slow;", "SELECT 1;", err=Terminal())
    assert texts and "cancelled" in err and "(1 row)" in out
    assert eventually(lambda: live.engine.runs[0].context.cancel.reason is not None)


def test_ctrl_c_while_rows_are_written_ends_no_shell(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.engine.answers["SELECT slow"] = sleeps(0.3)
    monkeypatch.setattr("gateway.cli.client._SHORT_WAIT", "0s")
    written: list[object] = []

    def interrupted(statement: Statement, out: TextIO) -> None:
        written.append(statement)
        if len(written) == 1:
            raise KeyboardInterrupt
        out.write("later rows")

    monkeypatch.setitem(_WRITERS, "table", interrupted)
    out, err = run_shell(live, "SELECT slow;", "SELECT 1;")
    assert len(written) == 2 and "cancelled" in err and "later rows" in out


def test_progress_is_one_line() -> None:
    tasks = {"total": 8, "running": 2, "done": 4, "failed": 0}
    profile = {"stage": "execute", "statements_begun": 0, "tasks": tasks, "rows": 5}
    profile["reads"] = [{"files": 2, "files_total": 9}]
    assert progress_text(profile) == "execute, 2 of 9 files, [##########..........] 4 of 8 tasks, 5 rows"
    assert progress_text(profile | {"statements_begun": 3}).startswith("statement 3, execute, 2 of 9 files")
    nothing: dict[str, Any] = {
        "stage": None,
        "statements_begun": 0,
        "tasks": dict.fromkeys(tasks, 0),
        "reads": [],
        "rows": 0,
    }
    assert progress_text(nothing) == "starting"


def test_names_and_keywords_are_completed(live: Live) -> None:
    live.engine.tables["shop", "orders"] = pa.table({"id": [1]})
    with ApiClient(live.url) as client:
        completer = Completer(client, None)
        assert completer.matches("shop.o") == ["shop.orders"]
        assert completer.matches("or") == ["orders", "or", "order"]
        assert [completer("SEL", at) for at in (0, 1)] == ["SELECT", None]


def test_completion_follows_the_session(live: Live) -> None:
    """Only the current schema's tables complete unqualified, and the server reports the current schema."""
    live.engine.tables["shop", "orders"] = live.engine.tables["other", "orbits"] = pa.table({"id": [1]})
    places = iter([("spark_catalog", "shop"), ("spark_catalog", "other")])

    def current(_: object) -> ResultStream:
        return string_rows(("catalog", "namespace"), [next(places)])

    commented = "/* back */ -- or\n use other"
    live.engine.answers |= {"SHOW CURRENT NAMESPACE": current, commented: lambda _: empty_result()}
    with ApiClient(live.url) as client:
        completer = Completer(client, None)
        found = []
        lines = iter(["USE shop;", "-- USE nothing\nSELECT 1;", f"{commented};"])

        def read(_: str) -> str:
            found.append([name for name in completer.matches("or") if name in ("orders", "orbits")])
            try:
                return next(lines)
            except StopIteration:
                raise EOFError from None

        shell = Shell(client, _WRITERS, io.StringIO(), io.StringIO(), read, on_place=completer.follow)
        assert shell.run(None, None) == 0
        assert found == [["orbits", "orders"], ["orders"], ["orders"], ["orbits"]]
        assert completer.matches("shop.or") == ["shop.orders"]


class Catalogs:
    """The part of a client that returns names: two catalogs with the same schema."""

    def ask(self, method: str, path: str) -> Any:
        found: dict[str, list[dict[str, str]]] = {
            "schemas": [{"name": "sales"}],
            "tables": [{"name": "orders_here" if "spark_catalog" in path else "orders_there"}],
        }
        kind = path.rpartition("/")[2].partition("?")[0]
        if kind == "catalogs":
            return {"catalogs": [{"name": "iceberg"}, {"name": "spark_catalog"}], "current": "spark_catalog"}
        return {kind: found[kind]}


@pytest.mark.parametrize(
    ("catalog", "short", "long"),
    [
        (None, "sales.orders_here", "iceberg.sales.orders_there"),
        ("ICEBERG", "sales.orders_there", "spark_catalog.sales.orders_here"),
    ],
)
def test_names_of_the_sessions_catalog_are_completed_without_it(catalog: str | None, short: str, long: str) -> None:
    """Whatever the order in which catalogs are listed."""
    completer = Completer(Catalogs(), catalog)  # type: ignore[arg-type]
    assert completer.matches("sales.") == [short] and completer.matches(long) == [long]
    assert completer.matches("orders_") == [short.partition(".")[2]]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("merge", "MERGE\n"),
        ("Optimize ;", "OPTIMIZE\n"),
        ("SHOW", "SHOW"),
        ("create table", "CREATE TABLE\n"),
        ("", "Queries: SELECT"),
        ("frobnicate", "No statement begins with FROBNICATE.\nQueries: SELECT"),
    ],
)
def test_help_on_a_statement_shows_its_syntax(words: str, first: str) -> None:
    assert syntax_help(words).startswith(first)
