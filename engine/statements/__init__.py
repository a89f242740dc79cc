"""The closed union of statement values, a family per file."""
