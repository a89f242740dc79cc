"""Spark: session, scans, queries, results, and their Java code. The only package that imports pyspark and py4j.

Imports plans and `engine.runtime`. Start at `session.py` and `query.py`; `java/` has the module that runs in Spark.
"""
