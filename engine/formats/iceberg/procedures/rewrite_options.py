"""Options for rewrite_data_files: file selection and new file sizes.

Source: Iceberg documentation, "Spark procedures", `rewrite_data_files`, "Options".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.conditions import WrongArgument

TARGET_BYTES = "write.target-file-size-bytes"
_TARGET_BYTES_DEFAULT = 512 << 20
_MIN_RATIO, _MAX_RATIO = 0.75, 1.8
_NO_DELETES = 2**31 - 1
# Options about dividing the work, which is our decision; removed files' deletes are always removed too.
_IGNORED = frozenset(
    [
        "max-concurrent-file-group-rewrites",
        "partial-progress.enabled",
        "partial-progress.max-commits",
        "partial-progress.max-failed-commits",
        "max-file-group-size-bytes",
        "rewrite-job-order",
        "remove-dangling-deletes",
        "shuffle-partitions-per-file",
        "compression-factor",
        "max-files-to-rewrite",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteOptions:
    """Sizes in bytes. Files with at least `delete_files` delete files, or a higher ratio of deleted rows, are rewritten
    whatever their size.
    """

    target_bytes: int
    min_bytes: int
    max_bytes: int
    min_input_files: int = 5
    rewrites_all: bool = False
    delete_files: int = _NO_DELETES
    delete_ratio: float = 0.3
    keeps_sequence_number: bool = True


def rewrite_options(procedure: str, options: Mapping[str, str], properties: Mapping[str, str]) -> RewriteOptions:
    """Parses the options. Raises `WrongArgument`."""
    left = {name.lower(): text.strip() for name, text in options.items()}

    def take(name: str, default: str) -> str:
        return left.pop(name, default)

    try:
        target = int(take("target-file-size-bytes", properties.get(TARGET_BYTES, str(_TARGET_BYTES_DEFAULT))))
        found = RewriteOptions(
            target_bytes=target,
            min_bytes=int(take("min-file-size-bytes", str(int(target * _MIN_RATIO)))),
            max_bytes=int(take("max-file-size-bytes", str(int(target * _MAX_RATIO)))),
            min_input_files=int(take("min-input-files", "5")),
            rewrites_all=_flag(take("rewrite-all", "false")),
            delete_files=int(take("delete-file-threshold", str(_NO_DELETES))),
            delete_ratio=float(take("delete-ratio-threshold", "0.3")),
            keeps_sequence_number=_flag(take("use-starting-sequence-number", "true")),
        )
    except ValueError as error:
        raise WrongArgument(procedure, "options", str(error)) from error
    unknown = sorted(left.keys() - _IGNORED)
    if unknown:
        raise WrongArgument(procedure, "options", f"there is no option {unknown[0]} here")
    if found.target_bytes < 1 or found.min_input_files < 1 or found.min_bytes > found.max_bytes:
        raise WrongArgument(procedure, "options", "sizes and counts are positive, and the least is not above the most")
    return found


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"
