"""Which folder is served: the configured one, or a sample lake beside the working directory's other things."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from catalog.conditions import LakeNotFound
from engine.sample.lake import ensure_sample_lake
from gateway.configuration.config import Config

SAMPLE_LAKE = "sample-lake"


def with_lake(config: Config, progress: Callable[[str], None]) -> Config:
    """`config` with a folder that is there; writes the sample lake if none is configured. Raises LakeNotFound."""
    folder = config.lake.folder
    if not folder:
        folder = os.path.abspath(SAMPLE_LAKE)
        ensure_sample_lake(folder, progress)
    elif ":" not in folder.partition("/")[0]:  # no URI; those are asked when they are first listed
        folder = os.path.abspath(folder)
        if not os.path.isdir(folder):
            raise LakeNotFound(folder)
    return replace(config, lake=replace(config.lake, folder=folder))
