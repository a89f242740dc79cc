"""Literals for a statement's parameter markers, in conditions that the engine stores and inserts into other texts.

A REPLACE WHERE condition is evaluated on existing and on new rows, and is shown in the history; none of these texts may
contain markers. A value becomes a literal with its type, as Spark does for a parameter.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from catalog.conditions import StatementNotSupported
from engine.runtime.parameters import Parameter
from engine.sql.dialect.dialect import tokenize
from engine.sql.dialect.type_text import NoType, ensure_is_type

_ENDS_VALUE = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET})


def with_values(text: str, parameters: Sequence[Parameter]) -> tuple[str, int]:
    """Returns `text` with literals instead of its markers, and the number of positional parameters it used."""
    positional = [parameter for parameter in parameters if parameter.name is None]
    named = {parameter.name: parameter for parameter in parameters if parameter.name is not None}
    edits: list[tuple[int, int, Parameter]] = []
    used = 0
    tokens = [Token(TokenType.SEMICOLON, ""), *tokenize(text)]
    for before, token, follower in zip(tokens, tokens[1:], [*tokens[2:], tokens[0]], strict=False):
        if token.token_type == TokenType.PLACEHOLDER and used < len(positional):
            edits.append((token.start, token.end + 1, positional[used]))
            used += 1
        elif token.token_type == TokenType.COLON and before.token_type not in _ENDS_VALUE and follower.text in named:
            edits.append((token.start, follower.end + 1, named[follower.text]))
    for start, end, parameter in reversed(edits):
        text = text[:start] + literal_text(parameter) + text[end:]
    return text, used


def find_markers(text: str) -> tuple[int, tuple[str, ...]]:
    """Returns the number of positional markers in `text`, and the names of the others by their first use."""
    positional, names = 0, dict[str, None]()
    tokens = [Token(TokenType.SEMICOLON, ""), *tokenize(text)]
    for before, token, follower in zip(tokens, tokens[1:], [*tokens[2:], tokens[0]], strict=False):
        if token.token_type == TokenType.PLACEHOLDER:
            positional += 1
        elif token.token_type == TokenType.COLON and before.token_type not in _ENDS_VALUE:
            if token.end + 1 == follower.start and follower.text.isidentifier():
                names[follower.text] = None
    return positional, tuple(names)


def markers_by_number(text: str, prefix: str) -> str:
    """Returns `text` with the markers `:{prefix}1`, `:{prefix}2`, …, in the order of `find_markers`: names have one
    number each.
    """
    _, names = find_markers(text)
    numbers = {name: number for number, name in enumerate(names, 1)}
    pieces, end, positional = list[str](), 0, len(names)
    tokens = [Token(TokenType.SEMICOLON, ""), *tokenize(text)]
    for before, token, follower in zip(tokens, tokens[1:], [*tokens[2:], tokens[0]], strict=False):
        start, last = token.start, token.end
        if token.token_type == TokenType.PLACEHOLDER:
            positional += 1
            number = positional
        elif token.token_type == TokenType.COLON and before.token_type not in _ENDS_VALUE and follower.text in numbers:
            number, last = numbers[follower.text], follower.end
        else:
            continue
        pieces += text[end:start], f":{prefix}{number}"
        end = last + 1
    return "".join((*pieces, text[end:]))


def literal_text(parameter: Parameter) -> str:
    """Returns a parameter as SQL. Raises `StatementNotSupported` for a variable, and for an invalid type."""
    if parameter.members is not None:
        return f"{parameter.sql_type}({', '.join(map(literal_text, parameter.members))})"
    if parameter.row_value is not None:
        raise StatementNotSupported("A variable as a parameter of a REPLACE condition")
    try:
        ensure_is_type(parameter.sql_type)
    except NoType as wrong:
        raise StatementNotSupported(f"A parameter of the type {parameter.sql_type}") from wrong
    if parameter.value is None:
        return f"CAST(NULL AS {parameter.sql_type})"
    escaped = parameter.value.replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST('{escaped}' AS {parameter.sql_type})"
