"""Parsing statistics of texts with one form, by `uniform_stats` and by Arrow's JSON reader alone.

Run `python -m tests.bench.bench_statistics [--repeat 7]`. The readers alternate; prints medians of processor time,
which depends less on other programs than elapsed time does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from unittest.mock import patch

import pyarrow as pa

from engine.delta.snapshot import file_stats, uniform_stats
from engine.types.schema import parse_schema
from tests.bench.bench_log import add_of

# Texts and columns.
SIZES = ((150_000, 5), (30_000, 60))
KINDS = ("long", "string", "double", "timestamp", "integer")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeat", type=int, default=7)
    repeat = options.parse_args().repeat
    uniform = uniform_stats.read_uniform
    for count, columns in SIZES:
        texts = pa.array([add_of(i, columns)["stats"] for i in range(count)])
        fields = [
            {"name": f"{KINDS[i % 5]}{i}", "type": KINDS[i % 5], "nullable": True, "metadata": {}}
            for i in range(columns)
        ]
        schema = file_stats.stats_schema(parse_schema(json.dumps({"type": "struct", "fields": fields})))
        spent: dict[str, list[float]] = {"uniform": [], "json": []}
        for _ in range(repeat):
            for name, times in spent.items():
                reader = uniform if name == "uniform" else lambda *_: None
                with patch.object(file_stats, "read_uniform", reader):
                    started = time.process_time()
                    file_stats.parse_stats(texts, schema)
                times.append(time.process_time() - started)
        ours, theirs = (statistics.median(times) for times in spent.values())
        print(
            f"{count} texts, {columns} columns: uniform {ours:.2f} s  JSON reader {theirs:.2f} s  "
            f"ratio {ours / theirs:.2f}  load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
