"""Redacts secrets in stored text: statements in the audit log, and log lines.

Secrets are recognized by the preceding key (`password = '…'`, `"fs.s3a.secret.key": "…"`, `Authorization: …`), by their
format (our tokens, cloud providers' tokens, JWTs, PEM keys), by their position in a URL and by their position in a
statement: arguments to functions that take keys, values for variables and parameters. They are replaced by `***`.
Redaction errs on the safe side: a value that is compared with a column called `token` is redacted too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

HIDDEN = "***"

_NAME = (
    r"(?:secret|passw(?:or)?d|passphrase|pwd|token|authorization|signature|credential|sas"
    r"|(?:access|account|api|encryption|master|private|shared)[._-]?key)"
)
_TAIL = r"[\w.@-]{0,200}+['\"`]?"
_QUOTED = r"'(?:[^'\\]|\\.|'')*+(?:'|$)|\"(?:[^\"\\]|\\.|\"\")*+(?:\"|$)"
# A quoted value may be truncated.
_VALUE = rf"{_QUOTED}|[^\s'\",;)&]+"

# Every repetition is bounded, possessive, or begins at a position that no repeated character precedes: other patterns
# take quadratic time on texts made for them.
_PATTERNS = (
    (
        re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|$)", re.S),
        HIDDEN,
    ),
    (
        re.compile(rf"(?i)({_NAME}{_TAIL}\s{{0,9}}(?:=>|=|:)\s{{0,9}})(?:(?:bearer|basic)\s{{1,9}})?(?:{_VALUE})"),
        rf"\g<1>{HIDDEN}",
    ),
    (
        re.compile(
            rf"(?i)(\bSET\s{{1,9}}(?=[\w@`-]{{0,99}}\.)[\w.@`-]{{0,200}}{_NAME}{_TAIL}\s{{0,9}}=\s{{0,9}})[^;'\"\n]++"
        ),
        rf"\g<1>{HIDDEN}",
    ),
    (
        re.compile(rf"(?i)({_NAME}{_TAIL}(?:\s{{1,9}}|(?<=['\"`])\s{{0,9}},\s{{0,9}}))(?:{_QUOTED})"),
        rf"\g<1>{HIDDEN}",
    ),
    (re.compile(r"\b((?i:bearer|basic))\s{1,9}(?=\S{0,99}[A-Z0-9=])[A-Za-z0-9+/._~=-]{8,}"), rf"\g<1> {HIDDEN}"),
    (re.compile(r"\b(?:dgp_|dapi)[A-Za-z0-9]{8,}|\bAKIA[0-9A-Z]{12,}"), HIDDEN),
    (re.compile(r"(?<![\w-])eyJ[\w-]++\.(?:eyJ[\w-]*+|[\w-]++\.)[\w.-]*"), HIDDEN),  # also a truncated one
    (re.compile(r"(?i)([?&](?:sig|signature|x-amz-signature|x-amz-credential)=)[^&\s'\"]+"), rf"\g<1>{HIDDEN}"),
    (
        re.compile(r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,20}://)[^/\s'\"@:]{1,99}:[^/\s'\"@]{0,200}@"),
        rf"\g<1>{HIDDEN}@",
    ),
)
_CREDENTIALS_FOLLOW = re.compile(r"(?i)\b(?:create|alter)\b")
_BEFORE_CATALOG = frozenset({"CREATE", "ALTER", "OR", "REPLACE", "FOREIGN", "EXTERNAL"})
# SQL's tokens: in a comment a quote has no meaning, in a raw text a backslash, and in a `$$` text both.
_TOKEN = re.compile(
    r"(?P<comment>--(?:\\\n|[^\n])*+|/\*)"
    r"|(?P<text>\$(?P<tag>[A-Za-z_]\w*)?\$(?s:.*?)(?:\$(?(tag)(?P=tag))\$|\Z)"
    r"|(?<!\w)[rR](?:'[^']*+'?|\"[^\"]*+\"?)"
    r"|'(?:[^'\\]|\\(?s:.)|'')*+(?:'|\\?\Z)|\"(?:[^\"\\]|\\(?s:.)|\"\")*+(?:\"|\\?\Z))"
    r"|(?P<number>(?<![\w.`])\d[\w.]*+)"
    r"|(?P<name>`[^`]*`|[^\W\d]\w*+(?!['\"]))"
    r"|(?P<mark>[();])"
)
_LITERAL_KEYWORDS = frozenset({"true", "false", "null"})
_KEYED_CALLS = frozenset({"AES_ENCRYPT", "AES_DECRYPT", "TRY_AES_DECRYPT", "HMAC"})
_KEYED_CALL = re.compile(rf"(?i)\b(?:{'|'.join(sorted(_KEYED_CALLS))})\b")
_ASSIGNMENT = re.compile(r"(?i)\b(?:declare|set|immediate)\b")
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def redact(text: str) -> str:
    """Returns `text` with possible secrets redacted."""
    begin = _CREDENTIALS_FOLLOW.search(text)
    if begin is not None:
        text = text[: begin.start()] + _without_catalog_options(text[begin.start() :])
    if _KEYED_CALL.search(text) is not None:
        text = _without_keyed_arguments(text)
    if _ASSIGNMENT.search(text) is not None:
        text = _without_assigned_values(text)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def without_literals(text: str) -> str:
    """Returns a statement's text with `?` for each quoted text and number, also in comments; names in backticks
    stay.
    """
    shown = {"text": "?", "number": "?", "comment": "/*?*/"}
    return "".join(shown.get(kind, part) for kind, part in _tokens(text))


def identifiers(text: str) -> frozenset[str]:
    """Returns the identifiers and keywords in a statement's text in lower case, without backticks."""
    names = (part.lower() for kind, part in _tokens(text) if kind == "name")
    return frozenset(name.strip("`") for name in names if name not in _LITERAL_KEYWORDS)


