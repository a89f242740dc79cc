"""One snapshot of an Iceberg table: its files, its deletes, and the scans that read its rows."""
