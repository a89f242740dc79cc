"""The allocator is a per-process choice, so it is selected in a separate process."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa


def test_the_compact_allocator_is_taken_where_there_is_one() -> None:
    code = (
        "from engine.delta.log.file_table import use_compact_memory\nimport pyarrow as pa\n"
        "use_compact_memory()\nprint(pa.default_memory_pool().backend_name)"
    )
    selected = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    has_jemalloc = "jemalloc" in pa.supported_memory_backends()
    assert selected == ("jemalloc" if has_jemalloc else pa.default_memory_pool().backend_name)
