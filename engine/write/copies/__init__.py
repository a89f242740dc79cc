"""Tables from files that are there: clones of tables, folders of Parquet files, files that are loaded."""
