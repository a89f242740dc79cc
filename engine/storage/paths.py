"""Data file paths: URI references (RFC 2396) relative to the table root, or absolute.

They are decoded exactly once; a partition directory is Hive-escaped *before* that encoding, so its `%` is `%25` in the
log.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.types.arrow_types import Array

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_ABSOLUTE = re.compile(r"/|[a-zA-Z][a-zA-Z0-9+.-]*:/")
# Characters that a URI path may contain besides letters and digits.
_PATH_SAFE = "/:;$&+=,@-_.!~*'()"


def decode_path(text: str) -> str:
    """Returns a log path, percent-decoded once."""
    return unquote(text) if "%" in text else text


def encode_path(path: str) -> str:
    """Returns a path as it is written to the log; the inverse of `decode_path`."""
    encoded = quote(path, safe=_PATH_SAFE)
    # A relative path whose first segment has a colon would be parsed as a scheme: `a:b` is `./a:b` or `a%3Ab` (RFC 2396
    # 5).
    if not is_absolute_path(path) and _SCHEME.match(encoded):
        head, slash, rest = encoded.partition("/")
        encoded = head.replace(":", "%3A") + slash + rest
    return encoded


def hadoop_path(path: str) -> str:
    """Returns an absolute path as the URI that Hadoop's `Path` has for it: letters beyond ASCII stay unchanged.

    delta-spark compares absolute log paths with these URIs as texts; relative ones are normalized first.
    """
    if path.isascii():
        return quote(path, safe=_PATH_SAFE)
    return "".join(char if char > "\x9f" and not char.isspace() else quote(char, safe=_PATH_SAFE) for char in path)


def is_absolute_path(path: str) -> bool:
    """Returns whether a decoded path is absolute, rather than under the table root."""
    return _ABSOLUTE.match(path) is not None


def resolve_path(path: str) -> str:
    """Returns the normalized spelling of a decoded path: `file:/x`, `file:///x` and `/x` are the same file."""
    if not path.startswith("file:"):
        return path
    rest = path[len("file:") :]
    if rest.startswith("//"):
        rest = rest[2:]
        rest = rest[rest.find("/") :] if "/" in rest else "/" + rest
    return rest if rest.startswith("/") else path


def paths_of(log_paths: Array) -> Array:
    """Returns decoded paths in normalized spelling; the same array if nothing has to be changed."""
    if not _mentions(log_paths, b"%") and not pc.any(pc.starts_with(log_paths, "file:")).as_py():
        return log_paths
    odd = pc.or_(pc.match_substring(log_paths, "%"), pc.starts_with(log_paths, "file:"))
    spelled = [resolve_path(decode_path(text)) for text in log_paths.filter(odd).to_pylist()]
    return pc.replace_with_mask(log_paths, odd, pa.array(spelled, pa.string()))


def _mentions(texts: Array, byte: bytes) -> bool:
    """Returns whether the byte occurs anywhere in the array's memory: several times faster than a search per text."""
    data = texts.buffers()[2]
    return data is not None and bool((np.frombuffer(data, np.uint8) == ord(byte)).any())
