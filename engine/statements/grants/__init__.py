"""Privileges, owners, groups and external locations."""
