"""The `delta-gateway sql` shell: texts to statements, commands, a session, and its output."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from engine.runtime.results import ResultStream, empty_result, string_rows
from gateway.cli.client import ApiClient, Statement, Variable
from gateway.cli.lines import NameCompleter, text_reader
from gateway.cli.output import Output
from gateway.cli.session import Session
from gateway.cli.shell import Shell, is_complete, progress_text, syntax_help, variable_of
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
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("begin\nSELECT 1;\nEND;", True),
        ("begin\nSELECT 1;", False),
        ("SELECT 1\n\\gset", True),
        ("", True),
        ("-- nothing", True),
        (" quit ", True),
        ("Exit;", True),
        ("help", True),
        ("help me", False),
    ],
)
def test_enter_sends_what_is_complete(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def make_shell(client: ApiClient, out: io.StringIO, err: io.StringIO) -> Shell:
    session = Session(client, on_reopen=lambda text: print(text, file=err))
    return Shell(session, Output(out, is_paging=False), err)


def reader_of(texts: tuple[str | type[BaseException], ...]) -> Callable[[str], str]:
    """Returns a reader for these texts after the pending one; an exception class is raised."""
    given = iter(texts)

    def read(pending: str) -> str:
        text = next(given, EOFError)
        if isinstance(text, str):
            return f"{pending}\n{text}" if pending else text
        raise text()

    return read


def run_shell(
    live: Live,
    *texts: str | type[BaseException],
    out: io.StringIO | None = None,
    err: io.StringIO | None = None,
    **options: Any,
) -> tuple[str, str]:
    """Returns a shell's outputs for these texts."""
    out, err = out or io.StringIO(), err or io.StringIO()
    with ApiClient(live.url) as client:
        shell = make_shell(client, out, err)
        for name, value in options.items():
            setattr(shell, name, value)
        assert shell.run_interactively(reader_of(texts)) == 0
    assert eventually(lambda: not live.registry.sessions())
    return out.getvalue(), err.getvalue()


def texts_of(live: Live) -> list[str]:
    return [run.text for run in live.engine.runs]


def test_statements_of_several_lines_run_in_one_session(live: Live) -> None:
    out, err = run_shell(live, "ROWS\n1; SELECT 1;", "USE a;", "nonsense;", "SELECT 1;")
    assert "id | name\n---+------\n 0 | row 0\n(1 row)\n" in out and out.count(" s\n") == 4
    assert err == "[PARSE_SYNTAX_ERROR.TEST] Syntax error at or near 'nonsense'. SQLSTATE: 42601\n"
    assert texts_of(live) == ["ROWS\n1", "SELECT 1", "USE a", "SHOW CURRENT NAMESPACE", "nonsense", "SELECT 1"]
    assert len(live.engine.sessions) == 1


def test_text_stops_at_its_first_error_and_the_shell_goes_on(live: Live) -> None:
    _, err = run_shell(live, "SELECT 1;\nnonsense;\nROWS 1;", "ROWS 2;")
    assert texts_of(live) == ["SELECT 1", "nonsense", "ROWS 2"]
    assert err.startswith("line 2: [PARSE_SYNTAX_ERROR.TEST]")


def test_a_script_is_one_statement(live: Live) -> None:
    script = "BEGIN\nSELECT 1;\nEND"
    live.engine.answers[script] = rows(pa.table({"a": [7]}))
    out, _ = run_shell(live, f"{script};", f"{script}\n/")
    assert out.count("7\n(1 row)") == 2


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("\\l", "SHOW CATALOGS"),
        ("\\dn", "SHOW SCHEMAS"),
        ("\\dt", "SHOW TABLES"),
        ("\\dt shop;", "SHOW TABLES IN shop"),
        ("\\d shop.`odd name`", "DESCRIBE TABLE EXTENDED shop.`odd name`"),
        ("\\d a; DROP TABLE t", None),
        ("\\unknown", None),
    ],
)
def test_commands_run_statements(live: Live, command: str, text: str | None) -> None:
    out, err = run_shell(live, command, "\\q", "SELECT 1;")
    assert texts_of(live) == ([text] if text else [])
    assert ("\\watch S" in out) == (text is None) and ("Unknown command" in err) == (text is None)


