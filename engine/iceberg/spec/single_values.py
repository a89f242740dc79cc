"""Single-value serialization: converts a value to bytes and back, for bounds in manifests and manifest lists.

Values are as in `engine.iceberg.spec.transforms`: dates as days, times and timestamps as microseconds, decimals as
unscaled integers, texts, uuids and binaries as bytes.

Source: Iceberg table specification, "Appendix D: Single-value serialization".
"""

from __future__ import annotations

import struct

from engine.iceberg.spec.transforms import Value, after_text, unscaled_bytes
from engine.iceberg.spec.types import Kind, SimpleType

_FORMS = {
    Kind.INT: "<i",
    Kind.DATE: "<i",
    Kind.LONG: "<q",
    Kind.TIME: "<q",
    Kind.TIMESTAMP: "<q",
    Kind.TIMESTAMPTZ: "<q",
    Kind.TIMESTAMP_NS: "<q",
    Kind.TIMESTAMPTZ_NS: "<q",
    Kind.FLOAT: "<f",
    Kind.DOUBLE: "<d",
}


def to_bytes(type_: SimpleType, value: Value) -> bytes:
    """Serializes a value. Raises `ValueError` for a value outside the type."""
    if isinstance(value, bytes):
        return value
    if type_.kind is Kind.BOOLEAN:
        return b"\1" if value else b"\0"
    if type_.kind is Kind.DECIMAL and isinstance(value, int):
        return unscaled_bytes(value)
    form = _FORMS.get(type_.kind)
    if form is None:
        raise ValueError(f"{value!r} is no {type_.kind.value}")
    try:
        return struct.pack(form, value)
    except struct.error as error:
        raise ValueError(f"{value!r} is no {type_.kind.value}") from error


# For values written before the column's type was promoted.
_OLD_FORMS = {(Kind.LONG, 4): "<i", (Kind.DOUBLE, 4): "<f"}


def from_bytes(type_: SimpleType, data: bytes) -> Value:
    """Returns the value that `to_bytes` serialized; decimals remain bytes. Raises `ValueError` if invalid for the
    type.
    """
    if type_.kind is Kind.BOOLEAN:
        return data != b"\0"
    form = _OLD_FORMS.get((type_.kind, len(data)), _FORMS.get(type_.kind))
    if form is None:
        return data
    try:
        (value,) = struct.unpack(form, data)
    except struct.error as error:
        raise ValueError(f"{data!r} is no {type_.kind.value}") from error
    return value if isinstance(value, float) else int(value)


_TRUNCATED = frozenset([Kind.BINARY, Kind.FIXED])


def truncated_below(type_: SimpleType, value: bytes, length: int | None) -> bytes | None:
    """Returns a lower bound with at most `length` code points or bytes; None if impossible."""
    if length is None:
        return value
    if type_.kind is Kind.STRING:
        text = _text(value)
        return None if text is None else text[:length].encode()
    return value[:length] if type_.kind in _TRUNCATED else value


def truncated_above(type_: SimpleType, value: bytes, length: int | None) -> bytes | None:
    """Returns an upper bound in the same way."""
    if length is None:
        return value
    if type_.kind is Kind.STRING:
        text = _text(value)
        return None if text is None else value if len(text) <= length else after_text(text[:length])
    if type_.kind in _TRUNCATED and len(value) > length:
        return _after_bytes(value[:length])
    return value


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _after_bytes(value: bytes) -> bytes | None:
    """Returns bytes greater than all with this prefix."""
    prefix = value.rstrip(b"\xff")
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None
