"""Statements answered without Spark: SHOW, DESCRIBE, USE, SET, catalog DDL."""
