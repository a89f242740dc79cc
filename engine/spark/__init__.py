"""The only importer of pyspark and py4j: session, scan, write and results, and the Java they need."""
