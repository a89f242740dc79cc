"""Analyse: Spark gives the columns of a statement's query, before anything is planned."""