@pytest.mark.parametrize("bare", ["quit", "EXIT;", "\\q"])
def test_shell_is_left_by_words_of_other_shells(live: Live, bare: str) -> None:
    run_shell(live, bare, "SELECT 1;")
    assert texts_of(live) == []


def test_help_is_a_word_too(live: Live) -> None:
    out, err = run_shell(live, "help")
    assert "\\watch S" in out and err == ""


def test_typed_text_can_be_forgotten(live: Live) -> None:
    run_shell(live, "SELECT", "\\c", "nothing", KeyboardInterrupt, "SELECT 1;")
    assert texts_of(live) == ["SELECT 1"]


def test_rows_in_another_format(live: Live) -> None:
    out, _ = run_shell(live, "\\format json", "SELECT 1;")
    assert json.loads(out.rpartition("]")[0] + "]") == [{"1": 1}]


NULLS = pa.table({"i": pa.array([1, None]), "s": ["null", None]})


def test_null_is_written_as_ordered(live: Live) -> None:
    live.engine.answers["NULLS"] = rows(NULLS)
    out, _ = run_shell(live, "\\timing off", "\\null -", "NULLS;", "\\format csv", "\\null null", "NULLS;")
    assert out.splitlines()[1:] == [
        "i | s",
        "--+-----",
        "1 | null",
        "- | -",
        "(2 rows)",
        "i,s",
        '1,"null"',
        "null,null",
    ]


def test_expanded_rows_have_a_line_per_value(live: Live) -> None:
    out, _ = run_shell(live, "\\timing", "\\x", "ROWS 2;", "\\x off", "ROWS 1 \\gx")
    expected = "-[ ROW 1 ]-\nid   | 0\nname | row 0\n"
    assert f"A line per value is on.\n{expected}-[ ROW 2 ]-\nid   | 1\nname | row 1\n(2 rows)\n" in out
    assert out.endswith(f"A line per value is off.\n{expected}(1 row)\n")


def test_rows_on_a_terminal_are_limited_and_the_limit_is_reported(live: Live) -> None:
    out, _ = run_shell(live, "\\limit 2", "ROWS 3;", "\\limit 3", "ROWS 3;", "\\limit 0", "ROWS 1500;", out=Terminal())
    assert out.count("Only the first") == 1 and "(2 rows)\nOnly the first 2 rows are shown" in out
    assert "(3 rows)\n" in out and "(1500 rows)\n" in out


def test_rows_in_a_pipe_have_no_limit(live: Live) -> None:
    out, _ = run_shell(live, "\\limit 2", "ROWS 3;")
    assert "(3 rows)" in out and "Only" not in out


def test_variables_are_parameters_with_types(live: Live) -> None:
    live.engine.answers["SELECT :n, :text"] = rows(pa.table({"a": [7]}))
    row = pa.table({"id": [2**40], "name": ["it's"], "other": pa.array([None], pa.int32())})
    live.engine.answers["SELECT row"] = rows(row)
    out, err = run_shell(
        live, "\\set n 5", "\\set text 'a b'", "SELECT :n, :text;", "SELECT row \\gset my_", "\\set", "\\unset n"
    )
    (first,) = [run for run in live.engine.runs if run.text.startswith("SELECT :n")]
    assert [(each.name, each.value, each.sql_type) for each in first.parameters] == [
        ("n", "5", "INT"),
        ("text", "a b", "STRING"),
    ]
    assert "my_id = 1099511627776 (BIGINT)\nmy_name = it's (STRING)\nmy_other = None (INT)\nn = 5 (INT)\n" in out
    assert err == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-5", Variable("-5", "INT")),
        ("12345678901", Variable("12345678901", "BIGINT")),
        ("1.5", Variable("1.5", "DOUBLE")),
        ("TRUE", Variable("TRUE", "BOOLEAN")),
        ("'it''s 5'", Variable("it's 5", "STRING")),
        ("2024-01-01", Variable("2024-01-01", "STRING")),
    ],
)
def test_type_of_a_variable_follows_from_its_text(text: str, expected: Variable) -> None:
    assert variable_of(text) == expected


