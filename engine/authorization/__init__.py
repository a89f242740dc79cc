"""Authorise: what a principal may do."""
