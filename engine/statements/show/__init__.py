"""SHOW."""
