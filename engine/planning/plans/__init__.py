"""The closed union of plans, a family per file: values only."""
