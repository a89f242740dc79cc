"""Statements that need no Spark job: SHOW, DESCRIBE, USE, SET."""
