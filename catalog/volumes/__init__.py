"""Volumes: their paths, changes and errors."""