@pytest.mark.parametrize("text", ["ROWS 0", "ROWS 2"])
def test_variables_are_of_one_row_only(live: Live, text: str) -> None:
    _, err = run_shell(live, f"{text} \\gset", "SELECT 1;")
    assert "takes a result of one row" in err and texts_of(live) == [text, "SELECT 1"]


def test_files_are_run_with_their_commands(live: Live, tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.sql", tmp_path / "outer.sql"
    inner.write_text("SELECT 1;\n\nROWS 1")
    outer.write_text(f"\\i {inner}\nnonsense;\nSELECT 1;")
    _, err = run_shell(live, f"\\i {outer}", f"\\i {tmp_path}/none.sql", "ROWS 2;")
    assert texts_of(live) == ["SELECT 1", "ROWS 1", "nonsense", "ROWS 2"]
    assert f"{outer}:2: [PARSE_SYNTAX_ERROR.TEST]" in err and "none.sql cannot be read: No such file" in err


def test_file_that_runs_itself_ends(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "self.sql"
    file.write_text(f"\\i {file}")
    _, err = run_shell(live, f"\\i {file}")
    assert "files run each other more than 16 deep" in err


def test_edited_statement_runs_if_it_has_an_end(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf \'ROWS 3;\' > "$1.new"; cat "$1" >> "$1.new"; mv "$1.new" "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    run_shell(live, "SELECT 1;", "\\e", ";")
    assert texts_of(live) == ["SELECT 1", "ROWS 3", "SELECT 1"]


def test_failing_editor_is_reported(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/no/such/editor")
    _, err = run_shell(live, "SELECT 1;", "\\e", "ROWS 1;")
    assert err.startswith("/no/such/editor failed") and texts_of(live) == ["SELECT 1", "ROWS 1"]


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

    def interrupted(output: Output, statement: Statement) -> None:
        written.append(statement)
        if len(written) == 1:
            raise KeyboardInterrupt
        output.out.write("later rows")

    monkeypatch.setattr(Output, "write", interrupted)
    out, err = run_shell(live, "SELECT slow;", "SELECT 1;")
    assert len(written) == 2 and "cancelled" in err and "later rows" in out


def test_progress_is_one_line() -> None:
    tasks = {"total": 8, "running": 2, "done": 4, "failed": 0}
    profile = {"stage": "execute", "statements_begun": 0, "tasks": tasks, "rows": 5}
    profile["reads"] = [{"files": 2, "files_total": 9}]
    assert progress_text(profile) == "execute, 2 of 9 files, [##########..........] 4 of 8 tasks, 5 rows"
    assert progress_text(profile | {"statements_begun": 3}).startswith("statement 3, execute, 2 of 9 files")
    nothing: dict[str, object] = {
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
        completer = NameCompleter(client, None)
        assert completer.matches("shop.o") == ["shop.orders"]
        assert completer.matches("or") == ["orders", "or", "order"]
        completed = completer.get_completions(Document("SELECT a FROM\n(sho"), CompleteEvent())
        assert [(each.text, each.start_position) for each in completed] == [
            ("shop", -3),
            ("shop.orders", -3),
            ("show", -3),
        ]
        completed = completer.get_completions(Document(" \\gs"), CompleteEvent())
        assert [each.text for each in completed] == ["\\gset"]


def test_completion_follows_the_session(live: Live) -> None:
    """Only the current schema's tables complete unqualified, and the server reports the current schema."""
    live.engine.tables["shop", "orders"] = live.engine.tables["other", "orbits"] = pa.table({"id": [1]})
    places = iter([("spark_catalog", "shop"), ("spark_catalog", "other")])

    def current(_: object) -> ResultStream:
        return string_rows(("catalog", "namespace"), [next(places)])

    commented = "/* back */ -- or\n use other"
    live.engine.answers |= {"SHOW CURRENT NAMESPACE": current, commented: lambda _: empty_result()}
    with ApiClient(live.url) as client:
        completer = NameCompleter(client, None)
        found = []
        read = reader_of(("USE shop;", "-- USE nothing\nSELECT 1;", f"{commented};"))

        def read_and_complete(pending: str) -> str:
            found.append([name for name in completer.matches("or") if name in ("orders", "orbits")])
            return read(pending)

        shell = make_shell(client, io.StringIO(), io.StringIO())
        shell.session.on_place = completer.follow
        assert shell.run_interactively(read_and_complete) == 0
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
    completer = NameCompleter(Catalogs(), catalog)  # type: ignore[arg-type]
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


def test_session_is_opened_again_where_it_was(live: Live) -> None:
    """A server that was restarted knows no session; the statement runs in a new one, and the shell reports it once."""
    live.engine.tables["shop", "t"] = pa.table({"id": [1]})
    live.engine.answers["SHOW CURRENT NAMESPACE"] = lambda _: string_rows(
        ("catalog", "namespace"), [("spark_catalog", "shop")]
    )
    read = reader_of(("USE shop;", "SELECT 1;", "ROWS 1;"))

    def read_and_forget(pending: str) -> str:
        text = read(pending)
        if text == "SELECT 1;":
            for session in live.registry.sessions():
                live.registry.close_session(session.id, session.identity)
        return text

    out, err = io.StringIO(), io.StringIO()
    with ApiClient(live.url) as client:
        make_shell(client, out, err).run_interactively(read_and_forget)
    assert err.getvalue().count("A new one is open in spark_catalog.shop;") == 1
    assert texts_of(live) == ["USE shop", "SHOW CURRENT NAMESPACE", "SELECT 1", "ROWS 1"]
    assert [session.current_schema for session in live.engine.sessions] == ["shop", "shop"]


def test_restarted_server_is_reached_by_the_next_statement() -> None:
    """The connection that the former server had closed is not used again."""
    out, err = io.StringIO(), io.StringIO()
    with serving_http() as former:
        port = former.port
        client = ApiClient(former.url)
        shell = make_shell(client, out, err)
        assert shell._run_pieces("SELECT 1;")
    assert not shell._run_pieces("SELECT 2;") and "does not answer (Connection refused)" in err.getvalue()
    with serving_http(port=port) as live:
        assert shell._run_pieces("SELECT 1; ROWS 1;") and texts_of(live) == ["SELECT 1", "ROWS 1"]
        assert err.getvalue().count("A new one is open") == 1


def test_interrupted_request_leaves_a_usable_client(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection in the middle of a response would refuse each further request."""

    def interrupt(_: object) -> bytes:
        raise KeyboardInterrupt

    with ApiClient(live.url) as client:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("http.client.HTTPResponse.read", interrupt)
            client.ask("GET", "/api/2.0/catalog/catalogs")
        assert client.ask("GET", "/api/2.0/catalog/catalogs")["current"] == "spark_catalog"


class Keys:
    """A terminal's user: types keys once the server has run as many statements."""

    def __init__(self, live: Live, keys: dict[int, str], typed: PipeInput) -> None:
        self._live, self._keys, self._typed = live, keys, typed
        self.thread = threading.Thread(target=self._type, daemon=True)

    def _has_run(self, count: int) -> bool:
        return len(self._live.engine.runs) >= count

    def _type(self) -> None:
        for count, keys in self._keys.items():
            assert eventually(partial(self._has_run, count))
            self._typed.send_text(keys)


def test_user_edits_and_leaves_on_a_terminal(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter ends a statement only after its semicolon, the history has it as a whole, and Ctrl-C forgets a line."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    out, err = io.StringIO(), io.StringIO()
    with create_pipe_input() as typed, ApiClient(live.url) as client, ApiClient(live.url) as names:
        keys = Keys(live, {0: "ROWS\r1;\r", 1: "SELECT nothing\x03SELECT 1;\r", 2: "\\q\r"}, typed)
        read = text_reader(NameCompleter(names, None), source=typed, screen=DummyOutput())
        keys.thread.start()
        assert make_shell(client, out, err).run_interactively(read) == 0
        keys.thread.join()
    assert texts_of(live) == ["ROWS\n1", "SELECT 1"] and err.getvalue() == ""
    history = tmp_path / "delta-gateway" / "shell_history"
    assert "+ROWS\n+1;\n" in history.read_text() and os.stat(history).st_mode & 0o777 == 0o600
