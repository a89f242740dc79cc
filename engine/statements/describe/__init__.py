"""DESCRIBE."""
