"""The grammar of CALL."""
