"""A folder of Parquet files as a table: its files, their schema, and the partition values that their folders tell."""
