"""Failures of file systems behind fsspec, as `OSError`.

fsspec translates what a server answers. What happens on the way to it stays an error of the client's own (botocore's
`ConnectionClosedError`, say), which is no `OSError`; code that recognizes failures of a
storage by that class would take it for a bug, and a put whose answer was lost for one that did not happen. Where a
client finds no credentials at all it is `PermissionError`, as where they are refused.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from catalog.errors import SqlError

_NO_CREDENTIALS = frozenset(["NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"])
"""Classes of botocore and google-auth."""


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Around calls of fsspec, also as a decorator."""
    try:
        yield
    except (OSError, SqlError):
        raise
    except Exception as error:
        if type(error).__name__ in _NO_CREDENTIALS:
            raise PermissionError(errno.EACCES, str(error)) from error
        raise OSError(errno.EIO, f"{type(error).__name__}: {error}") from error
