"""Spark: the only importer of pyspark and py4j. Session, scans, queries, results, and the Java that they need.

Imports plans and `engine.runtime`. Start at `session.py` and `query.py`; `java/` has the module that runs in Spark.
"""
