"""CALL: Iceberg's procedures."""
