"""`df.inputFiles()`: the files of the tables and files that a plan reads, as the user may see them.

Each is a query of `_metadata.file_path`, with its privileges. Views, and tables with a row filter or column masks, do
not have that column; files without rows are left out.
"""

from __future__ import annotations

from collections.abc import Callable

from catalog.conditions import ConnectFeatureNotSupported
from catalog.errors import SqlError
from engine.sql.query.source_text import GeneratedText
from gateway.connect.inputs import ALL_COLUMNS
from gateway.connect.plans import plan_of
from gateway.connect.proto import pb2
from gateway.sessions.session import Session
from gateway.sessions.waiting import ended, rows_of

_FILES = "SELECT DISTINCT _metadata.file_path AS file FROM "
_NO_TABLE = "UNRESOLVED_COLUMN"
_HIDDEN = "inputFiles of a view, a change feed, or a table with a row filter or column masks"
_ADVICE = "Read the table by its name, or select _metadata.file_path in SQL."


def input_files(relation: pb2.Relation, session: Session, is_active: Callable[[], bool]) -> list[str]:
    """Returns the paths, each once. Raises `ConnectFeatureNotSupported` for a plan over a view, a protected table or a
    SQL text, and the errors of the queries.
    """
    files: set[str] = set()
    for one in plan_of(relation).inputs:
        if not isinstance(one.text, GeneratedText):
            raise ConnectFeatureNotSupported("inputFiles of a SQL text", _ADVICE)
        operation = session.execute(GeneratedText(_FILES + one.text.removeprefix(ALL_COLUMNS)))
        try:
            with ended(session, operation, is_active):
                files |= {_uri(path) for path in rows_of(operation).column(0).to_pylist() if path}
        except SqlError as error:
            if not error.condition.startswith(_NO_TABLE):
                raise
            raise ConnectFeatureNotSupported(_HIDDEN, _ADVICE) from error
    return sorted(files)


def _uri(path: str) -> str:
    """Returns a path as Spark spells it in `inputFiles`: with an empty host."""
    return path if path.startswith("file://") else path.replace("file:/", "file:///", 1)
