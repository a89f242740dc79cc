"""The cache key for a query's result: a digest over everything that determines the result.

A planned query provides it: the text for Spark, with the texts of the views, functions and policies from which it was
expanded, each table's version (`Scan.pin`), values for its markers and variables, and the requested row limit. By then,
group membership and grants are either part of the texts, or have rejected the statement. The session's Spark settings
are included too and, if the result depends on them, the principal and the current schema.

Comments and white space in the statement's own text are ignored: some tools include a user name there.

Instead of versions, a key contains the files that Spark requests, once a run has reported them: a query requests the
files that may contain rows that satisfy its conditions, and other files do not affect its result. So a result survives
unrelated commits, for example if today's rows are added and the query reads last year's. The file requests are part of
the key. Some contain values from another scan's rows, for example in a join with file pruning: if each scan's requests
return the same files as before, all rows from which these values derive are the same, and so are the values.
`FileListing.java` decides in the same way whether a run's tasks can be retried.
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
from engine.runtime.results import FileListRequest, Repeatable
from engine.spark.file_lists import pruned_files
from engine.spark.query import SessionFacts
from engine.sql.query.equal_texts import without_comments

# Maximum number of files whose log entries are compared; reading more takes longer than the comparison may save.
_FILES_MAX = 200
_PRUNED_FROM_MAX = 50_000
_NO_FILES = pa.table({})
# Maximum characters of a text whose form without comments is cached.
_TEXT_MAX = 20_000
_TEXTS_MAX = 1000
# With this Spark setting a column's name may be its expression's text, comments included.
_NAMES_BY_TEXT = "spark.sql.stablederivedcolumnalias.enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadKey:
    """A key's parts. `text` is equal for all table versions and all principals; `always` also contains the versions, or
    the files; `who` contains the principal and its name resolution.
    """

    text: bytes
    always: bytes
    who: tuple[object, ...]

    def request_scope(self, repeatable: Repeatable | None) -> bytes:
        """Returns the scope in which file requests are equal: the query, or the query and the principal."""
        return _digest((self.text, *self.who)) if repeatable is Repeatable.SESSION else self.text

    def with_file_requests(self, file_requests: Sequence[FileListRequest]) -> bytes:
        """Returns the key under which the files for these requests are remembered."""
        return _digest((self.always, tuple(file_requests)))

    def with_files(self, files: bytes | None) -> ReadKey:
        """Returns the key with the digest over files instead of versions; None: itself."""
        return self if files is None else replace(self, always=_digest((self.text, files)))

    def of(self, repeatable: Repeatable | None) -> bytes:
        """Returns the result's key. If repeatability is unknown, all identical queries wait for the first result."""
        return _digest((self.always, *self.who)) if repeatable is Repeatable.SESSION else self.always


def read_key(
    plan: ReadPlan, facts: SessionFacts, request: StatementRequest, parameters: Sequence[Parameter]
) -> ReadKey | None:
    """Returns None if the result is not cacheable: unversioned files, a DataFrame plan, or rows that always differ."""
    stamps = [given.rows.stamp for given in plan.given]
    if any(scan.pin is None for scan in plan.scans) or None in stamps:
        return None
    if any(view.frame is not None for view in plan.views):
        return None
    variables = request.variables
    settings = sorted(facts.settings.items())
    names_by_text = any(key.lower() == _NAMES_BY_TEXT for key in facts.settings)
    file_requests = (
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
    text = _digest(file_requests)
    always = _digest((text, tuple(scan.pin for scan in plan.scans)))
    return ReadKey(text=text, always=always, who=(request.identity.principal, facts.current))


def files_digest(plan: ReadPlan, file_requests: Sequence[FileListRequest]) -> bytes | None:
    """Digests the files that the requests select in the scans of `plan`, and how they are read. None if this takes
    longer than it may save, or if a scan had no request.
    """
    left = _FILES_MAX
    parts: list[object] = [tuple(file_requests)]
    for number, scan in enumerate(plan.scans):
        parts.append(replace(scan, files=_NO_FILES, pin=None, credentials_id=None))
        if scan.pruning is None:
            parts.append(scan.pin)
            continue
        parts.append((scan.pin or "").partition(" ")[0])  # another table's files may have the same names
        scan_requests = [each for each in file_requests if each.scan == number]
        if not scan_requests or scan.files.num_rows > _PRUNED_FROM_MAX:
            return None
        for file_request in scan_requests:
            pruned = pruned_files(scan, file_request)
            rows = None if pruned is None else pruned.rows
            left -= scan.files.num_rows if rows is None else len(rows)
            if left < 0:
                return None
            parts.append((scan.files if rows is None else scan.files.take(rows)).to_pylist())
    return _digest(parts)


def _digest(value: object) -> bytes:
    """Digests `value`; all values in it are frozen, and shown completely by `repr`."""
    return blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=24).digest()


def _plain(text: str) -> str:
    return _cached_plain(text) if len(text) <= _TEXT_MAX else without_comments(text)


_cached_plain = lru_cache(_TEXTS_MAX)(without_comments)
