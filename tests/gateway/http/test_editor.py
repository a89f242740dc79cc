"""Statements and parameters of an editor's text over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.editor import FORMAT_TEXT_MAX
from gateway.http.requests import EDITOR_TEXT_MAX
from tests.gateway.http.conftest import Api

PARSE, FORMAT = "/api/2.0/sql/parse", "/api/2.0/sql/format"


def parse(api: Api, text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.ask("POST", PARSE, {"statement": text})["statements"]
    return found


def cut(text: str, place: dict[str, Any]) -> str:
    """Returns the part as JavaScript's `slice` does."""
    return text.encode("utf-16-le")[2 * place["start"] : 2 * place["end"]].decode("utf-16-le")


def test_statements_and_parameters_are_where_they_are(api: Api) -> None:
    text = "SELECT '𝄞;:no', :day, `é𝄞:x`;\n BEGIN SELECT :n; SELECT :day || '𝄞'; END;\n -- :no\n SELECT a:b, :day::date"
    found = parse(api, text)
    assert [cut(text, each) for each in found] == [
        "SELECT '𝄞;:no', :day, `é𝄞:x`",
        "BEGIN SELECT :n; SELECT :day || '𝄞'; END",
        "-- :no\n SELECT a:b, :day::date",
    ]
    parameters = [[(each["name"], cut(text, each)) for each in one["parameters"]] for one in found]
    assert parameters == [[("day", ":day")], [("n", ":n"), ("day", ":day")], [("day", ":day")]]
    assert [each["is_terminated"] for each in found] == [True, True, False]
    assert not api.engine.runs and not api.registry.sessions()


@pytest.mark.parametrize("text", ["", " ; ;", "-- only a comment", "\\d t"])
def test_text_without_statements_has_none(api: Api, text: str) -> None:
    assert parse(api, text) == []


def test_unfinished_text_is_one_statement(api: Api) -> None:
    (found,) = parse(api, "SELECT 'a; SELECT :b")
    assert (found["start"], found["end"], found["parameters"]) == (0, 20, [])


@pytest.mark.parametrize("body", [{}, {"statement": 1}, {"statement": None}, {"text": "x"}])
def test_invalid_body_is_rejected(api: Api, body: object) -> None:
    assert api.refuse("POST", PARSE, body) == (400, "INVALID_PARAMETER_VALUE")


def test_long_text_is_rejected(api: Api) -> None:
    assert parse(api, "x" * EDITOR_TEXT_MAX)
    assert api.refuse("POST", PARSE, {"statement": "x" * (EDITOR_TEXT_MAX + 1)}) == (400, "INVALID_PARAMETER_VALUE")


def test_text_is_formatted(api: Api) -> None:
    text = "select a,b from t where x=:p; -- first\nselect 1"
    formatted = "SELECT a, b\nFROM t\nWHERE x = :p; -- first\n\nSELECT 1\n"
    assert api.ask("POST", FORMAT, {"statement": text}) == {"statement": formatted, "changed": True}
    assert api.ask("POST", FORMAT, {"statement": formatted}) == {"statement": formatted, "changed": False}
    assert not api.engine.runs and not api.registry.sessions()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT 1;\n  SELECT a b c FROM t", (2, 14)),
        ("SELECT 1;\nSELECT 'open", (2, 8)),
        ("SELECT 1; /* open", (1, 11)),
        ("SELECT 1;\n\nBEGIN\n  SELECT 1\nEND", (5, 4)),
    ],
)
def test_syntax_error_has_its_place_in_the_whole_text(api: Api, text: str, place: tuple[int, int]) -> None:
    response = api.request("POST", FORMAT, {"statement": text})
    answer = response.get_json()
    assert (response.status_code, answer["condition"].split(".")[0]) == (400, "PARSE_SYNTAX_ERROR")
    assert (answer["line"], answer["column"]) == place


def test_text_that_would_change_is_rejected(api: Api) -> None:
    answer = api.request("POST", FORMAT, {"statement": "\\d t"}).get_json()
    assert (answer["condition"], answer["line"], answer["column"]) == ("FORMAT_NOT_POSSIBLE", 1, 1)


def test_text_too_long_to_format_is_rejected(api: Api) -> None:
    body = {"statement": "x" * (FORMAT_TEXT_MAX + 1)}
    assert api.refuse("POST", FORMAT, body) == (400, "INVALID_PARAMETER_VALUE")
