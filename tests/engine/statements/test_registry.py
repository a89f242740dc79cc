"""The statement registry: each statement is declared, and its example parses to its type."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from engine.runtime.statement import Statement
from engine.statements.parse import parse
from engine.statements.registry import FAMILIES, LEADING_WORDS, STATEMENTS
from engine.statements.spec import Repetition, StatementSpec

WRITTEN = [spec for spec in STATEMENTS.values() if spec.example]


@pytest.mark.parametrize("spec", WRITTEN, ids=[spec.title for spec in WRITTEN])
def test_example_is_parsed_to_the_statement(spec: StatementSpec[Statement]) -> None:
    assert type(parse(spec.example)) is spec.statement


# The statements whose outcome is unknown if another process had begun them: changes of tokens and of files in volumes,
# and procedures, which do not record their statement, and a variable's value, which may depend on the old one.
_NOT_REPEATED = (
    *("CREATE TOKEN", "REVOKE TOKEN", "PUT", "DROP VOLUME"),
    *("CALL", "CALL snapshot", "CALL register_table", "SET VARIABLE"),
)


def test_only_changes_that_record_no_statement_are_not_repeated() -> None:
    unknown = [spec.title for spec in WRITTEN if spec.repetition(parse(spec.example)) is Repetition.UNKNOWN]
    assert sorted(unknown) == sorted(_NOT_REPEATED)


def test_no_statement_is_registered_twice() -> None:
    assert sum(map(len, FAMILIES.values())) == len(STATEMENTS)


def test_every_statement_is_registered() -> None:
    """The registry imports all families' modules, so all subclasses are loaded here."""
    found = {
        kind for kind in Statement.__subclasses__() if getattr(sys.modules[kind.__module__], kind.__name__) is kind
    }
    assert {kind for kind in found if kind.__module__.startswith("engine.")} == set(STATEMENTS)


def test_a_spec_has_no_defaults() -> None:
    defaults = [
        field.name
        for field in dataclasses.fields(StatementSpec)
        if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    ]
    assert not defaults


def test_documented_statements_have_syntax_and_an_example() -> None:
    """A statement without text, for example a driver's metadata call, has neither."""
    assert not [spec.title for spec in STATEMENTS.values() if bool(spec.syntax) != bool(spec.example)]


def test_leading_words_are_upper_case() -> None:
    assert all(head and all(word == word.upper() for word in head) for head in LEADING_WORDS)
