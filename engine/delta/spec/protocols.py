"""Protocol versions and features: the features that a protocol carries, and the weakest protocol for given features.

Legacy versions imply bundles: writer version 4 means appendOnly, invariants, checkConstraints, changeDataFeed and
generatedColumns, even if the table does not use them. From (3, 7) on, features are listed. Protocols are always written
in their *weakest form*: as legacy versions if the features are exactly a bundle, so that older engines can still read
and write the table, and as lists otherwise. (2, 7) and (1, 7) list writer features only; the version implies the reader
features.

Protocol: "Protocol Evolution", "Requirements for Writers".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from catalog.conditions import MalformedLogEntry
from engine.delta.spec.actions import Protocol
from engine.delta.spec.features import FEATURES, with_requirements

READER_VERSION_MAX = 3
WRITER_VERSION_MAX = 7
READER_FEATURES_VERSION = 3
WRITER_FEATURES_VERSION = 7

# The features that every new table supports: the (1, 2) bundle.
DEFAULT_FEATURES = frozenset({"appendOnly", "invariants"})


@lru_cache(maxsize=64)
def implied_features(reader_version: int, writer_version: int) -> frozenset[str]:
    """Returns the features that legacy versions imply.

    Versions that list features do not imply features for their own side.
    """
    return frozenset(
        name
        for name, row in FEATURES.items()
        if row.legacy is not None
        # Both sides must reach the feature's versions: columnMapping, for example, comes
        # with reader version 2 and writer version 5 only together.
        and row.legacy.writer <= writer_version < WRITER_FEATURES_VERSION
        and row.legacy.reader <= reader_version < READER_FEATURES_VERSION
    )


def lists_features(protocol: Protocol) -> bool:
    """Returns True if the protocol lists its writer features. All other versions imply them."""
    return protocol.min_writer_version >= WRITER_FEATURES_VERSION


def protocol_features(protocol: Protocol) -> frozenset[str]:
    """Returns all features that the protocol carries, listed or implied.

    Raises `MalformedLogEntry` if the protocol's version requires a list that is absent.
    """
    for version, threshold, names, field in (
        (protocol.min_reader_version, READER_FEATURES_VERSION, protocol.reader_features, "readerFeatures"),
        (protocol.min_writer_version, WRITER_FEATURES_VERSION, protocol.writer_features, "writerFeatures"),
    ):
        # "Table Features": at reader version 3 and writer version 7 the lists are required;
        # treating a missing one as empty would drop requirements that the writer meant.
        if version >= threshold and names is None:
            raise MalformedLogEntry("protocol", f"version {version} requires the field {field}")
    listed = (protocol.reader_features or ()) + (protocol.writer_features or ())
    return frozenset(listed) | implied_features(protocol.min_reader_version, protocol.min_writer_version)


def weakest_protocol(features: Iterable[str]) -> Protocol:
    """Returns the weakest protocol with exactly `features` and their requirements. All names must be known."""
    names = with_requirements(frozenset(features))
    versions = [FEATURES[name].versions for name in names]
    reader = max((item.reader for item in versions), default=1)
    writer = max((item.writer for item in versions), default=1)
    # Older engines know version numbers only, so that a table whose features happen to be a
    # bundle stays readable for them.
    if names == implied_features(reader, writer):
        return Protocol(min_reader_version=reader, min_writer_version=writer)
    return Protocol(
        min_reader_version=reader,
        min_writer_version=WRITER_FEATURES_VERSION,
        reader_features=(
            tuple(sorted(name for name in names if FEATURES[name].is_reader))
            if reader >= READER_FEATURES_VERSION
            else None
        ),
        writer_features=tuple(sorted(names)),
    )


def add_features(protocol: Protocol, features: Iterable[str]) -> Protocol:
    """Returns `protocol` with `features` and their requirements added; the same object if it carries them already."""
    present = protocol_features(protocol)
    wanted = with_requirements(present | frozenset(features))
    return protocol if wanted == present else weakest_protocol(wanted)


def raised_to(protocol: Protocol, reader_version: int, writer_version: int) -> Protocol:
    """Returns `protocol` with at least these legacy versions; a protocol that lists features is returned unchanged.

    The protocol must already carry the features that these versions imply.
    """
    # With a list, `delta.minWriterVersion` adds nothing: the list is the requirement.
    if lists_features(protocol):
        return protocol
    reader = max(protocol.min_reader_version, min(reader_version, READER_FEATURES_VERSION - 1))
    writer = max(protocol.min_writer_version, min(writer_version, WRITER_FEATURES_VERSION - 1))
    if (reader, writer) == (protocol.min_reader_version, protocol.min_writer_version):
        return protocol
    return replace(protocol, min_reader_version=reader, min_writer_version=writer)


def remove_feature(protocol: Protocol, feature: str) -> Protocol:
    """Returns `protocol` without `feature`, in its weakest form."""
    return weakest_protocol(protocol_features(protocol) - {feature})
