"""Parses statistics that one writer wrote: objects with the same keys in the same order, without blanks.

In these texts everything except the values is equal. So the commas delimit the values. The code compares the other
bytes to the first text, eight bytes at a time, and converts the values to columns without a JSON parser, in about 60 %
of its time::

    {"numRecords":5,"minValues":{"a":1,"b":"x"},"nullCount":{"a":0,"b":0}}
    ^before        ^               ^   ^           ^ `behind` in the piece `"b":"x"}`

A text that may have another form is not read here, and nothing is read differently than by a parser: other keys, an
escape, a comma within a string, `null`, blanks, numbers that are not JSON or do not fit their type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.types.arrow_types import Array

_Path: TypeAlias = tuple[str, ...]
_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Places: TypeAlias = npt.NDArray[np.int64]
_PIECE = re.compile(r'((?:"[^"]*":\{)*)"([^"]*)":(?:(")[^"]*"|-?[0-9][-+.0-9eE]*|(true|false))(\}*)')
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_OPENED = re.compile(r'"([^"]*)":\{')
_ROWS_MIN = 64
_LOOKED_AT = 4
_VALUES_AT_ONCE = 1 << 15
_WORD = 8
_DIGITS_MAX = 2 * _WORD
# If a column's first integer has more digits, others may have more than `_DIGITS_MAX`.
_DIGITS_LIKELY = 13


@dataclass(frozen=True, slots=True)
class _Piece:
    """The text between two commas: one value, preceded by keys and followed by quote and braces."""

    path: _Path
    before: bytes
    behind: bytes
    # The JSON type: string, bool, or float64 for any number.
    kind: Any
    # The value's length in the first text.
    length: int


def read_uniform(texts: Array, wire: Any) -> Any:
    """Returns a `wire` table with a row per text, or None if the texts do not have one form.

    The texts contain no nulls and begin and end with a brace. `wire` has the JSON names; its leaves are string, bool,
    int64, float64 and decimals.
    """
    # Comparing the texts has a fixed cost that few rows do not repay.
    if len(texts) < _ROWS_MIN:
        return None
    pieces, structs = _form(texts[0].as_py())
    types = dict(_leaves(wire, ()))
    if (
        not pieces
        or len(pieces[0].before) < _WORD
        or not _are_alike(texts, pieces)
        or not _fits(pieces, structs, types)
    ):
        return None
    values = _values(texts, pieces, types)
    if values is None:
        return None
    arrays = [_assemble(field.type, (field.name,), values, structs, len(texts)) for field in wire]
    return pa.Table.from_arrays(arrays, schema=wire)


# --- The form ------------------------------------------------------------------------------------------------------


def _form(text: str) -> tuple[Sequence[_Piece], set[_Path]]:
    """Returns an object's pieces and the paths of nested objects; empty if it has another form."""
    none: tuple[Sequence[_Piece], set[_Path]] = ((), set())
    pieces: list[_Piece] = []
    structs: set[_Path] = set()
    path: list[str] = []
    parts = text[1:].split(",")
    for number, part in enumerate(parts):
        match = _PIECE.fullmatch(part)
        if match is None:
            return none
        for name in _OPENED.findall(match[1]):
            path.append(name)
            if tuple(path) in structs:
                return none
            structs.add(tuple(path))
        quote, braces = match[3] or "", match[5]
        before = ("{" if number == 0 else "") + part[: match.end(2) + 2] + quote
        kind = pa.string() if quote else pa.bool_() if match[4] else pa.float64()
        length = len(part) - match.end(2) - 2 - 2 * len(quote) - len(braces)
        pieces.append(_Piece((*path, match[2]), before.encode(), (quote + braces).encode(), kind, length))
        is_last = number == len(parts) - 1
        if len(braces) != len(path) + 1 if is_last else len(braces) > len(path):
            return none
        del path[max(len(path) - len(braces), 0) :]
    paths = {piece.path for piece in pieces}
    return (pieces, structs) if len(paths) == len(pieces) and not paths & structs else none


