"""The Delta transaction log, read and written; usable without Spark, SQL text or the catalog."""
