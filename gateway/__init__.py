"""Bytes and sessions. Knows no SQL and no Delta; the front ends share nothing but the engine and the sessions."""
