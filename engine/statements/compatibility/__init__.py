"""Statements of other systems that clients send, about what does not exist here."""
