"""Parse text to run: a statement of any kind, EXECUTE IMMEDIATE, or a script.

What is here begins with words that `parser.py` refuses; all else it reads.
"""

from __future__ import annotations

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.parser import guarded, parse_tokens, parse_unguarded
from engine.statements.scripting.grammar import parse_script
from engine.statements.scripting.grammar_identifiers import parse_named_by_expressions, with_literal_names
from engine.statements.scripting.grammar_immediate import parse_execute_immediate
from engine.statements.scripting.statement import Executable, NamedByExpressions
from engine.statements.statement import AnyStatement
from engine.statements.variables.grammar import parse_declare, parse_drop_variable, parse_set_variables


def parse_program(text: str) -> Executable:
    """What is all of `text`. Raises a `SqlError` and never another exception."""
    return guarded(text, _parse_program)


def _parse_program(text: str) -> Executable:
    try:
        tokens = tokenize(text)
    except TokenError:
        return parse_unguarded(text)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    text, tokens = with_literal_names(text, tokens)
    cursor = Cursor(text, tokens)
    if cursor.words(1) == ["BEGIN"] and cursor.words(2)[1:] not in ([], ["TRANSACTION"], ["WORK"]):
        return parse_script(text, tokens, _parse_in_script)
    if len(tokens) > 2 and tokens[1].token_type == TokenType.COLON and tokens[2].text.upper() == "BEGIN":
        raise SyntaxFailure("a script begins with BEGIN; only blocks inside of it have labels", tokens[0].start)
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        return parse_tokens(text, tokens)
    named = parse_named_by_expressions(text, tokens)
    return named or _parse_about_variables(cursor, tokens) or parse_tokens(text, tokens)


def _parse_in_script(text: str) -> AnyStatement | NamedByExpressions:
    tokens = tokenize(text)
    return parse_named_by_expressions(text, tokens) or parse_tokens(text, tokens)


def _parse_about_variables(cursor: Cursor, tokens: list[Token]) -> Executable | None:
    if cursor.take("EXECUTE", "IMMEDIATE"):
        return parse_execute_immediate(cursor)
    if cursor.take("DECLARE"):
        return parse_declare(cursor)
    for words in (("DROP", "TEMPORARY"), ("DROP", "TEMP")):
        if cursor.take(*words, "VARIABLE") or cursor.take(*words, "VAR"):
            return parse_drop_variable(cursor)
    is_setting = len(tokens) > 2 and tokens[2].token_type in (TokenType.EQ, TokenType.DOT)  # SET var.x = 1
    if not is_setting and (cursor.take("SET", "VARIABLE") or cursor.take("SET", "VAR")):
        return parse_set_variables(cursor)
    return None