def _leaves(fields: Any, path: _Path) -> Iterator[tuple[_Path, Any]]:
    for field in fields:
        here = (*path, field.name)
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, here)
        else:
            yield here, field.type


def _fits(pieces: Sequence[_Piece], structs: set[_Path], types: Mapping[_Path, Any]) -> bool:
    """Returns whether the pieces have the requested types, and at least half of them are requested.

    A parser skips unrequested values faster than this module reads them.
    """
    inner = {path[:depth] for path in types for depth in range(1, len(path))}
    if any(path in types for path in structs) or any(piece.path in inner for piece in pieces):
        return False
    fitting = [piece for piece in pieces if piece.path in types]
    return 2 * len(fitting) >= len(pieces) and all(_is_of(piece.kind, types[piece.path]) for piece in fitting)


def _is_of(kind: Any, target: Any) -> bool:
    if pa.types.is_floating(kind):
        return bool(pa.types.is_integer(target) or pa.types.is_floating(target) or pa.types.is_decimal(target))
    return bool(kind == target)


def _are_alike(texts: Array, pieces: Sequence[_Piece]) -> bool:
    """Compares a sample of texts, to avoid useless work."""
    step = max(1, len(texts) // _LOOKED_AT)
    for text in [texts[row].as_py().encode() for row in range(0, len(texts), step)]:
        parts = text.split(b",")
        if len(parts) != len(pieces):
            return False
        for part, piece in zip(parts, pieces, strict=True):
            if not part.startswith(piece.before) or not part.endswith(piece.behind):
                return False
    return True


# --- Value positions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Check:
    """Bytes that the pieces `columns` have up to `distance` before their values (or their ends): eight as a word."""

    columns: npt.NDArray[np.int64]
    distance: int
    words: npt.NDArray[np.uint64]
    masks: npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Form:
    """The parts that all texts have in common. Lengths are per piece; `quotes` is the number of quotes in a text."""

    before: Sequence[_Check]
    behind: Sequence[_Check]
    before_lengths: _Places
    behind_lengths: _Places
    quotes: int


def _form_of(pieces: Sequence[_Piece]) -> _Form:
    before, behind = [piece.before for piece in pieces], [piece.behind for piece in pieces]
    return _Form(
        _checks(before),
        _checks(behind),
        np.array([len(text) for text in before]),
        np.array([len(text) for text in behind]),
        sum(text.count(b'"') for text in (*before, *behind)),
    )


def _checks(wanted: Sequence[bytes]) -> list[_Check]:
    checks = []
    for distance in range(0, max(map(len, wanted)), _WORD):
        columns = [column for column, text in enumerate(wanted) if len(text) > distance]
        parts = [wanted[column][: len(wanted[column]) - distance][-_WORD:] for column in columns]
        words = np.array([int.from_bytes(part.rjust(_WORD, b"\0"), "little") for part in parts], np.uint64)
        masks = np.array([2**64 - (1 << 8 * (_WORD - len(part))) for part in parts], np.uint64)
        checks.append(_Check(np.array(columns), distance, words, masks))
    return checks


def _find(signs: _Bytes, bounds: _Places, form: _Form) -> tuple[_Places, _Places] | None:
    """Finds the start and end of all values, by text and piece, for the texts in `signs` between `bounds`.

    Returns None if a text has another form. Texts with the same number of quotes, all in the expected positions, have
    none within a value, so each comma is a delimiter.
    """
    count, pieces = len(bounds) - 1, len(form.before_lengths)
    own = signs[bounds[0] : bounds[-1]]
    # An escape could hide a quote or a comma, and JSON forbids control characters in
    # strings: both are left to the parser.
    if own.min() < ord(" ") or (own == ord("\\")).any() or np.count_nonzero(own == ord('"')) != form.quotes * count:
        return None
    commas = np.flatnonzero(own == ord(","))
    if len(commas) != count * (pieces - 1):
        return None
    commas = commas.reshape(count, pieces - 1) + bounds[0]
    first = np.concatenate([bounds[:-1, None], commas + 1], axis=1) + form.before_lengths
    ends = np.concatenate([commas, bounds[1:, None]], axis=1)
    stop = ends - form.behind_lengths
    # With a neighbor's commas, a piece would begin after its end. The first text is the form; before all others there
    # is space for whole words.
    rows = slice(int(bounds[0] == 0), None)
    if (first > stop).any() or not _has(signs, first[rows], form.before) or not _has(signs, ends[rows], form.behind):
        return None
    return first, stop


def _is_utf8(texts: Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _has(signs: _Bytes, ends: _Places, checks: Sequence[_Check]) -> bool:
    """Returns whether all rows in `ends` are preceded by each column's expected bytes."""
    for check in checks:
        places = ends if len(check.columns) == ends.shape[1] else ends[:, check.columns]
        words = _words(signs, places - check.distance if check.distance else places)
        words ^= check.words
        words &= check.masks
        if words.any():
            return False
    return True


def _words(signs: _Bytes, ends: _Places) -> npt.NDArray[np.uint64]:
    """Returns the eight bytes before each position in `ends`, with the last byte as the most significant."""
    # As integers they would be unaligned, which numpy processes more slowly.
    words = np.ndarray((len(signs) - _WORD + 1,), f"V{_WORD}", signs.data, strides=(1,))
    return words[ends - _WORD].view("<u8")


# --- The values ----------------------------------------------------------------------------------------------------


def _values(texts: Array, pieces: Sequence[_Piece], types: Mapping[_Path, Any]) -> dict[_Path, Array] | None:
    """Returns the values by path, or None if a value does not match its type or a text has another form."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = data.slice(bounds[0], bounds[-1] - bounds[0])
    bounds -= bounds[0]
    signs = np.frombuffer(data, np.uint8)
    if signs.max() >= 0x80 and not _is_utf8(texts):
        return None
    kinds = [types.get(piece.path, piece.kind) for piece in pieces]
    integers = [
        column
        for column, (piece, kind) in enumerate(zip(pieces, kinds, strict=True))
        if pa.types.is_integer(kind) and piece.length <= _DIGITS_LIKELY
    ]
    others = sorted(set(range(len(pieces))) - set(integers))
    to_cast = [column for column in others if pa.types.is_floating(pieces[column].kind)]
    numbers = np.empty((len(integers), len(texts)), np.int64)
    places = np.empty((len(texts), len(others), 2), np.int32)
    form = _form_of(pieces)
    step = max(1, _VALUES_AT_ONCE // len(pieces))
    for start in range(0, len(texts), step):
        part = slice(start, min(start + step, len(texts)))
        found = _find(signs, bounds[part.start : part.stop + 1], form)
        if found is None:
            return None
        first, stop = found
        places[part, :, 0], places[part, :, 1] = first[:, others], stop[:, others]
        read = _integers(signs, first[:, integers], stop[:, integers])
        if read is None or not _are_numbers(signs, first[:, to_cast], stop[:, to_cast]):
            return None
        numbers[:, part] = read.T
    columns = {pieces[column].path: pa.array(values.copy()) for column, values in zip(integers, numbers, strict=True)}
    # A string array that alternates the values and the bytes between them, without copying.
    spans = pa.StringArray.from_buffers(max(places.size - 1, 0), pa.py_buffer(places.reshape(-1)), data)
    rows = np.arange(len(texts)) * (2 * len(others))
    for at, column in enumerate(others):
        values = _cast(pc.take(spans, pa.array(rows + 2 * at), boundscheck=False), kinds[column])
        if values is None:
            return None
        columns[pieces[column].path] = values
    return columns


def _integers(signs: _Bytes, first: _Places, stop: _Places) -> npt.NDArray[np.int64] | None:
    """Parses JSON integers with at most `_DIGITS_MAX` digits, eight digits at a time. Returns None for other input."""
    leading = signs[first]
    is_negative = leading == ord("-")
    if is_negative.any():
        first = first + is_negative
        leading = signs[first]
    lengths = stop - first
    if not lengths.size:
        return lengths
    longest = lengths.max()
    # JSON has no leading zeros, which the eight-digit step would accept.
    if longest > _DIGITS_MAX or lengths.min() < 1 or ((leading == ord("0")) & (lengths > 1)).any():
        return None
    numbers = _eight_digits(_words(signs, stop), np.minimum(lengths, _WORD))
    if numbers is None:
        return None
    if longest > _WORD:
        columns = np.flatnonzero(lengths.max(axis=0) > _WORD)
        higher = np.maximum(lengths[:, columns] - _WORD, 0)
        upper = _eight_digits(_words(signs, stop[:, columns] - _WORD), higher)
        if upper is None:
            return None
        numbers[:, columns] += upper * 10**_WORD
    return np.where(is_negative, -numbers, numbers) if is_negative.any() else numbers


def _eight_digits(words: npt.NDArray[np.uint64], lengths: _Places) -> npt.NDArray[np.int64] | None:
    """Parses the last `lengths` (0 to 8) digits in each word. Returns None if a character is not a digit.

    A word's digits go from the lowest byte to the highest. Neighbors are added pairwise, with the left one multiplied
    by ten, a hundred and ten thousand, so that three steps produce one number.
    """
    # Shifts out the bytes before the digits and shifts in zeros; a shift by 64 bits would do nothing.
    others = ((_WORD - lengths) * 8).astype(np.uint64)
    half = others >> np.uint64(1)
    words ^= np.uint64(0x3030303030303030)
    words >>= half
    words >>= others - half
    words <<= half
    words <<= others - half
    if (((words + np.uint64(0x7676767676767676)) | words) & np.uint64(0x8080808080808080)).any():
        return None
    words = (words * np.uint64(10) + (words >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    words = (words * np.uint64(100) + (words >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return ((words * np.uint64(10_000) + (words >> np.uint64(32))) & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _are_numbers(signs: _Bytes, first: _Places, stop: _Places) -> bool:
    """Returns whether all values begin and end like JSON numbers.

    Without exponents, casts are laxer in these points only.
    """
    if not first.size:
        return True
    leading = signs[first]
    is_negative = leading == ord("-")
    if is_negative.any():
        first = first + is_negative
        leading = signs[first]
    last = stop - 1
    if (first > last).any() or not (_are_digits(leading) & _are_digits(signs[last])).all():
        return False
    return not ((leading == ord("0")) & (first < last) & (signs[np.minimum(first + 1, last)] != ord("."))).any()


def _are_digits(signs: _Bytes) -> npt.NDArray[np.bool_]:
    return (signs >= ord("0")) & (signs <= ord("9"))


def _cast(values: Array, target: Any) -> Array | None:
    if pa.types.is_string(target):
        return values
    if pa.types.is_boolean(target):
        return values.cast(target) if pc.all(pc.is_in(values, pa.array(["true", "false"]))).as_py() else None
    _, _, data = values.buffers()
    has_exponents = np.frombuffer(data, np.uint8).max() > ord("9")
    if has_exponents and not pc.all(pc.match_substring_regex(values, _NUMBER)).as_py():
        return None
    try:
        found = values.cast(target)
    except pa.ArrowInvalid:
        return None
    return found if not pa.types.is_floating(target) or pc.all(pc.is_finite(found)).as_py() else None


def _assemble(kind: Any, path: _Path, values: Mapping[_Path, Array], structs: set[_Path], length: int) -> Array:
    if path not in structs and path not in values:
        return pa.nulls(length, kind)
    if not pa.types.is_struct(kind):
        return values[path]
    children = [_assemble(field.type, (*path, field.name), values, structs, length) for field in kind]
    return pa.StructArray.from_arrays(children, fields=list(kind))
