"""Privileges, owners, groups, and personal access tokens."""
