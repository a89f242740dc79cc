"""Answers of queries that are kept from one statement to the next."""
