"""Parses SQL scripts: `BEGIN … END` → a tree of blocks, with each statement parsed by the statement grammar.

Blocks are found here, over sqlglot's tokens: each statement ends at a semicolon, which no statement contains; a
condition ends at THEN, DO and similar words, outside parentheses and CASE … END. The entire script is parsed, and its
labels and declarations are checked, before any statement runs. Names are bound statement by statement, at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from catalog.conditions import (
    ConditionAtWrongPlace,
    CursorAlreadyExists,
    CursorAtWrongPlace,
    DropVariableInScript,
    DuplicateCondition,
    HandlerAtWrongPlace,
    LocalVariableReplaced,
    ScriptTooDeep,
    VariableNotAtBeginning,
    VariableOutsideBlock,
)
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_LEADING_WORDS, SyntaxFailure, tokenize
from engine.sql.dialect.tokens import Token, TokenType
from engine.sql.query.query import parse_query
from engine.sql.query.source_text import join_texts, slice_text
from engine.sql.query.values import Query
from engine.statements.scripting.grammar_declarations import (
    Declared,
    Labels,
    ensure_new_handler,
    ensure_sqlstate,
    parse_cursor_statement,
    parse_declare_cursor,
    read_conditions,
)
from engine.statements.scripting.grammar_immediate import parse_execute_immediate
from engine.statements.scripting.statement import (
    CASE_SCOPE,
    CASE_VALUE,
    Branch,
    Compound,
    ConditionalPart,
    DeclareCursor,
    For,
    Handler,
    HandlerKind,
    Iterate,
    Leave,
    Loop,
    NamedByExpressions,
    RunnableStatement,
    Script,
    ScriptPart,
)
from engine.statements.variables.grammar import parse_declare, parse_set_variables, row_query
from engine.statements.variables.statement import DeclareVariables

# The maximum block depth.
NESTING_MAX = 100

_BODY_ENDS = frozenset({"END", "ELSEIF", "ELSE", "WHEN", "UNTIL"})
_LITERALS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER, TokenType.NUMBER})
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})

ParseStatement = Callable[[str], RunnableStatement | NamedByExpressions]
_Parsed = TypeVar("_Parsed")


def parse_script(text: str, tokens: Sequence[Token], parse_statement: ParseStatement) -> Script:
    """Parses the script in `tokens`. Raises `SyntaxFailure`, or a `SqlError` for unsupported statements."""
    reader = _ScriptReader(text, tokens, parse_statement)
    body = reader.compound(None, is_whole=True)
    reader.ensure_done()
    return Script(body=body)


class _ScriptReader:
    """A cursor over the script; each method starts at its construct's first token."""

    def __init__(self, text: str, tokens: Sequence[Token], parse_statement: ParseStatement) -> None:
        self._text = text
        self._tokens = tokens
        self._parse_statement = parse_statement
        self._index = 0
        self._depth = 0
        self._labels = Labels()
        self._conditions: list[set[str]] = []

    def compound(self, label: str | None, *, is_whole: bool = False) -> Compound:
        """Parses `BEGIN [NOT ATOMIC] declarations statements END [label]`; a whole script has no label."""
        self._read("BEGIN")
        if self._take("NOT"):
            self._read("ATOMIC")
        self._enter()
        self._conditions.append(set())
        handlers: list[Handler] = []
        declared = Declared()
        parts: list[ScriptPart] = []
        with self._labels.within(label, is_loop=False):
            while self._word() not in _BODY_ENDS and not self._is_done:
                if self._word() == "DECLARE":
                    parts += self._declaration(declared, handlers)
                else:
                    declared.has_statement = True
                    parts.append(self._part())
                self._read(";")
        self._read("END")
        if not is_whole:
            self._read_end_label(label)
        self._conditions.pop()
        self._depth -= 1
        return Compound(body=tuple(parts), label=label, handlers=tuple(handlers))

    def ensure_done(self) -> None:
        if not self._is_done:
            raise self._fail("the end of the script is expected")

    def _declaration(self, declared: Declared, handlers: list[Handler]) -> list[ScriptPart]:
        """Parses one DECLARE in a block, in the order required for its kind."""
        kind, name = self._declared_kind()
        if kind == "HANDLER":
            if declared.has_statement:
                raise HandlerAtWrongPlace()
            declared.has_handler = True
            handlers.append(self._handler(handlers))
            return []
        if kind == "CONDITION":
            if declared.has_statement or declared.has_handler or declared.cursors:
                raise ConditionAtWrongPlace(name)
            self._condition(name)
            return []
        if kind == "CURSOR":
            if declared.has_statement or declared.has_handler:
                raise CursorAtWrongPlace(name)
            return [self._declare_cursor(declared)]
        if declared.has_statement or declared.has_handler or declared.cursors:
            raise VariableNotAtBeginning(name)
        return [self._declare(name)]

    def _declare_cursor(self, declared: Declared) -> DeclareCursor:
        text, start = self._statement_text()
        cursor = Cursor(text, tokenize(text))
        cursor.read("DECLARE")
        statement = self._with_offset(start, lambda: parse_declare_cursor(cursor))
        if statement.name.lower() in declared.cursors:
            raise CursorAlreadyExists(statement.name)
        declared.cursors.add(statement.name.lower())
        return statement

    def _declared_kind(self) -> tuple[str, str]:
        """Returns HANDLER, CONDITION, CURSOR or VARIABLE, and the declared name."""
        words = [self._word(ahead) for ahead in range(4)]
        if words[1] in ("EXIT", "CONTINUE") and words[2] == "HANDLER":
            return "HANDLER", ""
        name = next((token for token in self._tokens[self._index + 1 :] if self._is_plain(token)), None)
        if words[2] == "CURSOR" or (words[2] in ("ASENSITIVE", "INSENSITIVE") and words[3] == "CURSOR"):
            return "CURSOR", self._tokens[self._index + 1].text
        return ("CONDITION" if words[2] == "CONDITION" else "VARIABLE"), name.text if name else ""

    @staticmethod
    def _is_plain(token: Token) -> bool:
        return token.text.upper() not in ("OR", "REPLACE", "VARIABLE", "VAR")

    def _declare(self, name: str) -> DeclareVariables:
        text, start = self._statement_text()
        cursor = Cursor(text, tokenize(text))
        cursor.read("DECLARE")
        statement = self._with_offset(start, lambda: parse_declare(cursor))
        if statement.or_replace:
            raise LocalVariableReplaced(name)
        return statement

    def _condition(self, name: str) -> None:
        """Parses `DECLARE name CONDITION [FOR SQLSTATE [VALUE] 'state']`; only SQL itself raises conditions by name."""
        self._index += 3
        if self._take("FOR"):
            self._read("SQLSTATE")
            self._take("VALUE")
            ensure_sqlstate(self._read_string())
        if name.upper() in self._conditions[-1]:
            raise DuplicateCondition(name.upper())
        self._conditions[-1].add(name.upper())

    def _handler(self, others: Sequence[Handler]) -> Handler:
        """Parses `DECLARE EXIT|CONTINUE HANDLER FOR conditions statement`."""
        kind = HandlerKind(self._word(1))
        self._index += 3
        self._read("FOR")
        cursor = Cursor(self._text, self._tokens[self._index :])
        conditions = read_conditions(cursor, frozenset().union(*self._conditions))
        self._index = len(self._tokens) - cursor.count
        if self._word() == "BEGIN":
            body = self.compound(None)
        else:
            self._enter()
            body = Compound(body=(self._leaf(),))
            self._depth -= 1
        handler = Handler(
            kind=kind,
            body=body,
            conditions=conditions.names,
            sqlstates=conditions.sqlstates,
            sql_exception=conditions.sql_exception,
            not_found=conditions.not_found,
        )
        ensure_new_handler(handler, others)
        return handler

    def _body(self) -> tuple[ScriptPart, ...]:
        """Parses a branch's or loop's statements, at least one."""
        parts: list[ScriptPart] = []
        while not parts or (self._word() not in _BODY_ENDS and not self._is_done):
            if self._word() == "DECLARE":
                kind, name = self._declared_kind()
                if kind == "HANDLER":
                    raise HandlerAtWrongPlace()
                raise ConditionAtWrongPlace(name) if kind == "CONDITION" else VariableOutsideBlock(name)
            parts.append(self._part())
            self._read(";")
        return tuple(parts)

    def _part(self) -> ScriptPart:
        label = None
        # `SELECT :p` begins with a parameter; SELECT is reserved and cannot be a label.
        if self._is_name() and self._type(1) == TokenType.COLON and self._word() not in ("SELECT", "VALUES"):
            label = self._tokens[self._index].text.lower()
            self._index += 2
        word = self._word()
        if word == "BEGIN":
            return self.compound(label)
        self._enter()
        try:
            if word in ("WHILE", "REPEAT", "LOOP"):
                return self._loop(word, label)
            if word == "FOR":
                return self._for(label)
            if label is not None:
                raise self._fail("BEGIN, WHILE, REPEAT, LOOP or FOR is expected behind a label")
            if word == "IF":
                return self._if()
            if word == "CASE":
                return self._case()
            return self._jump(word) if word in ("LEAVE", "ITERATE") else self._leaf()
        finally:
            self._depth -= 1

    def _if(self) -> ConditionalPart:
        """Parses `IF condition THEN … [ELSEIF condition THEN …] [ELSE …] END IF`."""
        branches: list[Branch] = []
        while self._take("IF" if not branches else "ELSEIF"):
            branches.append(self._branch("THEN"))
        otherwise = self._body() if self._take("ELSE") else ()
        self._read("END")
        self._read("IF")
        return ConditionalPart(branches=tuple(branches), otherwise=otherwise)

    def _case(self) -> ConditionalPart:
        """Parses `CASE [expression] WHEN … THEN … [ELSE …] END CASE`."""
        self._read("CASE")
        subject = None
        if self._word() != "WHEN":
            text, start = self._expression("WHEN")
            subject = row_query([text], start)
        branches = []
        while self._take("WHEN"):
            branches.append(self._branch("THEN", compared=subject is not None))
        if not branches:
            raise self._fail("WHEN is expected")
        otherwise = self._body() if self._take("ELSE") else ()
        self._read("END")
        self._read("CASE")
        return ConditionalPart(branches=tuple(branches), otherwise=otherwise, subject=subject)

    def _branch(self, stop: str, *, compared: bool = False) -> Branch:
        condition, shown = self._condition_query(stop, compared=compared)
        self._read(stop)
        return Branch(condition=condition, shown=shown, body=self._body())

    def _condition_query(self, stop: str, *, compared: bool = False) -> tuple[Query, str]:
        text, start = self._expression(stop)
        check_text = join_texts((f"`{CASE_SCOPE}`.`{CASE_VALUE}` = (", text, "\n)")) if compared else text
        return row_query([check_text], start), text

    def _loop(self, word: str, label: str | None) -> Loop:
        """Parses `WHILE condition DO …`, `REPEAT … UNTIL condition`, `LOOP …`, each up to `END word [label]`."""
        self._read(word)
        before = after = None
        body: tuple[ScriptPart, ...] = ()
        with self._labels.within(label, is_loop=True):
            if word == "WHILE":
                before = self._branch("DO")
            else:
                body = self._body()
            if word == "REPEAT":
                self._read("UNTIL")
                condition, shown = self._condition_query("END")
                after = Branch(condition=condition, shown=shown, body=())
        self._read("END")
        self._read(word)
        self._read_end_label(label)
        return Loop(body=before.body if before else body, label=label, before=before, after=after)

    def _for(self, label: str | None) -> For:
        """Parses `FOR [name AS] query DO … END FOR [label]`."""
        self._read("FOR")
        variable = None
        if self._is_name() and self._word(1) == "AS" and self._word() not in QUERY_LEADING_WORDS:
            variable = self._tokens[self._index].text.lower()
            self._index += 2
        text, start = self._expression("DO")
        query = self._with_offset(start, lambda: parse_query(Cursor(text, tokenize(text))))
        self._read("DO")
        with self._labels.within(label, is_loop=True), self._labels.with_variable(variable):
            body = self._body()
        self._read("END")
        self._read("FOR")
        self._read_end_label(label)
        return For(query=query, body=body, variable=variable, label=label)

    def _jump(self, word: str) -> Leave | Iterate:
        self._index += 1
        if not self._is_name():
            raise self._fail("a label is expected")
        label = self._tokens[self._index].text.lower()
        self._index += 1
        self._labels.ensure_may_jump(word, label)
        return Leave(label=label) if word == "LEAVE" else Iterate(label=label)

    def _leaf(self) -> ScriptPart:
        """Parses a statement without blocks, up to its semicolon."""
        text, start = self._statement_text()
        cursor = Cursor(text, tokenize(text))
        if cursor.words(2) != ["SET", "CATALOG"] and cursor.take("SET"):
            if not cursor.has_ahead("="):
                raise SyntaxFailure("SET in a script assigns variables: name = value is expected", start)
            return self._with_offset(start, lambda: parse_set_variables(cursor))
        if cursor.take("EXECUTE", "IMMEDIATE"):
            return self._with_offset(start, lambda: parse_execute_immediate(cursor))
        if cursor.take("DROP", "TEMPORARY", "VARIABLE") or cursor.take("DROP", "TEMP", "VARIABLE"):
            raise DropVariableInScript()
        if cursor.words(1) in (["OPEN"], ["FETCH"], ["CLOSE"]):
            return self._with_offset(start, lambda: parse_cursor_statement(cursor))
        if cursor.words(1) == ["RESET"]:
            raise SyntaxFailure("RESET is not allowed in a script", start)
        return self._with_offset(start, lambda: self._parse_statement(text))

    def _statement_text(self) -> tuple[str, int]:
        first = self._index
        while not self._is_done and self._type() != TokenType.SEMICOLON:
            self._index += 1
        return self._slice(first, "a statement")

    def _expression(self, stop: str) -> tuple[str, int]:
        """Returns the text up to the word `stop`, outside parentheses and CASE, and its start position."""
        first, depth, cases = self._index, 0, 0
        while not self._is_done and self._type() != TokenType.SEMICOLON:
            word = self._word() if self._type(-1) != TokenType.DOT else ""
            if depth == 0 and cases == 0 and word == stop:
                break
            depth += (self._type() in _OPENING) - (self._type() in _CLOSING)
            cases += word == "CASE"
            cases -= word == "END" and cases > 0
            self._index += 1
        return self._slice(first, "an expression")

    def _slice(self, first: int, what: str) -> tuple[str, int]:
        if self._index == first:
            raise self._fail(f"{what} is expected")
        start = self._tokens[first].start
        return slice_text(self._text, start, self._tokens[self._index - 1].end + 1), start

    @staticmethod
    def _with_offset(start: int, parse: Callable[[], _Parsed]) -> _Parsed:
        """Returns `parse`'s result for a text that begins at `start`; errors get their position in the script."""
        try:
            return parse()
        except SyntaxFailure as failure:
            raise SyntaxFailure(failure.reason, start + failure.offset) from None

    def _read_end_label(self, label: str | None) -> None:
        if self._is_name():
            self._labels.ensure_ends(label, self._tokens[self._index].text.lower())
            self._index += 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise ScriptTooDeep(NESTING_MAX)

    @property
    def _is_done(self) -> bool:
        return self._index >= len(self._tokens)

    def _type(self, ahead: int = 0) -> TokenType:
        index = self._index + ahead
        return self._tokens[index].token_type if 0 <= index < len(self._tokens) else TokenType.SEMICOLON

    def _word(self, ahead: int = 0) -> str:
        """Returns the token in upper case; empty for a literal, a quoted name, or the end."""
        index = self._index + ahead
        if index >= len(self._tokens) or self._tokens[index].token_type in _LITERALS:
            return ""
        return self._tokens[index].text.upper()

    def _is_name(self) -> bool:
        return Cursor(self._text, self._tokens[self._index : self._index + 1]).is_name()

    def _take(self, word: str) -> bool:
        found = self._word() == word
        self._index += found
        return found

    def _read(self, word: str) -> None:
        if not self._take(word):
            raise self._fail(f"{word} is expected")

    def _read_string(self) -> str:
        if self._type() not in (TokenType.STRING, TokenType.RAW_STRING):
            raise self._fail("a string in quotes is expected")
        self._index += 1
        return self._tokens[self._index - 1].text

    def _fail(self, reason: str) -> SyntaxFailure:
        return SyntaxFailure(reason, self._tokens[self._index].start if not self._is_done else len(self._text))
