"""Session variables."""
