"""Checkpoints: classic, multi-part and v2, read column by column."""
