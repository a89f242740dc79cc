"""Transactions: what is staged, what was read, conflicts, and the put that makes a version."""
