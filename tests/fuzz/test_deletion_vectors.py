"""Whatever a vector's bytes are, its rows ascend and are as many as recorded, or the error names the vector."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.conditions import DeletionVectorCardinalityMismatch, DeltaError, MalformedLogEntry
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path, read_inline
from engine.storage.deletion_vectors import parse_rows, unframe
from tests.fuzz.mutations import anything
from tests.fuzz.seeds import VECTOR_FILES, VECTORS, foreign

FOREIGN = foreign("deletion_vector_*.bin")
FILES = [*VECTOR_FILES, *FOREIGN]
SEEDS = [*VECTORS, *(data[5:-4] for data in FOREIGN)]


def test_the_own_seeds_are_frames_of_vectors() -> None:
    for file in VECTOR_FILES:
        assert unframe(file[1 : 9 + len(VECTORS[0])], len(VECTORS[0]), "seed") == VECTORS[0]
    assert parse_rows(VECTORS[0], "seed", 5000)[-1] == 9998


@settings(max_examples=500, deadline=None)
@given(anything(SEEDS), st.integers(0, 100_000))
def test_rows_or_one_named_error(data: bytes, cardinality: int) -> None:
    try:
        rows = parse_rows(data, "some vector", cardinality)
    except (MalformedLogEntry, DeletionVectorCardinalityMismatch) as error:
        assert "some vector" in str(error)
        return
    assert len(rows) == cardinality
    assert (np.diff(rows) > 0).all() and (rows >= 0).all()


@settings(max_examples=200)
@given(anything(FILES), st.integers(-5, 60))
def test_a_frame_or_one_named_error(data: bytes, size: int) -> None:
    try:
        assert len(unframe(data[1:], size, "some file")) == size
    except DeltaError as error:
        assert "some file" in str(error)


@given(
    st.builds(
        DeletionVectorDescriptor,
        storage_type=st.sampled_from("uipr"),
        path_or_inline_dv=st.text(max_size=30) | st.text("0123456789abcXYZ.-:+=^!/*?&<>()[]{}@%$#", max_size=45),
        size_in_bytes=st.integers(-5, 60),
        cardinality=st.integers(-5, 60),
    )
)
def test_a_descriptor_has_a_place_or_one_named_error(descriptor: DeletionVectorDescriptor) -> None:
    for read in (deletion_vector_path, read_inline):
        try:
            read(descriptor)
        except DeltaError as error:
            assert "eletion" in str(error)