def _without_catalog_options(text: str) -> str:
    """Returns `text` without the literals in parentheses in CREATE CATALOG and ALTER CATALOG, for every option name:
    catalog secrets have many names.
    """
    parts: list[str] = []
    follows = is_catalog = False
    depth = 0
    for kind, part in _tokens(text):
        match kind:
            case "name":
                word = part.upper()
                is_catalog = is_catalog or (follows and word == "CATALOG")
                follows = word in ("CREATE", "ALTER") or (follows and word in _BEFORE_CATALOG)
            case "mark":
                depth = max(0, depth + (part == "(") - (part == ")"))
                is_catalog = is_catalog and (part != ";" or depth > 0)
            case "text" | "number" | "comment" if is_catalog and depth:
                part = HIDDEN
        parts.append(part)
    return "".join(parts)


def _without_keyed_arguments(text: str) -> str:
    """Returns `text` without the arguments to functions that take a key, and without quoted texts that name them."""
    parts: list[str] = []
    is_named = False
    depth = 0
    for kind, part in _tokens(text):
        if depth:
            depth += (part == "(") - (part == ")") if kind == "mark" else 0
            if not depth:
                parts += HIDDEN, part
            continue
        if kind == "mark" and part == "(" and is_named:
            depth = 1
        elif kind == "text" and _KEYED_CALL.search(part) is not None:
            part = HIDDEN
        if kind != "comment" and part.strip():
            is_named = kind == "name" and part.strip("`").upper() in _KEYED_CALLS
        parts.append(part)
    return "".join(parts) + (HIDDEN if depth else "")


def _without_assigned_values(text: str) -> str:
    """Returns `text` without the literals assigned to variables (`DECLARE … DEFAULT`, `SET VAR`, `SET` in a script) and
    without the ones that EXECUTE IMMEDIATE passes as parameters, or may assign itself.
    """
    parts: list[str] = []
    statement, last = "", ""
    is_script = is_variable = is_value = False
    for kind, part in _tokens(text):
        word = part.upper() if kind == "name" else ""
        match last, word:
            case _, "DECLARE":
                statement, is_variable = word, True
            case "SET", "VAR" | "VARIABLE":
                statement, is_variable = "SET", True
            case ((";" | "BEGIN" | "THEN" | "ELSE" | "DO" | "LOOP" | "REPEAT"), "SET") if is_script:
                statement, is_variable = word, True
            case "EXECUTE", "IMMEDIATE":
                statement = word
            case _, "CURSOR" | "HANDLER" | "CONDITION" if statement == "DECLARE":
                is_variable = False
            case _, "BEGIN":
                is_script = True
            case _:  # any other pair of words
                pass
        if kind == "mark" and part == ";":
            statement, is_variable, is_value = "", False, False
        is_value = is_value or (is_variable and (word == "DEFAULT" or (not kind and "=" in part)))
        is_value = is_value or (statement == "IMMEDIATE" and word == "USING")
        is_assigned = statement == "IMMEDIATE" and kind == "text" and _ASSIGNMENT.search(part) is not None
        is_literal = kind in ("text", "number", "comment")
        parts.append(HIDDEN if is_literal and (is_value or is_assigned) else part)
        if kind != "comment" and part.strip():
            last = word or part
    return "".join(parts)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yields all parts of `text`, each with its kind: a group in :data:`_TOKEN`, or empty for the text between."""
    end = 0
    while (found := _TOKEN.search(text, end)) is not None:
        if found.start() > end:
            yield "", text[end : found.start()]
        end = _comment_end(text, found.end()) if found[0] == "/*" else found.end()
        yield found.lastgroup or "", text[found.start() : end]
    yield "", text[end:]


def _comment_end(text: str, begin: int) -> int:
    """Returns the end of the comment that contains `begin`; comments nest."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(text, begin):
        depth += 1 if edge[0] == "/*" else -1
        if not depth:
            return edge.end()
    return len(text)
