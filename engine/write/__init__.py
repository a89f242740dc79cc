"""Writes: rows become staged files, files become actions, actions become a version."""
