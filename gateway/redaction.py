"""Takes secrets out of text that is kept: statements in the audit trail, and lines of the log.

By what precedes them (`password = '…'`, `"fs.s3a.secret.key": "…"`, `Authorization: …`), by their form (our tokens,
those of clouds, JWTs, keys in PEM) and by their place in a URL. What is taken out is written as `***`. It errs on the
safe side: a column that is called `token` loses what it is compared with.
"""

from __future__ import annotations

import re

HIDDEN = "***"

_NAME = r"(?:secret|passw(?:or)?d|pwd|token|access[._-]?key|api[._-]?key|authorization|signature|credential|sas)"
_VALUE = r"'(?:[^'\\]|\\.|'')*+(?:'|$)|\"(?:[^\"\\]|\\.|\"\")*+(?:\"|$)|[^\s'\",;)&]+"
"""A quoted one may be cut off."""

# Every repetition is bounded, possessive, or begins where none of its characters is before it: other patterns take time
# that grows with the square of the length of a text that was made for them.
_PATTERNS = (
    (
        re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|$)", re.S),
        HIDDEN,
    ),
    (
        re.compile(
            rf"(?i)({_NAME}[\w.-]{{0,40}}['\"`]?\s{{0,9}}(?:=>|=|:)\s{{0,9}})(?:(?:bearer|basic)\s{{1,9}})?(?:{_VALUE})"
        ),
        rf"\g<1>{HIDDEN}",
    ),
    (re.compile(r"\b((?i:bearer|basic))\s{1,9}(?=\S{0,99}[A-Z0-9=])[A-Za-z0-9+/._~=-]{8,}"), rf"\g<1> {HIDDEN}"),
    (re.compile(r"\b(?:dgp_|dapi)[A-Za-z0-9]{8,}|\bAKIA[0-9A-Z]{12,}"), HIDDEN),
    (re.compile(r"(?<![\w-])eyJ[\w-]++\.[\w-]++\.[\w-]*"), HIDDEN),
    (re.compile(r"(?i)([?&](?:sig|signature|x-amz-signature|x-amz-credential)=)[^&\s'\"]+"), rf"\g<1>{HIDDEN}"),
    (
        re.compile(r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,20}://)[^/\s'\"@:]{1,99}:[^/\s'\"@]{0,200}@"),
        rf"\g<1>{HIDDEN}@",
    ),
)
_LITERALS = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.|'')*'?|\"(?:[^\"\\]|\\.|\"\")*\"?|(?<![\w.`])\d[\w.]*")


def redact(text: str) -> str:
    """`text` without what may be a secret."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def without_literals(text: str) -> str:
    """A statement's text with `?` for each quoted text and number; names in backquotes stay."""
    return _LITERALS.sub(lambda found: found[0] if found[0].startswith("`") else "?", text)
