"""Predicates over a snapshot's files: which may match, and what the log answers alone."""
