"""Bind: names to relations, each table pinned at one version."""
