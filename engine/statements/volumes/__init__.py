"""Volumes and the files in them."""
