"""Texts of several statements and session variables: scripts, EXECUTE IMMEDIATE, DECLARE, SET VAR."""
