"""The key under which the answer of a query is kept: a digest of all that the answer follows from.

A query that is planned says it: the text that Spark gets, with the texts of the views, functions and policies that it
was expanded from, the version of each table (`Scan.pin`), values for its markers and variables, and how much of the
answer is wanted. Group membership
and grants have become part of the texts by then, or have refused the statement. Besides there are Spark's settings of
the session and, for an answer that depends on these, the principal and the current schema.

Comments and white space of the statement's own text do not count: some tools put the name of a user there.

In the place of versions a key has the files that Spark asks for, once a run has told which these are: a query asks for
those that may hold rows that satisfy its conditions, and rows of others do not become part of its answer. So an answer
outlives the commits that do not concern it, as where rows of today are added and the query is about last year. The
questions are part of such a key. Some have values that come from rows of another scan, as where a join leaves files
out: where each scan's questions lead to the same files as before, all rows that anything followed from are the same,
and so are those values. `FileListing.java` decides in the same way whether the tasks of a run can run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b

import pyarrow as pa

from engine.planning.plans.reads import ReadPlan
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import FileQuestion, Repeatable
from engine.spark.file_lists import chosen_files
from engine.spark.query import SessionFacts
from engine.sql.query.equal_texts import has_literal_of_now, without_comments

_FILES_MAX = 200
"""Files whose entries in the log are compared; reading so many takes longer than finding that they are the same."""
_CHOSEN_FROM_MAX = 50_000
_NO_FILES = pa.table({})
_TEXT_MAX = 20_000
"""Characters of a text of which is remembered what it is without comments."""
_TEXTS_MAX = 1000
_NAMES_BY_TEXT = "spark.sql.stablederivedcolumnalias.enabled"
"""With this setting of Spark a column may be called by the text that it is made of, comments included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadKey:
    """`text` is what is the same for all versions of the tables, and all principals; `always` has the versions too, or
    the files; `who` is the principal, and what names mean to it.
    """

    text: bytes
    always: bytes
    who: tuple[object, ...]

    def asker(self, repeatable: Repeatable | None) -> bytes:
        """Who asks for files with the same conditions: the query, or the principal with it."""
        return _digest((self.text, *self.who)) if repeatable is Repeatable.SESSION else self.text

    def with_questions(self, asked: Sequence[FileQuestion]) -> bytes:
        """What to remember the files by that these lead to."""
        return _digest((self.always, tuple(asked)))

    def with_files(self, files: bytes | None) -> ReadKey:
        """With the digest of files in the place of versions; None: itself."""
        return self if files is None else replace(self, always=_digest((self.text, files)))

    def of(self, repeatable: Repeatable | None) -> bytes:
        """The key of an answer that is known to be so. Where that is unknown, all who ask wait for the first answer."""
        return _digest((self.always, *self.who)) if repeatable is Repeatable.SESSION else self.always


def read_key(
    plan: ReadPlan, facts: SessionFacts, request: StatementRequest, parameters: Sequence[Parameter]
) -> ReadKey | None:
    """None: no key says all that the answer follows from, be it a file that is no table's or a text that means now; or
    rows that are other ones each time.
    """
    texts = (plan.text, *(view.text for view in plan.views))
    stamps = [given.rows.stamp for given in plan.given]
    if any(scan.pin is None for scan in plan.scans) or None in stamps:
        return None
    if any(map(_means_now, texts)):
        return None
    variables = request.variables
    settings = sorted(facts.settings.items())
    names_by_text = any(key.lower() == _NAMES_BY_TEXT for key in facts.settings)
    asked = (
        plan.text if names_by_text else _plain(plan.text),
        plan.views,
        tuple((given.relation, stamp and stamp()) for given, stamp in zip(plan.given, stamps, strict=True)),
        tuple((scan.relation, scan.label, scan.name, scan.table_root, scan.metadata) for scan in plan.scans),
        settings,
        tuple(parameters),
        tuple((scope.label, sorted(scope.variables.items())) for scope in (variables.session, *variables.scopes)),
        request.rows_wanted,
        request.bytes_wanted,
    )
    text = _digest(asked)
    always = _digest((text, tuple(scan.pin for scan in plan.scans)))
    return ReadKey(text=text, always=always, who=(request.identity.principal, facts.current))


def files_digest(plan: ReadPlan, asked: Sequence[FileQuestion]) -> bytes | None:
    """Of the files that the questions lead to in the scans of `plan`, and of how these are read. None where that takes
    longer than it may save, or a scan was asked for nothing.
    """
    left = _FILES_MAX
    parts: list[object] = [tuple(asked)]
    for number, scan in enumerate(plan.scans):
        parts.append(replace(scan, files=_NO_FILES, pin=None, lease=None))
        if scan.choice is None:
            parts.append(scan.pin)
            continue
        parts.append((scan.pin or "").partition(" ")[0])  # another table's files may have the same names
        questions = [each for each in asked if each.scan == number]
        if not questions or scan.files.num_rows > _CHOSEN_FROM_MAX:
            return None
        for question in questions:
            chosen = chosen_files(scan, question)
            rows = None if chosen is None else chosen.rows
            left -= scan.files.num_rows if rows is None else len(rows)
            if left < 0:
                return None
            parts.append((scan.files if rows is None else scan.files.take(rows)).to_pylist())
    return _digest(parts)


def _digest(value: object) -> bytes:
    """All values in it are frozen, and shown in full by `repr`."""
    return blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=24).digest()


def _plain(text: str) -> str:
    return _remembered_plain(text) if len(text) <= _TEXT_MAX else without_comments(text)


def _means_now(text: str) -> bool:
    return _remembered_means_now(text) if len(text) <= _TEXT_MAX else has_literal_of_now(text)


_remembered_plain = lru_cache(_TEXTS_MAX)(without_comments)
_remembered_means_now = lru_cache(_TEXTS_MAX)(has_literal_of_now)
